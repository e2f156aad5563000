"""Whose a training's folder is; `run_test` and `plan_test` train in some."""

from absl.testing import parameterized
from etils import epath

from models.training import workdir as workdir_lib
from robust_tfds import errors, hosts
from tests import in_folder
from tests.models.training import tiny_trainings


class WorkdirTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = epath.Path(self.root) / "run"
    with workdir_lib.held(self.workdir, hosts.Host(0, 1)):
      pass

  def test_the_same_goes_on(self):
    facts = workdir_lib.facts(tiny_trainings.config())
    self.assertFalse(workdir_lib.check(self.workdir, facts))
    workdir_lib.begin(self.workdir, facts)
    self.assertTrue(workdir_lib.check(self.workdir, facts))

  @parameterized.parameters(
    ({"seed": 4}, "another training: config.seed: 3 there, 4 now"),
    ({"batch_size": 4}, "another training: config.batch_size: 8 there, 4 now"),
  )
  def test_another_config(self, changes, message):
    workdir_lib.begin(self.workdir, workdir_lib.facts(tiny_trainings.config()))
    other = workdir_lib.facts(tiny_trainings.config(**changes))
    with self.assertRaisesRegex(errors.UserError, message):
      workdir_lib.check(self.workdir, other)

  def test_what_changes_no_weight(self):
    facts = workdir_lib.facts(tiny_trainings.config())
    moved = tiny_trainings.config(data__manual_dir="/elsewhere", keep__last=7)
    self.assertEqual(workdir_lib.facts(moved), facts)

  @parameterized.parameters(
    ("config.json", "[]", "no workdir of a training: its config.json is of"),
    ("config.json", '{"a": 1}', "no workdir of a training: its config.json is"),
    ("weights.npz", "", "weights that no training of this folder made"),
  )
  def test_a_folder_of_something_else(self, name, text, message):
    (self.workdir / name).write_text(text)
    facts = workdir_lib.facts(tiny_trainings.config())
    with self.assertRaisesRegex(errors.UserError, message):
      workdir_lib.check(self.workdir, facts)

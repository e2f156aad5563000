"""The command: what it refuses, its plan, a tiny training."""

from unittest import mock

from robust_tfds.models.training import main, run
from tests import in_folder, in_process
from tests.models.training import tiny_trainings


class MainTest(in_folder.TestCase):
  def _run(self, *flags):
    return in_process.run(main, *flags)

  def test_refusals(self):
    for flags, message in (
      ((), "Say what is trained: --config=train_standard"),
      (("--config=train_standard",), "Say where the training lives"),
      (("--config=train_standart",), "did you mean 'train_standard'"),
      (("--config=quickstart", "--plan"), "this is no config of a training"),
      (("--config=train_standard", "--process_id=1"), "needs --multihost"),
    ):
      done = self._run(*flags)
      self.assertNotEqual(done.returncode, 0)
      self.assertIn(message.lower(), (done.stdout + done.stderr).lower())

  def test_plan(self):
    done = self._run("--config=train_standard", "--plan")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("data: digits train", done.stdout)

  def test_models_load_none_of_it(self):
    code = (
      "import sys; from robust_tfds import models; rest ="
      " ('orbax', 'grain', 'robust_tfds.models.training');"
      " print([name for name in rest if name in sys.modules])"
    )
    self.assertEqual(in_process.python("-c", code).stdout, "[]\n")

  def test_a_training(self):
    prepared = tiny_trainings.prepared()
    flags = ("--config=train_standard", f"--workdir={self.root / 'w'}")
    with mock.patch.object(run, "prepare", return_value=prepared):
      done = self._run(*flags)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("step 12 of 12", done.stdout)
    self.assertIn("tiny: ", done.stdout)
    self.assertIn(f"weights: {self.root / 'w' / 'weights.npz'}", done.stdout)
    self.assertIn("evaluate it: robust-tfds run --config=", done.stdout)
    self.assertEqual(done.stderr, "")
    self.assertTrue((self.root / "w" / "weights.npz").exists())

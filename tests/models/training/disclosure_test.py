"""What a trained network says of itself, and what is refused."""

import dataclasses

from absl.testing import parameterized
from etils import epath

from robust_tfds import errors
from robust_tfds.models.training import disclosure
from robust_tfds.models.training.recipes import base
from tests import in_folder
from tests.models.training import tiny_trainings


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Foggy(base.Recipe):
  def disclosure(self):
    shown = {"conditions": ["fog", "posterize"], "severities": [3, 1]}
    return {**shown, "pictures": "fractals"}


class DisclosureTest(in_folder.TestCase):
  def test_written_and_read(self):
    prepared = tiny_trainings.prepared()
    prepared = dataclasses.replace(prepared, recipe=_Foggy())
    made = prepared.disclosure(12, "0" * 64)
    self.assertEqual(made.conditions, ["fog"])
    self.assertEqual(made.severities, [1, 3])
    self.assertEqual(
      made.trained_on, "tones train: standard, fractals, 12 steps"
    )
    workdir = epath.Path(self.root)
    made.write(workdir)
    self.assertEqual(disclosure.read(workdir), made)
    self.assertIsNone(disclosure.read(workdir / "other"))

  def test_conditions_of_benchmarks_are_refused(self):
    config = tiny_trainings.config()
    with self.assertRaisesRegex(errors.UserError, "trains on fog, which"):
      disclosure.check(config, _Foggy())
    disclosure.check(config, base.Recipe())
    allowed = tiny_trainings.config(allow_benchmark_conditions=True)
    disclosure.check(allowed, _Foggy())

  @parameterized.parameters(
    ("digits", "digits train"),
    ("tfds:cifar10", "cifar10 train"),
    ("folder:/data/pets/", "pets train"),
  )
  def test_data_in_words(self, source, words):
    config = tiny_trainings.config(data__source=source)
    self.assertEqual(disclosure.data_in_words(config), words)

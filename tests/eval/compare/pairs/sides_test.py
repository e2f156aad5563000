"""One side of a comparison."""

import pathlib

from absl.testing import absltest

from robust_tfds.conditions import Condition
from robust_tfds.eval.compare import runs
from robust_tfds.eval.compare.pairs import sides
from tests.eval.compare import small_runs


class SidesTest(absltest.TestCase):
  def test_a_model_of_a_run(self):
    folder = small_runs.write(
      pathlib.Path(self.create_tempdir().full_path) / "run",
      {"a": 0.2, "b": 0.3},
      names=["fog"],
      seed=3,
      chosen=lambda label, c: label == "a" or c.level < 2,
      baseline="model:a",
    )
    (run,) = runs.read([str(folder)])
    self.assertEqual(run.datasets, [small_runs.DATASET])
    self.assertEqual(run.labels(), ["a", "b"])
    self.assertEmpty(run.labels("imagenet_c"))
    side = sides.of(run, small_runs.DATASET, "b")
    self.assertEqual([c.config for c in side.cells], ["clean", "fog_1"])
    self.assertEqual(side.seed, 3)
    self.assertEqual(side.task.setting.baseline, "model:a")
    self.assertEqual(side.model_facts["trained_on"], "digits train")
    self.assertEqual(side.data([Condition()])["codec"], "raw")
    self.assertLen(side.columns(Condition())["label"], small_runs.EXAMPLES)
    self.assertEmpty(side.remarks)
    other = run.task(small_runs.DATASET, "alexnet")
    self.assertEqual(other.setting.baseline, "alexnet")
    self.assertEqual(run.config.baseline, "model:a")


if __name__ == "__main__":
  absltest.main()

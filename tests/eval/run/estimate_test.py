"""What `--plan` prints: every cell, and the sum of what was measured."""

import pathlib
from unittest import mock

from absl.testing import absltest

from robust_tfds import datasets
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import estimate
from robust_tfds.eval.run import plan as plan_lib
from tests.eval import tiny_config


def _plan(**data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.data.update(data)
  return plan_lib.make(config)


class EstimateTest(absltest.TestCase):
  def _lines(self, plan, workdir=None, seconds=0.5) -> list[str]:
    with mock.patch.object(estimate, "_seconds", return_value=seconds):
      return estimate.describe(plan, workdir).splitlines()

  def test_cells_and_work(self):
    lines = self._lines(_plan())
    self.assertEqual(
      lines[0],
      "digits_c: 5 conditions (clean + 2 corruptions) x 1 models = 5 cells,"
      " edition cifar10, corrupted on the fly",
    )
    self.assertEqual(lines[1], "  clean: digits_cnn")
    self.assertEqual(lines[5], "  brightness_3: digits_cnn")
    self.assertRegex(lines[6], "digits_cnn 500.* ms; corruption .* 500.* ms")
    # 64 examples, each 5 times through the model and 4 times corrupted.
    self.assertStartsWith(
      lines[7],
      "estimate: 64 examples a cell, 320 images in all: about 4m48s",
    )

  def test_prepared_sets_need_no_corrupting(self):
    lines = self._lines(_plan(source="prepared"))
    self.assertNotIn("corruption of", lines[6])
    self.assertIn("about 2m40s", lines[7])

  def test_number_of_examples_is_that_of_the_set_where_it_lies(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    workdir = Workdir(folder / "run")
    lines = self._lines(_plan(limit=0), workdir)
    self.assertIn("estimate: 1h15m for every 1,000 examples", lines[7])
    with mock.patch.object(
      datasets, "prepared_examples", return_value=100
    ) as look:
      lines = self._lines(_plan(limit=0), workdir)
    self.assertEqual(look.call_args.kwargs["data_dir"], str(workdir.data))
    self.assertIn("100 examples a cell", lines[7])
    self.assertFalse(workdir.path.exists())

  def test_a_model_is_really_run(self):
    config = tiny_config.get_config()
    with config.unlocked():
      config.data.corruptions = "none"
      config.models.digits_cnn.name = "digits_linear"
    lines = estimate.describe(plan_lib.make(config)).splitlines()
    self.assertRegex(lines[2], r"digits_cnn \d+\.\d+ ms")


if __name__ == "__main__":
  absltest.main()

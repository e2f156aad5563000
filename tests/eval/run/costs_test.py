"""What of a run is measured before it, and that nothing is written."""

import pathlib

from absl.testing import absltest

from eval.cells.workdir import Workdir
from eval.run import costs as costs_lib
from eval.run import plan as plan_lib
from robust_tfds import datasets
from robust_tfds.conditions import Condition
from tests.eval import tiny_config

_LABEL = "digits_cnn"
_PIXELS = 32 * 32 * 3  # of a digit


def _plan(**data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.data.update(data)
    config.models[_LABEL].name = "digits_linear"
  return plan_lib.make(config)


def _files(folder: pathlib.Path) -> dict[str, int]:
  return {str(p): p.stat().st_mtime_ns for p in folder.rglob("*")}


class CostsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(absltest.get_default_test_tmpdir(), "sets")
    datasets.prepare("digits_c", "clean", data_dir=str(cls.folder))

  def test_of_a_prepared_set_all_is_measured_and_nothing_written(self):
    plan, before = _plan(data_dir=str(self.folder)), _files(self.folder)
    got = costs_lib.measure(plan, None, plan.cells)
    self.assertEqual(got.examples, 64)
    self.assertGreater(got.decode_s, 0)
    self.assertEqual(got.pixel_bytes, _PIXELS)
    names = {("", ""), ("", "gaussian_noise"), ("", "brightness")}
    self.assertEqual(set(got.corrupt_s), names)
    self.assertEqual(set(got.model_s), {_LABEL})
    self.assertEqual(set(got.batch_bytes.values()), {32 * _PIXELS})
    self.assertEqual(set(got.cell_bytes), set(plan.cells))
    self.assertBetween(max(got.cell_bytes.values()), 1, 60)
    self.assertGreater(got.base_bytes, 50 << 20)
    self.assertEqual(_files(self.folder), before)

  def test_without_a_set_pixels_are_random_and_decoding_is_unknown(self):
    workdir = Workdir(pathlib.Path(self.create_tempdir().full_path) / "run")
    plan = _plan(limit=0)
    got = costs_lib.measure(plan, workdir, plan.cells)
    self.assertEqual(got.examples, 359)  # the embedded set is known
    self.assertIsNone(got.decode_s)
    self.assertIsNone(got.pixel_bytes)
    self.assertIn(("", "brightness"), got.corrupt_s)
    self.assertFalse(workdir.path.exists())

  def test_only_what_is_chosen(self):
    plan = _plan(data_dir=str(self.folder))
    chosen = [(_LABEL, Condition("brightness", 3))]
    got = costs_lib.measure(plan, None, chosen)
    self.assertEqual(set(got.corrupt_s), {("", "brightness")})
    self.assertEqual(set(got.cell_bytes), set(chosen))

  def test_an_example_of_sequences_is_many_images(self):
    config = tiny_config.get_config()
    with config.unlocked():
      config.task, config.data.name = "sequences", "digits_p"
      config.data.codec, config.models[_LABEL].name = "png", "digits_linear"
      del config.data["corruptions"], config.data["severities"]
      config.data.perturbations = "translate"
      config.data.difficulties = (1,)
    plan = plan_lib.make(config)
    got = costs_lib.measure(plan, None, plan.cells)
    for condition in plan.conditions:
      frames = plan.task.images_per_example(condition)
      self.assertEqual(got.batch_bytes[condition], 32 * frames * _PIXELS)
    clean, translate = plan.conditions
    more = got.cell_bytes[_LABEL, translate] > got.cell_bytes[_LABEL, clean]
    self.assertTrue(more)

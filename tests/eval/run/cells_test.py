"""Batches in, predictions on disk out: each batch once for all models."""

import io
import pathlib

import jax
import ml_collections
import numpy as np
from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval import tasks
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import cells as cells_lib
from robust_tfds.eval.run import models as models_lib
from robust_tfds.eval.run import progress
from robust_tfds.eval.run import timing
from robust_tfds.eval.tasks import base
from tests.eval.pipeline import stored_examples

_FOG = conditions.Condition("fog", 2)
_COUNT, _BATCH = 9, 2  # more batches than are in flight


class _Predictor:
  """Predicts the class that the picture's level says, plus `off`."""

  def __init__(self, off: int = 0, broken: int = -1):
    self._off, self._broken = off, broken
    self.calls = 0

  def __call__(self, images, reduce, sizes):
    self.calls += 1
    level = images[:, 0, 0, 0].astype(np.int32)
    top = ((level + self._off) % 3)[:, None]
    return {
      "top5": jax.numpy.pad(top, [(0, 0), (0, 4)], constant_values=-1),
      "score": jax.numpy.ones((len(images), 5)),
      "finite": level != self._broken,
    }


class CellMakerTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    self.stages = timing.Stages()
    self.stream = io.StringIO()
    # Read as they are: prepared sets are corrupted already.
    setting = base.Setting("digits_c", "cifar10", "raw", fly=False)
    self.task = tasks.get("classification")(setting)
    self.mesh = devices.mesh(jax.local_devices()[:1])

  def _source(self) -> inputs.Source:
    examples = [stored_examples.example(i) for i in range(_COUNT)]
    builder = stored_examples.Builder(examples)
    return inputs.Source(builder, "test", batch_size=_BATCH)

  def _cells(self, **predictors) -> list[Cell]:
    source = self._source()
    loaded = {
      label: models_lib.LoadedModel(predictor, None, "", "float32")
      for label, predictor in predictors.items()
    }
    cells = [Cell(label, "digits_c", _FOG, 0, "f") for label in predictors]
    cells_lib.CellMaker(
      self.task,
      loaded,
      self.workdir,
      self.mesh,
      inputs.Host(),
      self.stages,
      progress.Progress(2, 0, stream=self.stream),
      None,
    ).run(cells, source)
    self.assertEqual(source.decoded, _COUNT)
    return cells

  def test_every_model_has_its_cell_of_the_valid_rows(self):
    right, wrong = _Predictor(), _Predictor(off=1)
    one, other = self._cells(right=right, wrong=wrong)
    columns = self.workdir.columns(one)
    self.assertEqual(
      columns["example_id"].tolist(), [f"example_{i}" for i in range(_COUNT)]
    )
    np.testing.assert_array_equal(columns["top5"][:, 0], columns["label"])
    columns = self.workdir.columns(other)
    self.assertFalse((columns["top5"][:, 0] == columns["label"]).any())
    self.assertEqual(right.calls, -(-_COUNT // _BATCH))
    self.assertEqual(Cell.of_note(self.workdir.note(one)), one)
    self.assertIn(
      "fog_2: right error 0.000, wrong error 1.000", self.stream.getvalue()
    )

  def test_one_step_of_a_condition_is_timed(self):
    self._cells(a=_Predictor())
    took = self.stages.summary(waited_s=0, decoded=0, decoding_s=0)
    self.assertContainsSubset(
      {"compile_s", "corrupt_s", "infer a_s", "wall_s", "write_s"}, took
    )
    self.assertEqual(self.stages.images, 10)  # padding is computed too

  def test_logits_that_are_not_finite_leave_no_cell(self):
    with self.assertRaisesRegex(
      errors.UserError,
      "b gave NaN or infinite logits on 1 examples of fog_2, .* 'example_4'",
    ):
      self._cells(b=_Predictor(broken=4))
    cell = Cell("b", "digits_c", _FOG)
    self.assertFalse(self.workdir.done(cell))

  def test_nothing_to_do(self):
    cells_lib.CellMaker(
      self.task,
      {},
      self.workdir,
      self.mesh,
      inputs.Host(),
      self.stages,
      progress.Progress(0, 0, stream=self.stream),
      None,
    ).run([], self._source())
    self.assertFalse(self.workdir.has_cells())


class ShowTest(absltest.TestCase):
  def test_on_the_fly_the_pixels_follow_seed_and_id(self):
    source = inputs.Source(
      stored_examples.Builder([stored_examples.example(i, 32) for i in (1, 1)]),
      "test",
      batch_size=2,
    )
    batch = next(source.batches())
    mesh = devices.mesh(jax.local_devices()[:1])
    noise = conditions.Condition("gaussian_noise", 3)

    def shown(seed, **setting):
      setting = base.Setting(
        "digits_c",
        "any",
        "raw",
        seed=seed,
        data=ml_collections.ConfigDict(),
        **setting,
      )
      task = tasks.get("detection")(setting)
      return cells_lib.show(task, noise, source, batch, mesh)

    self.assertTrue((shown(0) == shown(0)).all())
    self.assertTrue((shown(0) != shown(1)).any())
    np.testing.assert_array_equal(shown(0, fly=False), batch.image)


if __name__ == "__main__":
  absltest.main()

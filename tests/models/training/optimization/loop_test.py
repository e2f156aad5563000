"""The loop: it learns, stops at NaN with the examples, and goes on to the same end."""

import types
from unittest import mock

import jax
import numpy as np
from absl.testing import parameterized
from etils import epath

from models.training.config import Schedule
from models.training.optimization import loop
from models.training.optimization.checkpoints import Checkpoints
from models.training.optimization.metrics import Metrics
from robust_tfds import errors, reading
from tests import in_folder
from tests.models.training import tiny_trainings


class _Killed(Exception):
  """In place of a process's end."""


def _loop(prepared, **options) -> loop.Loop:
  options = {"metrics": Metrics(None), "say": lambda text: None, **options}
  return loop.Loop(
    prepared.config,
    prepared.model,
    prepared.recipe,
    prepared.source,
    prepared.variables,
    **options,
  )


def _without_seconds(file: epath.Path) -> list[dict[str, str]]:
  rows = [dict(row) for _, row in reading.csv_file(file)]
  return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


class LoopTest(in_folder.TestCase):
  def test_it_learns(self):
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(
      source, steps=30, data__validation=0.3, recipe={"name": "standard"}
    )
    metrics = Metrics(None)
    state = _loop(prepared, metrics=metrics).run()
    logits = prepared.model.apply(state.variables, source.image)
    np.testing.assert_array_equal(np.argmax(logits, -1), source.label)
    last = metrics.lines[-1]
    self.assertEqual((last["step"], last["validation_error"]), (30, 0))
    self.assertGreater(metrics.lines[0]["loss"], 10 * last["loss"])

  def test_a_loss_that_is_not_finite(self):
    """Said with its step and its examples, and no checkpoint holds it."""
    prepared = tiny_trainings.prepared(
      optimizer__learning_rate=1e38, schedule__name="constant", batch_size=12
    )
    kept = Checkpoints(epath.Path(self.root), prepared.config.keep, {})
    with self.assertRaisesRegex(
      errors.UserError,
      r"tiny diverged at step [23]: .*loss (nan|inf).* examples: (e\d+, ){7}e\d+"
      r" and 4 more\. .* Another config takes another --workdir\.$",
    ):
      _loop(prepared, checkpoints=kept).run()
    kept.close()
    self.assertEmpty(list((self.root / "checkpoints").glob("[0-9]*")))

  def test_the_best_by_validations_of_their_own_steps(self):
    """An epoch has three steps; at the fifth and tenth nothing was measured."""
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(source, data__validation=0.3)
    kept, scores = Checkpoints(self.root, prepared.config.keep, {}), {}
    save = lambda state, run, score: scores.update({int(state.step): score})
    said = []
    with mock.patch.object(kept, "save", save):
      _loop(prepared, checkpoints=kept, say=said.append).run()
    kept.close()
    self.assertEqual([scores[5], scores[10]], [None, None])
    self.assertIsNotNone(scores[12])
    *first, last = said
    self.assertLen(first, 3)
    for line in first[1:]:
      self.assertRegex(line, r"^step \d+ of 12: .*loss .*, ETA \d+s$")
    self.assertNotIn("ETA", last)

  @parameterized.parameters(1, 6, 11)
  def test_stopped_and_gone_on(self, stop):
    """Weights to the last bit, and the same lines, whenever it was stopped."""
    changes = {"data__validation": 0.3, "optimizer__ema": 0.9}
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(source, **changes)
    plain = Metrics(epath.Path(self.root) / "plain.csv")
    whole = _loop(prepared, metrics=plain).run()

    def stopping(step):
      if step == stop:
        raise _Killed

    workdir = epath.Path(self.root) / "run"
    workdir.mkdir()
    for each in (stopping, lambda step: None):
      prepared = tiny_trainings.prepared(source, **changes)
      kept = Checkpoints(workdir, prepared.config.keep, {})
      metrics = Metrics(workdir / "metrics.csv")
      made = _loop(prepared, metrics=metrics, checkpoints=kept)
      begun = int(made.state.step)
      try:
        state = made.run(each)
      except _Killed:
        pass
      kept.close()
    self.assertEqual(begun, stop // 5 * 5)
    jax.tree.map(np.testing.assert_array_equal, state, whole)
    self.assertEqual(
      _without_seconds(workdir / "metrics.csv"),
      _without_seconds(epath.Path(self.root) / "plain.csv"),
    )

  def test_a_plateau_lowers_the_rate(self):
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(
      source,
      steps=0,
      epochs=6,
      data__validation=0.3,
      schedule=Schedule(name="plateau", patience=0, factor=0.5).model_dump(
        exclude_unset=True
      ),
      optimizer__learning_rate=20.0,
    )
    metrics = Metrics(None)
    _loop(prepared, metrics=metrics).run()
    rates = [line["learning_rate"] for line in metrics.lines]
    self.assertLess(rates[-1], rates[0])

  def test_parts_of_a_batch_over_devices(self):
    eight = types.SimpleNamespace(size=8)
    words = "got 2 parts of 8 examples.* over 8 devices.* a multiple of 16"
    with (
      mock.patch.object(loop.devices, "mesh", return_value=eight),
      self.assertRaisesRegex(errors.UserError, words),
    ):
      _loop(tiny_trainings.prepared(optimizer__accumulate=2))

  def test_a_batch_larger_than_the_data(self):
    for share, left in (
      (0.0, ""),
      (0.3, " that config.data.validation=0.3 leav"),
    ):
      words = f"got 32, expected at most the 24 training examples{left}"
      with self.assertRaisesRegex(errors.UserError, words):
        _loop(tiny_trainings.prepared(batch_size=32, data__validation=share))

"""Checkpoints: the last and the best stay, over several starts."""

import json
import shutil
from unittest import mock

import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from models.training.config import Keep
from models.training.optimization import checkpoints, schedules
from models.training.optimization.metrics import Pending
from models.training.optimization.state import State
from robust_tfds import devices, errors
from tests import in_folder


def _run(step: int) -> checkpoints.Run:
  pending = Pending(sums={}, count=step)
  return checkpoints.Run(plateau=schedules.Plateau(), metrics=pending)


def _state(step: int) -> State:
  weights = {"a/b": step * jnp.ones(3)}
  return State(jnp.int32(step), weights, {}, (jnp.int32(step),), {})


class CheckpointsTest(in_folder.TestCase, parameterized.TestCase):
  def _open(self, **facts):
    facts = facts or {"config.seed": 3}
    return checkpoints.Checkpoints(self.root, Keep(last=2, best=1), facts)

  def _save(self, scores):
    opened = self._open()
    for step, score in scores.items():
      opened.save(_state(step), _run(step), score)
    opened.close()
    folder = self.root / checkpoints.FOLDER
    return sorted(int(p.name) for p in folder.iterdir())

  def test_the_last_and_the_best(self):
    first = {1: None, 2: 0.5, 3: 0.2, 4: 0.4, 5: 0.3}
    self.assertEqual(self._save(first), [3, 4, 5])
    left = self.root / checkpoints.FOLDER / "9.orbax-checkpoint-tmp"
    left.mkdir()  # of one that was killed while it wrote
    mesh, opened = devices.mesh(), self._open()
    like = devices.put_replicated(_state(0), mesh)
    state, run = opened.last(like, mesh)
    opened.close()
    want = _run(5).model_copy(update={"facts": {"config.seed": 3}})
    self.assertEqual((int(state.step), run), (5, want))
    np.testing.assert_array_equal(state.parameters["a/b"], [5, 5, 5])
    self.assertEqual(int(state.optimizer[0]), 5)
    self.assertEqual(self._save({6: 0.9, 7: 0.8}), [3, 6, 7])
    self.assertFalse(left.exists())

  def test_none_yet(self):
    opened = self._open()
    self.assertIsNone(opened.last(_state(0), devices.mesh()))
    opened.close()

  def _break_a_record(self, folder):
    (folder / "run" / "metadata").write_text("{")

  def _empty_a_record(self, folder):
    (folder / "run" / "metadata").write_text("{}")

  def _cut_all_arrays(self, folder):
    for path in (folder / "state").rglob("*"):
      if path.is_file() and path.parent.name == "d":
        path.write_bytes(path.read_bytes()[:20])

  def _last(self):
    opened = self._open()
    try:
      like = devices.put_replicated(_state(0), devices.mesh())
      return opened.last(like, devices.mesh())
    finally:
      opened.close()

  @parameterized.parameters(
    "_break_a_record", "_empty_a_record", "_cut_all_arrays"
  )
  def test_a_damaged_one_is_named(self, damage):
    self._save({1: None, 2: None})
    folder = self.root / checkpoints.FOLDER / "2"
    getattr(self, damage)(folder)
    with self.assertRaisesRegex(errors.UserError, "checkpoints/2: .*damaged"):
      self._last()
    opened = self._open()
    words = r"checkpoints/2: the checkpoint is damaged.*Remove this folder"
    with self.assertRaisesRegex(errors.UserError, words):
      opened.last(_state(0), devices.mesh())
    opened.close()
    shutil.rmtree(folder)
    opened = self._open()
    state, _ = opened.last(_state(0), devices.mesh())
    opened.close()
    self.assertEqual(int(state.step), 1)

  def test_another_trainings(self):
    self._save({1: None})
    opened = self._open(**{"config.seed": 4})
    words = (
      r"checkpoints/1: the state of another training: config.seed: 3 there, 4 now\."
      r" Name another --workdir, or remove .*checkpoints: the training then begins"
    )
    with self.assertRaisesRegex(errors.UserError, words):
      opened.last(_state(0), devices.mesh())
    opened.close()
    record = json.dumps(_run(1).model_dump(exclude={"facts"}))
    (self.root / "checkpoints/1/run/metadata").write_text(record)
    with self.assertRaisesRegex(errors.UserError, "does not say of which"):
      self._last()

  def test_a_disk_that_refuses(self):
    opened = self._open()
    said = ValueError("RESOURCE_EXHAUSTED: No space left on device")
    with mock.patch.object(
      opened._manager, "wait_until_finished", side_effect=said
    ):
      words = "could not be written: .*No space left on device. Make room"
      with self.assertRaisesRegex(errors.UserError, words):
        opened.close()
    said = ValueError("PERMISSION_DENIED: no")
    with mock.patch.object(
      opened._manager, "wait_until_finished", side_effect=said
    ):
      words = "could not be written: PERMISSION_DENIED: no. The same command"
      with self.assertRaisesRegex(errors.UserError, words):
        opened.close()
    opened.close()

"""Traced steps that a later run need not trace, and those that it must."""

import os
import pathlib
import tempfile
from unittest import mock

import jax
import numpy as np
from absl.testing import parameterized

from eval.pipeline import kept_traces, predict, programs
from robust_tfds import corruptions
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import plugins
from tests.eval.pipeline import one_device

_ROWS = np.arange(6, dtype=np.uint8).reshape(3, 2)


class KeptTracesTest(one_device.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(
      self.enter_context(tempfile.TemporaryDirectory())
    )
    self.enter_context(mock.patch.object(kept_traces, "_places", []))
    kept_traces.keep_in(self.folder, "this code")
    self.traces = 0

  def _run(self, name: str = "a step", rows: np.ndarray = _ROWS) -> list:
    """As another process: a program of its own."""

    def step(rows: jax.Array) -> jax.Array:
      self.traces += 1
      return rows.astype(np.float32).sum(axis=1) / 3

    program = programs.Program(step, self.mesh, name=name)
    shapes, got = program(self.shape(rows)), program(self.put(rows))
    self.assertEqual((shapes.shape, shapes.dtype), (got.shape, got.dtype))
    self.assertTrue(shapes.sharding.is_equivalent_to(got.sharding, 1))
    return np.asarray(got).tolist()

  def test_the_second_run_traces_nothing(self):
    first = self._run()
    self.assertEqual((self._run(), self.traces), (first, 1))
    self.assertLen(list(self.folder.iterdir()), 1)

  @parameterized.parameters("name", "shapes", "code", "no name", "nowhere")
  def test_what_is_traced_anew(self, what):
    self._run()
    if what == "code":
      kept_traces.keep_in(self.folder, "other code")
    if what == "nowhere":
      kept_traces._places.clear()
    rows = _ROWS[:2] if what == "shapes" else _ROWS
    self._run({"name": "another", "no name": ""}.get(what, "a step"), rows)
    self.assertEqual(self.traces, 2)
    kept = 1 if what in ("no name", "nowhere") else 2
    self.assertLen(list(self.folder.iterdir()), kept)

  @parameterized.parameters(
    lambda data: b"", lambda data: data[:-1] + b"?", lambda data: b"cos\nsystem"
  )
  def test_files_that_are_not_what_was_written_are_removed(self, changed):
    first = self._run()
    (file,) = self.folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(changed(whole))
    self.assertEqual((self._run(), self.traces), (first, 2))
    (file,) = self.folder.iterdir()
    self.assertEqual(file.read_bytes()[:8], whole[:8])
    self.assertEqual((self._run(), self.traces), (first, 2))

  def test_a_folder_that_cannot_be_written(self):
    kept_traces.keep_in(self.folder / "gone", "this code")
    self.assertEqual(self._run(), self._run())
    self.assertEqual(self.traces, 2)

  def test_the_oldest_go(self):
    self.enter_context(mock.patch.object(kept_traces, "_MOST", 2))
    for second, name in enumerate("abc"):
      self._run(name)
      for file in self.folder.iterdir():
        if file.stat().st_mtime > 1000:
          os.utime(file, (second, second))
    self._run("a")
    self.assertEqual(self.traces, 4)

  def test_an_error_is_raised_at_the_use_and_not_kept(self):
    program = programs.Program(lambda x: x @ x, self.mesh, name="wrong")
    with self.assertRaisesRegex(TypeError, "dot_general"):
      program(self.put(_ROWS))
    self.assertEmpty(list(self.folder.iterdir()))

  def test_a_corruption_of_a_second_run(self):
    images = one_device.pixels(2, 32, 32, 3)
    keys = np.zeros((2, 2), np.uint32)
    condition = Condition("brightness", 3)
    got = []
    forgotten = predict._corrupt_step.__wrapped__
    self.enter_context(mock.patch.object(predict, "_corrupt_step", forgotten))
    for _ in range(2):
      with mock.patch.object(
        corruptions, "corrupt_batch", wraps=corruptions.corrupt_batch
      ) as traced:
        see = predict.corruptor(self.mesh, "cifar10", "raw")
        got.append(np.asarray(see(self.put(images), None, condition, keys)))
      self.assertEqual(traced.call_count, 1 - len(got) // 2)
    want = corruptions.corrupt_batch(
      images, "brightness", 3, edition="cifar10", keys=keys
    )
    for each in got:
      np.testing.assert_array_equal(each, want)

  def test_what_a_users_files_decide_is_not_kept(self):
    alone = [n for n in corruptions.names("all") if plugins.is_code_alone(n)]
    self.assertEqual({*corruptions.names("all")} - {*alone}, {"frost"})
    with mock.patch.object(
      plugins.own_corruptions, "sha256", return_value="of a file"
    ):
      self.assertFalse(plugins.is_code_alone("fog"))

"""Programs: each compiled once, ahead or at its first use, in any thread."""

import concurrent.futures
import threading
import time
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from eval.pipeline import programs
from tests.eval.pipeline import one_device


class _Step:
  """Counts how often it is traced."""

  def __init__(self, error: Exception | None = None, wait_s: float = 0.0):
    self._error, self._wait_s = error, wait_s
    self.traces = 0

  def __call__(self, scale: jax.Array, rows: jax.Array) -> jax.Array:
    self.traces += 1
    time.sleep(self._wait_s)
    if self._error:
      raise self._error
    return (rows.astype(jnp.float32) * scale).sum(axis=-1)


class ProgramTest(one_device.TestCase):
  def _program(self, step: _Step) -> programs.Program:
    return programs.Program(step, self.mesh, (jnp.float32(2),))

  def _rows(self, count: int = 3) -> jax.Array:
    rows = np.arange(count * 2, dtype=np.uint8).reshape(count, 2)
    return self.put(rows)

  def _shapes(self) -> jax.ShapeDtypeStruct:
    return self.shape(np.zeros((3, 2), np.uint8))

  def test_runs_and_compiles_once_a_shape(self):
    step = _Step()
    program = self._program(step)
    for _ in range(3):
      self.assertEqual(program(self._rows()).tolist(), [2, 10, 18])
    self.assertEqual(step.traces, 1)
    self.assertEqual(program(self._rows(1)).tolist(), [2])
    self.assertEqual(step.traces, 2)

  def test_shapes_give_shapes_and_compile_ahead(self):
    step = _Step()
    program = self._program(step)
    got = program(self._shapes())
    self.assertIsInstance(got, jax.ShapeDtypeStruct)
    self.assertEqual((got.shape, got.dtype), ((3,), np.float32))
    self.assertEqual(step.traces, 1)
    self.assertEqual(program(self._rows()).tolist(), [2, 10, 18])
    self.assertEqual(program(self._shapes()).shape, (3,))
    self.assertEqual(step.traces, 1)

  def test_a_chain_is_compiled_by_its_shapes(self):
    first, second = _Step(), _Step()
    one = programs.Program(lambda x: x[:, None] * x[:, None], self.mesh)
    last = self._program(second)
    chain = self._program(first)
    self.assertEqual(last(one(chain(self._shapes()))).shape, (3,))
    self.assertEqual(
      last(one(chain(self._rows()))).tolist(), [8.0, 200.0, 648.0]
    )
    self.assertEqual((first.traces, second.traces), (1, 1))

  def test_what_is_shown_has_the_sharding_that_was_compiled_for(self):
    got = self._program(_Step())(self._shapes())
    want = self._program(_Step())(self._rows()).sharding
    self.assertTrue(got.sharding.is_equivalent_to(want, 1))

  @parameterized.parameters(0, 1)
  def test_threads_that_ask_at_once_compile_once(self, first_is_array):
    for _ in range(5):
      step = _Step(wait_s=0.01)
      program, start = self._program(step), threading.Barrier(8)

      def ask(i: int, program=program, start=start):
        start.wait()
        whole = i % 2 == first_is_array
        return program(self._rows() if whole else self._shapes())

      with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(ask, range(8)))
      self.assertEqual(step.traces, 1)
      for array in got[first_is_array::2]:
        self.assertEqual(array.tolist(), [2, 10, 18])

  def test_an_error_ahead_is_raised_at_the_use(self):
    program = self._program(_Step(ValueError("no such shape")))
    for rows in (self._shapes(), self._rows(), self._rows(), self._shapes()):
      with self.assertRaisesRegex(ValueError, "no such shape"):
        program(rows)

  def test_an_error_of_the_compiler_is_raised_at_the_use(self):
    step = _Step()
    program = self._program(step)
    broken = mock.patch.object(
      jax.stages.Lowered, "compile", side_effect=ZeroDivisionError
    )
    with broken:
      program(self._shapes())
      with self.assertRaises(ZeroDivisionError):
        program(self._rows())
    self.assertEqual(program(self._rows(1)).tolist(), [2])

  def test_two_threads_never_trace_at_once(self):
    inside, most = [], []

    def program(number: int) -> programs.Program:
      def step(rows: jax.Array) -> jax.Array:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        return rows + number

      return programs.Program(step, self.mesh)

    several = [program(i) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
      list(pool.map(lambda p: p(self._shapes()), several))
    self.assertEqual(most, [1] * 4)


class CachedTest(absltest.TestCase):
  def test_threads_that_ask_at_once_get_the_same(self):
    made = []

    @programs.cached
    def make(name: str) -> object:
      """Says what it does."""
      time.sleep(0.01)
      made.append(name)
      return object()

    start = threading.Barrier(8)

    def ask(name: str) -> object:
      start.wait()
      return make(name)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
      got = list(pool.map(ask, "abababab"))
    self.assertCountEqual(made, ["a", "b"])
    self.assertLen(set(map(id, got)), 2)
    self.assertEqual(make.__doc__, "Says what it does.")

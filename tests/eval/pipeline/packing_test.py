"""Outputs come back as they were computed, in one transfer."""

import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from eval.pipeline import packing
from robust_tfds import devices
from tests.eval.pipeline import one_device


def _outputs(seed: int, rows: int) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(seed)
  return {
    "finite": rng.integers(0, 2, rows).astype(bool),
    "bits": rng.integers(0, 2, (rows, 3)).astype(bool),
    "top5": rng.integers(-9, 10**6, (rows, 2, 5)).astype(np.int32),
    "score": rng.normal(size=(rows, 2, 5)).astype(np.float32),
    "distance": np.array([np.nan, np.inf, -0.0, 1e-45] * rows, np.float32)[
      :rows
    ],
    "levels": rng.integers(0, 256, (rows, 4)).astype(np.uint8),
    "classes": rng.integers(-5, 5, (rows, 3)).astype(np.int16),
    "half": rng.normal(size=(rows, 2)).astype(np.float16),
    "short": rng.normal(size=(rows, 2)).astype(jnp.bfloat16),
    "nothing": np.zeros((rows, 0, 4), np.float32),
  }


class PackedTest(one_device.TestCase):
  def _assert_same(self, got, want):
    self.assertEqual(list(got), list(want))
    for name, array in want.items():
      self.assertEqual(got[name].dtype, array.dtype, name)
      self.assertEqual(got[name].shape, array.shape, name)
      self.assertEqual(got[name].tobytes(), array.tobytes(), name)

  @parameterized.parameters(1, 2, 7)
  def test_every_kind_of_output_comes_back(self, rows):
    want = _outputs(rows, rows)
    names = list(want)

    def step(variables, *arrays):
      return dict(zip(names, arrays))

    packed = packing.Packed(step, self.mesh, None, len(names))
    arrays = [self.put(x) for x in want.values()]
    got = packed(*arrays)
    got.block_until_ready()
    self._assert_same(got.fetch(), want)
    self._assert_same(got.fetch(), want)

  def test_the_first_argument_is_the_variables(self):
    variables = devices.put_replicated({"w": np.float32(3)}, self.mesh)
    packed = packing.Packed(
      lambda v, x: {"y": x * v["w"]}, self.mesh, variables, 1
    )
    rows = self.put(np.ones((2, 1), np.float32))
    self.assertEqual(packed(rows).fetch()["y"].tolist(), [[3], [3]])

  def test_shapes_with_outputs_of_other_shapes(self):
    # One step, two layouts: of every call its own.
    packed = packing.Packed(
      lambda _, x: {"sum": x.sum(1), "x": x}, self.mesh, None, 1
    )
    wide, narrow = (self.put(np.ones((2, width), np.int32)) for width in (5, 1))
    both = packed(wide), packed(narrow)
    self.assertEqual([o.fetch()["x"].shape for o in both], [(2, 5), (2, 1)])
    self.assertEqual(both[0].fetch()["sum"].tolist(), [5, 5])

  def test_of_shapes_it_is_compiled_ahead(self):
    traces = []

    def step(_, x):
      traces.append(1)
      return {"x": x}

    packed = packing.Packed(step, self.mesh, None, 1)
    rows = np.arange(6, dtype=np.int32).reshape(2, 3)
    packed(self.shape(rows))
    got = packed(self.put(rows)).fetch()["x"]
    self.assertEqual(got.tolist(), rows.tolist())
    self.assertLen(traces, 1)

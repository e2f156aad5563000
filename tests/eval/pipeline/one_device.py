"""Tests of what runs on devices: one of them, and pixels to put there."""

import jax
import numpy as np
from absl.testing import parameterized

from robust_tfds import devices


def pixels(*shape: int) -> np.ndarray:
  """Random levels, the same at every call."""
  return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def whole(logits, labels):
  """A reduction that leaves everything as it is."""
  return {"logits": logits, "labels": labels}


class TestCase(parameterized.TestCase):
  """A test with a mesh of one device, `self.mesh`."""

  def setUp(self):
    super().setUp()
    self.mesh = devices.mesh(jax.local_devices()[:1])

  def put(self, rows: np.ndarray) -> jax.Array:
    """The rows on the device."""
    return devices.put_batch(rows, self.mesh)

  def shape(self, rows: np.ndarray) -> jax.ShapeDtypeStruct:
    """What compiles ahead for such rows."""
    sharding = devices.rows(self.mesh)
    return jax.ShapeDtypeStruct(rows.shape, rows.dtype, sharding=sharding)

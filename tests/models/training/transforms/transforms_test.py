"""What all transforms promise: pixels hang on an example and its key alone."""

import json

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from models import training
from robust_tfds import errors
from tests import in_process, quick

_COUNT, _SIDE = 6, 24

# Two devices, before jax starts: plain, sharded under jit, and by shard_map.
_TWO_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import hashlib, json
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
from robust_tfds import devices
from tests.models.training.transforms import transforms_test as t

mesh = devices.mesh()
for name, function in t.transforms().items():
  images, keys = t.batch(name)
  there = jax.device_put((images, keys), NamedSharding(mesh, P("data")))
  by_map = jax.shard_map(
    function, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False
  )
  results = [
    function(images, keys), jax.jit(function)(*there), jax.jit(by_map)(*there)
  ]
  print("RESULT", json.dumps([
    name, [hashlib.sha256(jax.device_get(r).tobytes()).hexdigest() for r in results]
  ]))
"""


def transforms() -> dict:
  """Name -> function of (images, keys)."""
  pictures = training.fractals(7, _SIDE)

  def pixmix(images, keys):
    return training.pixmix(images, keys=keys, pictures=pictures)

  def corruptions(*names):
    return lambda images, keys: training.corruption_mix(
      images, keys=keys, names=names
    )

  styles = training.textures(3, 20)

  def stylize(images, keys):
    return training.stylize(images, keys=keys, styles=styles)

  return {
    "stylize": stylize,
    "corruptions": corruptions("gaussian_noise", "contrast", "pixelate"),
    "corruptions of clips": corruptions("freezing", "shot_noise", "jumbling"),
    "pixmix": pixmix,
    "pixmix of clips": pixmix,
    "augmix": lambda images, keys: training.augmix(images, keys=keys),
    "augmix of all": lambda images, keys: training.augmix(
      images, keys=keys, overlap=True, depth=2, alpha=0.5, severity=1
    ),
  }


def batch(name: str) -> tuple[np.ndarray, np.ndarray]:
  """Pictures, or clips, and keys."""
  rng = np.random.default_rng(3)
  shape = (_COUNT, *(3,) * ("clips" in name), _SIDE, _SIDE, 3)
  images = rng.integers(0, 256, shape, np.uint8) // 2 + 60
  return images, rng.integers(0, 2**32, (_COUNT, 2), np.uint32)


class TransformsTest(parameterized.TestCase):
  @quick.cases(["augmix"], [n for n in transforms() if n != "augmix"])
  def test_neither_batch_nor_order_nor_jit_change_a_byte(self, name):
    function, (images, keys) = transforms()[name], batch(name)
    whole = np.asarray(function(images, keys))
    self.assertEqual(whole.dtype, np.uint8)
    self.assertEqual(whole.shape, images.shape)
    self.assertFalse((whole == images).all())
    one = np.asarray(function(images[4:5], keys[4:5]))
    np.testing.assert_array_equal(one, whole[4:5])
    order = np.random.default_rng(0).permutation(_COUNT)
    turned = np.asarray(function(images[order], keys[order]))
    np.testing.assert_array_equal(turned, whole[order])
    compiled = np.asarray(jax.jit(function)(images, keys))
    np.testing.assert_array_equal(compiled, whole)
    again = np.asarray(function(images, keys[::-1].copy()))
    self.assertFalse((again == whole).all())

  @parameterized.parameters(*transforms())
  def test_lists_that_are_no_arrays_are_refused(self, name):
    with self.assertRaisesRegex(errors.UserError, "Images must be uint8"):
      transforms()[name]([[1, 2], [3]], batch(name)[1])

  @pytest.mark.slow
  def test_two_devices_change_no_byte(self):
    run = in_process.python("-c", _TWO_DEVICES)
    self.assertEqual(run.returncode, 0, run.stderr)
    lines = [x for x in run.stdout.splitlines() if x.startswith("RESULT")]
    self.assertLen(lines, len(transforms()))
    for line in lines:
      name, hashes = json.loads(line.removeprefix("RESULT"))
      self.assertLen(set(hashes), 1, name)

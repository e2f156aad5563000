"""The part of a source image that an edition of ImageNet-P uses.

Sources: docs/evidence/specs/imagenet_p.md section 4.
"""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import layout, resize

_CENTRAL = 0.875  # of each side: inception_preprocessing.py's central fraction


def crop(
  image: jax.Array, size: layout.Size, edition: spec.Edition
) -> jax.Array:
  """Crop to the input of an edition's photometric perturbations: uint8 `[S, S, 3]`."""
  side = edition.side_px
  if image.shape[:2] == (side, side) and isinstance(size.h, int):
    return image
  if edition.name == "inception":
    return resize.bilinear(image, _central(size), (side, side))
  if edition.name == "imagenet64":
    return resize.bilinear(image, (0, 0, size.h, size.w), (side, side))
  if edition.name == "tiny_imagenet" and min(image.shape[:2]) > side:
    return resize.bilinear(image, _square(size), (side, side))
  top, left = window(size, side)
  return jax.lax.dynamic_slice(image, (top, left, 0), (side, side, 3))


def window(size: layout.Size, side: int) -> tuple[jax.Array, jax.Array]:
  """Return top and left of the centre crop: int(round((n - side) / 2)), half to
  even.
  """
  top, left = (jnp.asarray(n, jnp.int32) - side for n in size)
  return _half_to_even(top), _half_to_even(left)


def _half_to_even(twice: jax.Array) -> jax.Array:
  low = twice // 2
  odd = twice % 2
  return low + (odd & (low % 2))


def _central(size: layout.Size) -> resize.Box:
  """Return the box of the central fraction, floor of each side."""
  height = jnp.floor(jnp.asarray(size.h) * _CENTRAL).astype(jnp.int32)
  width = jnp.floor(jnp.asarray(size.w) * _CENTRAL).astype(jnp.int32)
  top, left = _half_to_even(size.h - height), _half_to_even(size.w - width)
  return top, left, height, width


def _square(size: layout.Size) -> resize.Box:
  """Return the box of the central square of the shorter side."""
  side = jnp.minimum(jnp.asarray(size.h), jnp.asarray(size.w))
  return (size.h - side) // 2, (size.w - side) // 2, side, side

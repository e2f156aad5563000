"""Noise with a spectrum of one's choice and random phases."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding, spec

_ANY_PX = 224


def side_px(edition: spec.Edition) -> int:
  """Return the side of the noise, which must be even: that of the edition's
  pictures, else 224.
  """
  side = edition.size_px or _ANY_PX
  return _ANY_PX if side % 2 else side


def draw(key: jax.Array, planes: int, side: int) -> jax.Array:
  """Draw phases in radians, float32 `[planes, side, side / 2]`."""
  shape = (side, side // 2)
  uniforms = [seeding.uniform(key, shape, plane) for plane in range(planes)]
  return np.float32(2 * np.pi) * jnp.stack(uniforms)


def planes(
  phases: jax.Array,
  power: Callable[[np.ndarray], np.ndarray],
  shape: tuple[int, ...],
) -> jax.Array:
  """Make noise of standard deviation 1.

  The phases are mirrored, not negated, so the inverse transform is complex;
  its real part is taken, as the authors' code does.

  Args:
    phases: as from `draw`, `[planes, n, n / 2]`.
    power: amplitude by distance from frequency 0, in numpy on `[n, n]`.
    shape: `(H, W, ...)` of the picture; the noise is periodic, and repeats in
      pictures that are larger than n.

  Returns:
    float32 `[planes, H, W]`.
  """
  side = phases.shape[1]
  index = np.arange(side) - side / 2
  amplitude = power(np.hypot(index[:, None], index[None, :]))
  mirrored = jnp.concatenate([phases, phases[:, ::-1, ::-1]], axis=2)
  amplitude = amplitude.astype(np.float32)
  spectrum = jax.lax.complex(
    amplitude * jnp.cos(mirrored), amplitude * jnp.sin(mirrored)
  )
  shifted = jnp.roll(spectrum, (side // 2, side // 2), axis=(1, 2))
  noise = jnp.fft.ifft2(shifted).real
  noise = noise / noise.std(axis=(1, 2), keepdims=True)
  turns = [-(-length // side) for length in shape[:2]]
  return jnp.tile(noise, (1, *turns))[:, : shape[0], : shape[1]]

"""Defocus blur: correlation with an anti-aliased disk, reflect-101 borders.

docs/evidence/specs/corruptions.md sections 1 and 3 (make_imagenet_c.py, disk and
defocus_blur). The disk lies on a 17x17 grid (wider where the radius exceeds 8)
and is smoothed on that grid with reflecting borders, so that at severities 4
and 5 it sums to 1.013 and 1.011; it is not renormalised.

The correlation is a product of Fourier transforms whatever the radius. Weights
are rounded to integers, a few to the flat weight of the disk, so that the true
result is an integer and rounding removes the transform's error: the same pixels
for any canvas and backend.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import border, layout, packed

SEVERITIES = {  # (radius in px, sigma of the anti-aliasing blur in px)
  "imagenet": ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
  "inception": ((4, 0.1), (5, 0.5), (7, 0.5), (10, 0.5), (12, 0.5)),
  "tiny_imagenet": ((0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)),
  "cifar10": ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
}
SEVERITIES["ccc"] = spec.quarters((0, 0), SEVERITIES["imagenet"])
_UNITS = 2560  # sum of the integer weights; bounds the transform's error to 1/4
_GREY = 128.0  # subtracted before the transform: half the range, half the error


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `weights`: integers `[5, D, D]`; `total`: their sums; `scale` to levels."""
  disks = [_disk(*row) for row in edition.row(SEVERITIES)]
  reach = max(_reach(_odd(d)) for d in disks)
  kernels, scales = [], []
  for disk in disks:
    disk = _recentre(_odd(disk), reach)
    integers, scale = _integers(disk)
    kernels.append(integers)
    scales.append(scale)
  weights = np.stack(kernels).astype(np.float32)
  return {
    "weights": weights,
    "total": weights.sum(axis=(1, 2)),
    "scale": np.array(scales, np.float32),
  }


def prepare(
  table: plugins.Table, canvas: tuple[int, int], edition: spec.Edition
) -> plugins.Table:
  """Add the weights' transform, once per batch: complex64 `[fft_h, fft_w // 2 + 1]`."""
  weights = table["weights"]
  reach = weights.shape[0] // 2
  shape = [_fast_length(n + 2 * reach) for n in canvas]
  centred = jnp.zeros(shape, jnp.float32)
  centred = centred.at[: 2 * reach + 1, : 2 * reach + 1].set(weights)
  centred = jnp.roll(centred, (-reach, -reach), (0, 1))
  return {**table, "response": jnp.fft.rfft2(centred)}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  table = scene.table
  height, width = scene.image.shape[:2]
  reach = table["weights"].shape[0] // 2
  response = table["response"]
  shape = [_fast_length(n + 2 * reach) for n in (height, width)]
  rows = border.reflect101(jnp.arange(shape[0]) - reach, scene.size.h)
  columns = border.reflect101(jnp.arange(shape[1]) - reach, scene.size.w)
  padded = (
    layout.planes(scene.image[rows][:, columns]).astype(jnp.float32) - _GREY
  )
  # The wrap-around of the cyclic product stays within the padding.
  product = jnp.fft.rfft2(padded) * response
  summed = jnp.fft.irfft2(product, s=shape)
  summed = summed[:, reach : reach + height, reach : reach + width]
  summed = jnp.round(summed) + _GREY * table["total"]
  return packed.interleave(summed * table["scale"], table["total"])


def _disk(radius: float, alias_sigma: float) -> np.ndarray:
  """Build the authors' kernel, float64, on their grid."""
  grid = np.arange(-8, 9) if radius <= 8 else np.arange(-radius, radius + 1)
  taps = 3 if radius <= 8 else 5
  x, y = np.meshgrid(grid, grid)
  disk = (x**2 + y**2 <= radius**2).astype(np.float64)
  disk /= disk.sum()
  offset = np.arange(taps) - taps // 2
  weights = np.exp(-(offset**2) / (2 * alias_sigma**2))
  weights /= weights.sum()
  pad = taps // 2
  for axis in (0, 1):
    widths = [(0, 0), (0, 0)]
    widths[axis] = (pad, pad)
    wide = np.pad(disk, widths, mode="reflect")  # numpy's name of reflect-101
    n = disk.shape[axis]
    disk = sum(
      w * np.take(wide, np.arange(k, k + n), axis)
      for k, w in enumerate(weights)
    )
  return disk


def _odd(disk: np.ndarray) -> np.ndarray:
  """Return a kernel of odd side with the same anchor, turned for a convolution.

  Fractions of CCC above 8 px have an even side, which OpenCV anchors after the
  middle; kernels of odd side are symmetric.
  """
  if disk.shape[0] % 2:
    return disk
  return np.pad(disk, (0, 1))[::-1, ::-1]


def _reach(disk: np.ndarray) -> int:
  """Return the radius of the square that holds every tap worth 1e-7 or more."""
  middle = disk.shape[0] // 2
  return int(np.abs(np.argwhere(disk > 1e-7) - middle).max())


def _recentre(disk: np.ndarray, reach: int) -> np.ndarray:
  """Grow or cut the kernel around its middle to `2 * reach + 1`."""
  middle = disk.shape[0] // 2
  if middle < reach:
    return np.pad(disk, reach - middle)
  cut = middle - reach
  return disk[cut : disk.shape[0] - cut, cut : disk.shape[1] - cut]


def _integers(disk: np.ndarray) -> tuple[np.ndarray, np.float32]:
  """Return integer weights, and the levels that a unit is worth.

  The flat weight of the disk becomes an integer, and the scale restores the sum
  of the true kernel.
  """
  flat = disk.max()
  per_flat = max(1, int(_UNITS * flat))
  integers = np.round(disk / flat * per_flat)
  scale = np.float32(disk.sum() / integers.sum())
  # The authors' float32 weights sum to 1 - 3.7e-9 at severity 1 (29 times 1/29),
  # and there flat areas lose a level to truncation; elsewhere they do not.
  lossy = disk.astype(np.float32).sum(dtype=np.float64) < 1 - 1e-9
  toward = np.float32(0 if lossy else 1)
  for _ in range(2):  # beyond the rounding of the product with the scale
    scale = np.nextafter(scale, toward)
  return integers, scale


def _fast_length(n: int) -> int:
  """Return the least even length >= n whose prime factors are 2, 3 and 5."""
  length = n + n % 2
  while True:
    rest = length
    for prime in (2, 3, 5):
      while rest % prime == 0:
        rest //= prime
    if rest == 1:
      return length
    length += 2


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  prepare=prepare,
  apply=apply,
)

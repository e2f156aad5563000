"""Fog: (v + strength * plasma) * top / (top + strength); top is the largest v.

docs/evidence/specs/corruptions.md section 3. The plasma map is square and its side is
a power of two. The picture gets its top-left corner, normalised over the whole map.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import keep, layout, packed, plasma

SEVERITIES = {  # (strength, decay of the plasma's amplitude)
  "imagenet": ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
  "inception": ((1.5, 2), (2, 2), (2.5, 1.8), (2.5, 1.6), (3, 1.5)),
  "tiny_imagenet": ((0.4, 3), (0.7, 3), (1, 2.5), (1.5, 2), (2, 1.75)),
  "cifar10": ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
}
SEVERITIES["ccc"] = spec.quarters((0, 2), SEVERITIES["imagenet"])
_LEVELS = 16  # maps up to 65536 px
_FINE = 4096.0  # levels are summed in units of 1 / 4096


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `strength` float32 `[5]` and `amplitude` float32 `[5, levels]`."""
  strengths, decays = zip(*edition.row(SEVERITIES))
  return {
    "strength": np.array(strengths, np.float32),
    "amplitude": plasma.amplitudes(decays, _LEVELS),
  }


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw U(-1, 1) for the whole map, see `plasma.draw`."""
  return plasma.draw(scene.key, levels(scene.image.shape, scene.edition))


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Return the foggy picture, `[H, W * 3]`; `draws` is as from `plasma.draw`."""
  image, size, edition = scene.image, scene.size, scene.edition
  height, width = image.shape[:2]
  static = isinstance(size.h, int)
  if static and max(height, width) > (edition.plasma_px or height + width):
    raise errors.UserError(
      f"Edition {edition.name!r} has a fog map of {edition.plasma_px} px, got"
      f" a {height}x{width} image. Use edition='any' for other sizes."
    )
  fog = _map(draws, size, scene.table, edition, (height, width))
  inside = layout.mask(layout.flat(image), size)
  top = inside.max().astype(jnp.float32)
  strength = scene.table["strength"] * 255.0
  scale = top / (top + strength)
  added = jnp.round(fog * (strength * _FINE)).astype(jnp.int32)
  added = keep.keep(added, strength)
  return packed.interleave(
    (
      (channel * int(_FINE) + added).astype(jnp.float32) * (scale / _FINE)
      for channel in packed.image_channels(image, strength)
    ),
    strength,
  )


def levels(shape: tuple[int, ...], edition: spec.Edition) -> int:
  """Return log2 of the map's side: the edition's, or the next power of two.

  imagecorruptions takes the longest axis of the array, so the 3 channels count.
  """
  side = edition.plasma_px or max(*shape[:2], 3)
  return (side - 1).bit_length()


def _map(
  draws: jax.Array,
  size: layout.Size,
  table: plugins.Table,
  edition: spec.Edition,
  shape: tuple[int, int],
) -> jax.Array:
  """Return the normalised map over the canvas, float32 `[H, W]`."""
  grids = plasma.heights(draws, table["amplitude"])
  if edition.plasma_px or isinstance(size.h, int):
    return _corner(grids[-1], shape)
  # Which of the grids is this picture's map is known only at run time.
  longest = jnp.maximum(jnp.maximum(size.h, size.w), 3)
  larger = [longest > 1 << level for level in range(2, len(grids) - 1)]
  branches = [
    lambda grids, level=level: _corner(grids[level], shape)
    for level in range(2, len(grids))
  ]
  return jax.lax.switch(
    sum(x.astype(jnp.int32) for x in larger), branches, grids
  )


def _corner(grid: jax.Array, shape: tuple[int, int]) -> jax.Array:
  above, highest = plasma.normalise(grid)
  rows, columns = (max(0, n - grid.shape[0]) for n in shape)
  above = jnp.pad(above[: shape[0], : shape[1]], ((0, rows), (0, columns)))
  return above.astype(jnp.float32) * (1.0 / highest)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
)

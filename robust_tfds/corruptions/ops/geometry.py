"""Geometric frames: a coordinate map, evaluated only where the edition needs it.

Most editions warp the source and take a centre crop, so only the crop's pixels
are evaluated. The Inception edition warps the whole source, crops 0.875 of each
side and resizes (docs/evidence/specs/imagenet_p.md section 4).
"""

import math
from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import double, edition_crop, layout, warp

# (packed source, output columns, output rows) -> levels [3, S, S].
Sample = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def render(
  image: jax.Array,
  size: layout.Size,
  edition: spec.Edition,
  sample: Sample,
) -> jax.Array:
  """Render one warped frame of the edition's size, uint8 flat `[S, S * 3]`.

  Args:
    image: uint8 `[H, W, 3]`, the source.
    size: valid (height, width).
    edition: decides between crop, and crop and resize.
    sample: levels of the warped source at given output columns and rows.
  """
  side = edition.side_px
  whole = edition.name == "inception" and image.shape[:2] != (side, side)
  top, left = (0, 0) if whole else edition_crop.window(size, side)
  shape = image.shape[:2] if whole else (side, side)
  x = jnp.arange(shape[1], dtype=jnp.float32)[None, :] + left
  y = jnp.arange(shape[0], dtype=jnp.float32)[:, None] + top
  x, y = jnp.broadcast_to(x, shape), jnp.broadcast_to(y, shape)
  frame = layout.interleave(sample(warp.pack(image), x, y))
  if not whole:
    return frame
  frame = frame.reshape(*shape, 3)
  return layout.flat(edition_crop.crop(frame, size, edition))


def affine(
  image: jax.Array,
  size: layout.Size,
  edition: spec.Edition,
  matrix: jax.Array,
) -> jax.Array:
  """Render one frame of torchvision 0.2's affine transform; see `render`.

  `matrix` is the float64 bits of `affine_matrix`.
  """

  def sample(packed: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return warp.pillow_affine(packed, x, y, matrix, size)

  return render(image, size, edition, sample)


def affine_plugin(
  tables: Callable[[spec.Edition, int], plugins.Arrays],
  on_source: tuple[str, ...],
) -> plugins.FrameByFrame:
  """Return the plugin of a perturbation whose frames differ only by an affine matrix.

  Args:
    tables: returns a `matrix_table`.
    on_source: as in `plugins.Perturbation`.
  """
  return plugins.FrameByFrame(
    tables=tables, rows=("matrix",), frame=_affine_frame, on_source=on_source
  )


def matrix_table(matrices: Iterable[np.ndarray]) -> plugins.Arrays:
  """Return `matrix`, output to source: float64 bits, int32 `[T, 2, 2, 2]`."""
  return {"matrix": double.bits(np.stack(list(matrices)))}


def _affine_frame(scene: plugins.Scene, draws: None) -> jax.Array:
  """Render one frame, uint8 `[S, S * 3]`."""
  return affine(scene.image, scene.size, scene.edition, scene.table["matrix"])


def affine_matrix(
  angle_deg: float = 0.0, scale: float = 1.0, shear_deg: float = 0.0
) -> np.ndarray:
  """Return torchvision 0.2's inverse matrix, float64 `[2, 2]`, on the host."""
  a, s = math.radians(angle_deg), math.radians(shear_deg)
  d = math.cos(a + s) * math.cos(a) + math.sin(a + s) * math.sin(a)
  q = 1.0 / scale / d
  return q * np.array(
    [[math.cos(a + s), math.sin(a + s)], [-math.sin(a), math.cos(a)]]
  )

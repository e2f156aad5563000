"""Frost: a weighted sum of the picture and a random crop of a frost picture.

docs/evidence/specs/corruptions.md section 3. Six pictures ship with the reference, of
which the first five are used; the crop's last offset is never drawn. The `any`
edition enlarges the picture to cover the image, then by 1.1, with cubic
interpolation.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import frost_pictures, plugins, seeding, spec
from robust_tfds.corruptions.ops import frost_resize, layout

SEVERITIES = {  # weights of the picture and of the frost
  "imagenet": ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
  "tiny_imagenet": (
    (1, 0.3),
    (0.9, 0.4),
    (0.8, 0.45),
    (0.75, 0.5),
    (0.7, 0.55),
  ),
  "cifar10": ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
}
SEVERITIES["ccc"] = spec.quarters((1, 0), SEVERITIES["imagenet"])
_MORE = 1.1  # imagecorruptions enlarges by this on top


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `weights` of picture and frost in 400ths, int32 `[5, 2]`."""
  row = np.array(edition.row(SEVERITIES), np.float64)
  return {"weights": np.round(row * 400).astype(np.int32)}


def assets(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return the five pictures in the corner of one array, and their shapes.

  `pictures` is uint8 `[5, H, W * 3]`, `shapes` int32 `[5, 2]`; the `any`
  edition adds `cubic`, see `frost_resize.cubic_weights`.
  """
  pictures = frost_pictures.load()
  if edition.frost_scale not in (None, 1.0):
    pictures = [frost_resize.linear(p, edition.frost_scale) for p in pictures]
  shapes = np.array([p.shape[:2] for p in pictures], np.int32)
  canvas = np.zeros((len(pictures), *shapes.max(axis=0), 3), np.uint8)
  for place, picture in zip(canvas, pictures, strict=True):
    place[: picture.shape[0], : picture.shape[1]] = picture
  fixed = {
    "pictures": canvas.reshape(*canvas.shape[:2], -1),
    "shapes": shapes,
  }
  if edition.michaelis:
    fixed["cubic"] = frost_resize.cubic_weights()
  return fixed


def draw(scene: plugins.Scene) -> tuple[jax.Array, ...]:
  """Draw (index of the picture, first row, first column) of the crop, int32."""
  which = seeding.integers(scene.key, (), len(frost_pictures.USED))
  shape = scene.table["shapes"][which]
  if scene.edition.michaelis:
    shape = resized(which, scene.size, scene.image.shape, scene.table["shapes"])
  room = (jnp.maximum(shape[i] - scene.size[i], 1) for i in range(2))
  corner = (
    seeding.integers(scene.key, (), n, stream=1 + i) for i, n in enumerate(room)
  )
  return which, *corner


def apply(scene: plugins.Scene, draws: tuple[jax.Array, ...]) -> jax.Array:
  """Compute levels, integers `[H, W * 3]`; `draws` as from `draw`."""
  image, table = scene.image, scene.table
  which, *corner = draws
  if scene.edition.michaelis:
    frost = _enlarged(which, corner, image.shape, scene.size, table)
  else:
    frost = _crop(which, corner, image.shape, scene.size, table, scene.edition)
  ours, its = table["weights"]
  total = ours * layout.flat(image).astype(jnp.int32) + its * frost
  # Exactly total // 400: below 255 levels, 5243 / 2**19 is near enough.
  return ((jnp.minimum(total, 102000) >> 2) * 5243) >> 19


def resized(
  picture: jax.Array,
  size: layout.Size,
  canvas: tuple[int, ...],
  shapes: jax.Array,
) -> jax.Array:
  """Return height and width to which the picture is enlarged in the `any` edition.

  The reference's float64 arithmetic decides by ceil(), so its results are
  tabulated on the host: for every height and every width up to the canvas's, by
  which of the two needs the larger factor.
  """
  height, width = (jnp.asarray(n, jnp.int32) for n in size)
  by_height = jnp.asarray(_enlargements(canvas[0], 0))[picture, height]
  by_width = jnp.asarray(_enlargements(canvas[1], 1))[picture, width]
  rows, columns = shapes[picture, 0], shapes[picture, 1]
  taller = height * columns > width * rows
  return jnp.where(taller, by_height, by_width)


def _enlargements(canvas: int, axis: int) -> np.ndarray:
  """Return int32 `[5, canvas + 1, 2]`: the new shapes if this axis decides."""
  side = np.arange(canvas + 1)[:, None]
  tables = []
  for shape in np.array(frost_pictures.SHAPES):
    factor = np.where(shape[axis] >= side, 1.0, side / shape[axis]) * _MORE
    tables.append(np.ceil(shape * factor))
  return np.stack(tables).astype(np.int32)


def _enlarged(
  picture: jax.Array,
  corner: list[jax.Array],
  canvas: tuple[int, ...],
  size: layout.Size,
  table: plugins.Table,
) -> jax.Array:
  return frost_resize.cubic_crop(
    table["pictures"][picture],
    table["shapes"][picture],
    resized(picture, size, canvas, table["shapes"]),
    corner,
    (canvas[0], canvas[1]),
    table["cubic"],
  )


def _crop(
  picture: jax.Array,
  corner: list[jax.Array],
  canvas: tuple[int, ...],
  size: layout.Size,
  table: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  pictures = table["pictures"]
  have = (pictures.shape[1], pictures.shape[2] // 3)
  if isinstance(size.h, int) and isinstance(size.w, int):
    _check(size.h, size.w, edition)
  want = tuple(min(n, m) for n, m in zip(canvas[:2], have, strict=True))
  crop = jax.lax.dynamic_slice(
    pictures,
    (picture, corner[0], corner[1] * 3),
    (1, want[0], want[1] * 3),
  )[0]
  missing = (canvas[0] - want[0], (canvas[1] - want[1]) * 3)
  return jnp.pad(crop, [(0, n) for n in missing]).astype(jnp.int32)


def _check(height: int, width: int, edition: spec.Edition) -> None:
  """Refuse a picture that is as large as the smallest frost picture."""
  scale = edition.frost_scale or 1.0
  smallest = [
    min(int(np.rint(s[i] * scale)) for s in frost_pictures.SHAPES)
    for i in (0, 1)
  ]
  if height >= smallest[0] or width >= smallest[1]:
    raise errors.UserError(
      f"Edition {edition.name!r} cuts frost out of pictures as small as"
      f" {smallest[0]}x{smallest[1]}, which must be larger than the image;"
      f" got {height}x{width}. Use edition='any' for images of any size."
    )


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  assets=assets,
  draw=draw,
  assets_version=frost_pictures.assets_version,
  apply=apply,
)

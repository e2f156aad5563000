"""Stylized pictures, as the training of Michaelis et al. 2019, section 2.2, uses them.

Each picture gets one style, drawn from the user's, with alpha 1; the stylizer's
weights are the user's too (`adain.load_stylizer`). Without weights it is
`texture`, never AdaIN (`texture.py`). docs/evidence/specs/training.md section 1.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from models.training.transforms import adain, checks, texture
from robust_tfds import errors
from robust_tfds.corruptions import batching, seeding
from robust_tfds.corruptions.ops import layout

_STREAM = 0x4000


def stylize(
  images: jax.typing.ArrayLike,
  *,
  keys: seeding.Keys,
  styles: jax.typing.ArrayLike,
  stylizer: adain.Stylizer | None = None,
  alpha: float = 1.0,
  paired: bool = False,
  sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """Render every picture in one of the styles.

  On CPUs the bytes are the same in any batch; accelerators sum convolutions in
  an order that depends on the batch, which may change a level by one.

  Args:
    images: uint8 `[B, H, W, 3]`, RGB, 0..255.
    keys: uint32 `[B, 2]`, see `corruptions.example_key`; the epoch folded in.
    styles: uint8 `[N, H', W', 3]` of any size; the papers' have a short side of
      512 px. Embedded: `training.textures`.
    stylizer: from `training.load_stylizer`; None: `texture`, which is not AdaIN
      and must be disclosed by that name.
    alpha: strength of the style, 0 to 1.
    paired: whether `styles` are one for each image, already drawn by the
      caller.
    sizes: int32 `[B, 2]`, height and width of the pictures in the upper left
      corners of `images`; None: they fill them. For AdaIN, pictures and styles
      need 9 px a side or more.

  Returns:
    uint8 `[B, H, W, 3]`, 0 outside of the pictures.

  Raises:
    UserError: pixels, keys or styles have a wrong dtype or shape, there are no
      styles, sides are too small, alpha is outside 0-1, or `stylizer` is no
      stylizer.
  """
  batch, raw = checks.pictures(images, keys)
  paired = checks.switch("paired", paired)
  if not isinstance(stylizer, adain.Stylizer | None):
    raise errors.UserError(
      f"stylizer must come from training.load_stylizer(encoder, decoder), or None for"
      f" textures; got {type(stylizer).__name__}."
    )
  drawn = checks.user_pictures(
    "styles", styles, rows=len(batch) if paired else 0
  )
  least = 1 if stylizer is None else adain.LEAST_PX
  for name, shape in {"images": batch.shape, "styles": drawn.shape}.items():
    if min(shape[1:3]) < least:
      raise errors.UserError(
        f"AdaIN's networks take {name} of {least} px a side or more, got"
        f" {shape[1]}x{shape[2]}."
      )
  levels = _compiled(
    batch,
    raw,
    drawn,
    stylizer,
    batching.checked_sizes(sizes, batch.shape, least),
    alpha=checks.share("alpha", alpha),
    paired=paired,
  )
  return levels.reshape(batch.shape)


@functools.partial(jax.jit, static_argnames=("alpha", "paired"))
def _compiled(
  batch: jax.Array,
  keys: jax.Array,
  styles: jax.Array,
  stylizer: adain.Stylizer | None,
  sizes: jax.Array | None,
  *,
  alpha: float,
  paired: bool,
) -> jax.Array:
  """Render every picture; return uint8 `[B, H, W * 3]`."""

  def render(
    image: jax.Array,
    key: jax.Array,
    size: jax.Array | None,
    style: jax.Array | None,
  ) -> jax.Array:
    if style is None:
      style = styles[seeding.integers(key, (), len(styles), _STREAM)]
    content = image if size is None else _continued(image, size)
    content, style = (
      x[None].astype(jnp.float32) * np.float32(1 / 255)
      for x in (content, style)
    )
    if stylizer is None:
      picture = texture.render(content, style, alpha, size)
    else:
      picture = adain.render(stylizer.variables, content, style, alpha, size)
    levels = layout.flat(layout.to_uint8(jnp.round(picture[0] * 255)))
    return layout.mask(levels, layout.valid_size(image.shape, size))

  own = styles if paired else None
  return batching.over_batch(render, batch, keys, sizes, own)


def _continued(image: jax.Array, size: jax.Array) -> jax.Array:
  """Fill a canvas beyond its picture with the picture's edges."""
  for axis, length in enumerate(image.shape[:2]):
    place = jnp.minimum(jnp.arange(length), size[axis] - 1)
    image = jnp.take(image, place, axis)
  return image

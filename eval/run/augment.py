"""Random flips and crops of training pictures, as a recipe asks for them.

  model.train.flip = True   # mirror half of the pictures
  model.train.crop_px = 4   # pad 4 px with zeros, cut the old size at random

The two are those of CIFAR's usual training (He et al. 2016, section 4.2; pads of
4 px). Both are off unless a recipe names them. Pictures are preprocessed by
then, so zeros are about the mean colour. The operations are dm_pix's.
"""

from typing import Any

import dm_pix
import jax
import jax.numpy as jnp

from robust_tfds import errors


def batch(
  key: jax.Array,
  examples: dict[str, jax.Array],
  *,
  flip: bool = False,
  crop_px: int = 0,
) -> dict[str, jax.Array]:
  """The examples with their pictures flipped and shifted, each by its own draw.

  Args:
    key: a JAX key.
    examples: `image` `[B, H, W, C]`, or clips `[B, T, H, W, C]` whose frames
      move together, of any dtype; other entries stay as they are.
    flip: mirror left and right with probability 1/2.
    crop_px: how many zeros each side gets before the crop to the old size.

  Returns:
    The same entries, shapes and dtypes.

  Raises:
    ValueError: examples with boxes, which would have to move too.
  """
  if not flip and not crop_px:
    return examples
  if "boxes" in examples:
    raise errors.UserError(
      "Recipes of detectors have no flip and crop_px: their boxes would have to"
      f" move too. Got flip={flip}, crop_px={crop_px}; leave both out."
    )

  def change(example_key: jax.Array, image: jax.Array) -> jax.Array:
    return _image(example_key, image, flip, crop_px)

  keys = jax.random.split(key, len(examples["image"]))
  return {**examples, "image": jax.vmap(change)(keys, examples["image"])}


def _image(key: jax.Array, image: Any, flip: bool, crop_px: int) -> jax.Array:
  """One picture or clip, `[..., H, W, C]`."""
  crop_key, flip_key = jax.random.split(key)
  if crop_px:
    pads = [(0, 0)] * (image.ndim - 3) + [(crop_px, crop_px)] * 2 + [(0, 0)]
    image = dm_pix.random_crop(crop_key, jnp.pad(image, pads), image.shape)
  if flip:
    image = dm_pix.random_flip_left_right(flip_key, image)
  return image

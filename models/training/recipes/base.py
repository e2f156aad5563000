"""What a recipe is: what a batch's pictures become, and the loss of a step."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax

Variables = Any
Batch = Mapping[str, jax.Array]
# (variables, pixels or a detector's batch, key) -> (answers, variables)
ApplyTrain = Callable[[Variables, Any, jax.Array], tuple[Any, Variables]]
Numbers = dict[str, jax.Array]
_CROP, _FLIP, _OWN = 0, 1, 2  # streams of an example's key


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
  """Cross-entropy, with the crop and the flip that most recipes begin with.

  Attributes:
    flip: mirror pictures left and right with probability 1/2; not of digits or
      signs, whose mirror images are of other classes or none.
    crop_px: zeros around each picture before a crop to the old size: CIFAR's 4 px
      (He et al. 2016, section 4.2); black, before preprocessing.
    label_smoothing: share of the label that all classes have alike.
  """

  flip: bool = False
  crop_px: int = 0
  label_smoothing: float = 0.0

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Training pictures of a batch.

    Args:
      images: uint8 `[B, H, W, 3]`, or clips `[B, T, H, W, 3]` whose frames move
        together.
      keys: uint32 `[B, 2]`, of the examples in their epoch.

    Returns:
      uint8, of the same shape; of recipes with several views `[views * B, ...]`.
    """
    return self.moved(images, keys)

  def moved(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """The pictures, cropped and mirrored; arguments and result as `transform`."""
    change = lambda image, key: _moved(image, key, self.flip, self.crop_px)
    return jax.vmap(change)(images, keys)

  def loss(
    self,
    apply_train: ApplyTrain,
    variables: Variables,
    batch: Batch,
    key: jax.Array,
  ) -> tuple[jax.Array, tuple[Variables, Numbers]]:
    """The loss of a batch.

    Args:
      apply_train: the network in train mode.
      batch: `image` or `video`, `label`, `key`.
      key: of the step.

    Returns:
      A scalar; the variables with moved statistics, and what is logged beside it.
    """
    images = self.transform(pictures(batch), batch["key"])
    logits, variables = apply_train(variables, images, key)
    loss = self.cross_entropy(logits, batch["label"])
    return loss, (variables, {"error": error(logits, batch["label"])})

  def cross_entropy(self, logits: jax.Array, label: jax.Array) -> jax.Array:
    """Its mean over a batch, of smoothed labels."""
    classes = logits.shape[-1]
    target = optax.smooth_labels(
      jax.nn.one_hot(label, classes), self.label_smoothing
    )
    return optax.softmax_cross_entropy(logits, target).mean()

  def disclosure(self) -> dict[str, Any]:
    """What it shows the network of a benchmark, see `models/training/disclosure.py`.

    Returns:
      `conditions` and `severities`, lists; `pictures`, what is mixed in, in words.
    """
    return {"conditions": [], "severities": [], "pictures": ""}


def pictures(batch: Batch) -> jax.Array:
  """The pictures or clips of a batch."""
  return batch["video"] if "video" in batch else batch["image"]


def stream(keys: jax.Array, number: int) -> jax.Array:
  """Keys uint32 `[B, 2]` of a recipe's own draws, from those of the examples.

  Args:
    number: of the draw, from 0.
  """

  def of_one(words: jax.Array) -> jax.Array:
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return jax.random.key_data(jax.random.fold_in(key, _OWN + number))

  return jax.vmap(of_one)(keys)


def error(logits: jax.Array, label: jax.Array) -> jax.Array:
  """Share of a batch whose class is not the most likely one."""
  return jnp.mean(jnp.argmax(logits, -1) != label)


def _moved(
  image: jax.Array, words: jax.Array, flip: bool, crop_px: int
) -> jax.Array:
  key = jax.random.wrap_key_data(words, impl="threefry2x32")
  if crop_px:
    pads = [(0, 0)] * (image.ndim - 3) + [(crop_px, crop_px)] * 2 + [(0, 0)]
    crop = jax.random.fold_in(key, _CROP)
    begin = jax.random.randint(crop, (2,), 0, 2 * crop_px + 1)
    still = jnp.zeros(image.ndim - 3, begin.dtype)
    begins = jnp.concatenate([still, begin, jnp.zeros(1, begin.dtype)])
    image = jax.lax.dynamic_slice(jnp.pad(image, pads), [*begins], image.shape)
  if flip:
    mirrored = jax.random.bernoulli(jax.random.fold_in(key, _FLIP))
    image = jnp.where(mirrored, image[..., ::-1, :], image)
  return image

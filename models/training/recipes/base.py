"""The base class of recipes: the transform of a batch's pictures, and the loss."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import dm_pix
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec

from models.model import Model
from models.training.transforms import checks, operations
from robust_tfds import devices, errors, settings
from robust_tfds.building.sources.mask_labels import IGNORE

Variables = Any
Batch = Mapping[str, jax.Array]
# (variables, pixels or a detector's batch, key) -> (answers, variables): `applied`.
ApplyTrain = Callable[[Variables, Any, jax.Array | None], tuple[Any, Variables]]
Numbers = dict[str, jax.Array]
# Limits of the transforms' arguments: `models/training/transforms/checks.py`.
Strength: Any = settings.between(0.101, operations.LARGEST)  # above .1
Weight: Any = settings.between(0, 1000)  # weight of a part of the loss
Shape: Any = settings.between(0.01, 100)  # shape of Dirichlet and beta draws
Count: Any = settings.between(1, checks.MOST, int)
_CROP, _FLIP, _OWN = 0, 1, 2  # streams of an example's key


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
  """A recipe: cross-entropy, with the crop and the flip that most recipes begin with.

  Class attributes:
    KINDS: kinds of networks that it trains, as `models.spec.Kind`.
    ENHANCEMENTS: names of `models.enhancements` behind which its networks are
      to be tested; they do what `test_inputs` does.

  Attributes:
    flip: whether to mirror pictures left to right with probability 1/2; not for
      digits or signs, whose mirror images belong to other classes or none.
    crop_px: zeros around each picture before a crop to the old size: CIFAR's 4 px
      (He et al. 2016, section 4.2); black, before preprocessing.
    label_smoothing: share of the label that is spread evenly over all classes.
  """

  KINDS: ClassVar[Sequence[str]] = ("classification", "video")
  ENHANCEMENTS: ClassVar[Sequence[str]] = ()

  flip: settings.Flag = False
  crop_px: settings.From0 = 0
  label_smoothing: settings.Share = 0.0

  def check(self, kind: str, side: int) -> None:
    """Refuse values that do not fit networks of a kind, or examples of a size.

    Args:
      kind: one of `KINDS`.
      side: side of the examples in px; 0 if unknown before they are read.

    Raises:
      UserError: a value does not fit; the message begins with the key.
    """
    if side and self.crop_px >= side:
      raise errors.UserError(
        f"config.recipe.crop_px: got {self.crop_px}, expected less than the"
        f" pictures' {side} px: a crop could be all black."
      )

  @property
  def extras(self) -> tuple[str, ...]:
    """The names of arrays from `extra_arrays`, arguments of `transform`."""
    return ()

  @property
  def folders(self) -> Mapping[str, str]:
    """The user's folders of `extra_arrays`, by the key of the config."""
    return {}

  @property
  def passes(self) -> int:
    """The gradients of the network that a step takes for an example: its cost."""
    return 1

  @property
  def copies(self) -> int:
    """The number of times that an epoch shows an example."""
    return 1

  def extra_arrays(
    self, item: Mapping[str, Any], key: np.ndarray, own: np.ndarray, copy: int
  ) -> Mapping[str, Any]:
    """Return what the host adds to an example: a picture to mix it with, a style.

    Args:
      item: the example, as it enters a batch.
      key: uint32 `[2]`, the example's key in its epoch.
      own: uint32 `[2]`, the example's key in every epoch.
      copy: index among the `copies`, from 0.

    Returns:
      Arrays by the names of `extras`.
    """
    del item, key, own, copy
    return {}

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Return the training pictures of a batch.

    Args:
      images: uint8 `[B, H, W, 3]`, or clips `[B, T, H, W, 3]` whose frames move
        together.
      keys: uint32 `[B, 2]`, the examples' keys in their epoch. A recipe's
        `extras` follow as keyword arguments, one row per example.

    Returns:
      uint8, of the same shape; `[views * B, ...]` for recipes with several
      views.
    """
    return self.moved(images, keys)

  def views(self, batch: Batch) -> Any:
    """Return the network's input for a batch.

    Every device works on its own rows.

    Args:
      batch: batch of a step, with the rows of all devices.

    Returns:
      The result of `transform`; for detectors a batch.
    """
    extras = {name: batch[name] for name in self.extras}
    rows = {"images": pictures(batch), "keys": batch["key"], **extras}
    return map_rows(lambda rows: self.transform(**rows), rows)

  def moved(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Crop and mirror the pictures; arguments and result as for `transform`."""
    change = lambda image, key: _moved(image, key, self.flip, self.crop_px)
    return jax.vmap(change)(images, keys)

  def loss(
    self,
    apply_train: ApplyTrain,
    variables: Variables,
    batch: Batch,
    key: jax.Array,
  ) -> tuple[jax.Array, tuple[Variables, Numbers]]:
    """Compute the loss of a batch.

    Args:
      apply_train: the network, as from `applied`.
      variables: variables of the network.
      batch: `image` or `video`, `label`, `key`.
      key: JAX key of the step.

    Returns:
      The loss; the variables with updated statistics, and further numbers to
      log.
    """
    images = self.network_inputs(apply_train, variables, batch)
    logits, variables = apply_train(variables, images, key)
    loss, numbers = self.logits_loss(logits, batch["label"])
    return loss, (variables, numbers)

  def network_inputs(
    self, apply_train: ApplyTrain, variables: Variables, batch: Batch
  ) -> Any:
    """Return the input of a step: `views`, perhaps after an attack."""
    del apply_train, variables
    return self.views(batch)

  def logits_loss(
    self, logits: jax.Array, label: jax.Array
  ) -> tuple[jax.Array, Numbers]:
    """Compute the loss, and numbers to log, from `[views * B, classes]`."""
    return self.cross_entropy(logits, label), {"error": error(logits, label)}

  def test_inputs(self, images: jax.Array) -> jax.Array:
    """Return the network's input for test pictures: `images`."""
    return images

  def cross_entropy(self, logits: jax.Array, label: jax.Array) -> jax.Array:
    """Compute the mean cross-entropy of a batch, with smoothed labels."""
    classes = logits.shape[-1]
    target = optax.smooth_labels(
      jax.nn.one_hot(label, classes), self.label_smoothing
    )
    return optax.softmax_cross_entropy(logits, target).mean()

  def disclosure(self) -> dict[str, Any]:
    """Return what it shows the network of a benchmark, see
    `models/training/disclosure.py`.

    Returns:
      `conditions` and `severities`, lists; `pictures`, what is mixed in, in words.
    """
    return {"conditions": [], "severities": [], "pictures": ""}


def applied(model: Model, **frozen: Any) -> ApplyTrain:
  """Return a network as recipes call it.

  It takes the arguments of `model.apply_train`, and two more forms of them:
  float pixels in [0, 1], which it preprocesses; and None for a key, which runs
  the network in evaluation mode.

  Args:
    model: a network with a train mode.
    **frozen: norms and stages, as for `apply_train`.
  """

  def apply(
    variables: Variables, batch: Any, key: jax.Array | None
  ) -> tuple[Any, Variables]:
    if isinstance(batch, jax.Array) and batch.dtype == jnp.float32:
      batch = model.preprocess(255 * batch)
    if key is None:
      return model.apply(variables, batch), variables
    return model.apply_train(variables, batch, key, **frozen)

  return apply


def pictures(batch: Batch) -> jax.Array:
  """Return the pictures or clips of a batch."""
  return batch["video"] if "video" in batch else batch["image"]


def map_rows(function: Callable[[Any], Any], rows: Any) -> Any:
  """Apply a function of rows on every device, to the device's own rows.

  XLA, if left to partition by itself, may gather rows first; this never leaves
  a device. On a single device, or if rows do not divide evenly, it calls the
  function.

  Args:
    function: a pure function of each row by itself; it makes one view of each
      row, or several, view after view.
    rows: a tree of arrays `[B, ...]`.

  Returns:
    A tree of arrays `[views * B, ...]`, in the function's order.
  """
  mesh, count = devices.mesh(), len(jax.tree.leaves(rows)[0])
  if mesh.size == 1 or count % mesh.size:
    return function(rows)
  here = count // mesh.size
  by_view = lambda x: x.reshape(-1, here, *x.shape[1:])
  shard = jax.shard_map(
    lambda rows: jax.tree.map(by_view, function(rows)),
    mesh=mesh,
    in_specs=PartitionSpec("data"),
    out_specs=PartitionSpec(None, "data"),
    check_vma=False,
  )
  return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), shard(rows))


def stream(keys: jax.Array, number: int) -> jax.Array:
  """Derive the keys uint32 `[B, 2]` of a recipe's own draws from the examples' keys.

  Args:
    number: number of the draw, from 0.
  """

  def fold(words: jax.Array) -> jax.Array:
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return jax.random.key_data(jax.random.fold_in(key, _OWN + number))

  return jax.vmap(fold)(keys)


def mirrors(words: jax.Array) -> jax.Array:
  """Draw whether an example is mirrored, from its key, uint32 `[2]`."""
  key = jax.random.wrap_key_data(words, impl="threefry2x32")
  return jax.random.bernoulli(jax.random.fold_in(key, _FLIP))


def error(logits: jax.Array, label: jax.Array) -> jax.Array:
  """Compute the share of a batch whose most likely class is wrong."""
  return jnp.mean(jnp.argmax(logits, -1) != label)


def class_weights(
  class_map: jax.Array, classes: int, power: float
) -> jax.Array:
  """Return the weight of each class: its mean count of pixels over its own.

  Args:
    class_map: uint8 `[B, H, W]`; pixels of 255 do not count.
    classes: number of classes.
    power: power of the weights; 0: all are 1.

  Returns:
    float32 `[classes]`.
  """
  counts = jnp.bincount(class_map.ravel(), length=IGNORE + 1)[:classes]
  return (counts.mean() / jnp.maximum(counts, 1)) ** power


def pixel_sums(
  logits: jax.Array,
  class_map: jax.Array,
  smoothing: float = 0.0,
  weights: jax.Array | None = None,
) -> Numbers:
  """Compute sums over the pixels of each example that count.

  Args:
    logits: `[B, H, W, classes]`.
    class_map: uint8 `[B, H, W]`; pixels of 255 do not count.
    smoothing: share of the label that is spread over all classes.
    weights: float32 `[classes]`, weights of the pixels' losses; None: all 1.

  Returns:
    float32 `[B]`: `loss` (cross-entropy) and `weight`, its weights; `error`
    (pixels whose most likely class is wrong) and `count`.
  """
  counted = class_map != IGNORE
  label = jnp.where(counted, class_map, 0)
  target = optax.smooth_labels(
    jax.nn.one_hot(label, logits.shape[-1]), smoothing
  )
  loss = optax.softmax_cross_entropy(logits, target)
  wrong = (jnp.argmax(logits, -1) != label).astype(jnp.float32)
  over = lambda x: jnp.sum(jnp.where(counted, x, 0), axis=(1, 2))
  weight: Any = 1.0 if weights is None else weights[label]
  return {
    "loss": over(loss * weight),
    "weight": over(weight),
    "error": over(wrong),
    "count": over(1.0),
  }


def _moved(
  image: jax.Array, words: jax.Array, flip: bool, crop_px: int
) -> jax.Array:
  key = jax.random.wrap_key_data(words, impl="threefry2x32")
  if crop_px:
    if crop_px >= min(image.shape[-3:-1]):
      raise errors.UserError(
        f"config.recipe.crop_px: got {crop_px}, expected less than the pictures'"
        f" {image.shape[-3]} x {image.shape[-2]} px: a crop could be all black."
      )
    pads = [(0, 0)] * (image.ndim - 3) + [(crop_px, crop_px)] * 2 + [(0, 0)]
    crop = jax.random.fold_in(key, _CROP)
    begin = jax.random.randint(crop, (2,), 0, 2 * crop_px + 1)
    still = jnp.zeros(image.ndim - 3, begin.dtype)
    begins = jnp.concatenate([still, begin, jnp.zeros(1, begin.dtype)])
    image = jax.lax.dynamic_slice(jnp.pad(image, pads), [*begins], image.shape)
  if flip:
    image = jnp.where(mirrors(words), dm_pix.flip_left_right(image), image)
  return image

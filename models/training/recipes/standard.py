"""Cross-entropy on pictures as they are, cropped and mirrored if configured.

Segmenters learn from the cross-entropy of the pixels that count; masks are cropped
and mirrored with their pictures, and what comes in at a border does not count.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from models.training.recipes import base
from robust_tfds import errors, settings

_CLASS_MAP = "class_map"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standard(base.Recipe):
  """The baseline that every other recipe is compared with.

  Attributes:
    balance: for masks, the power of a class's share of a batch's pixels by which
      its loss is divided, so that a background does not outweigh all else; 0: all
      pixels weigh alike.
  """

  KINDS: ClassVar[Sequence[str]] = (*base.Recipe.KINDS, "segmentation")

  balance: settings.Share = 0.0

  def check(self, kind: str, side: int) -> None:
    """Refuse values that do not fit, see `Recipe.check`."""
    super().check(kind, side)
    if self.balance and kind != "segmentation":
      raise errors.UserError(
        f"config.recipe.balance: got {self.balance}, which weighs the pixels of"
        f" masks; the network is of the kind {kind}: expected 0."
      )

  def views(self, batch: base.Batch) -> Any:
    """Return the network's input for a batch."""
    if _CLASS_MAP in batch:
      return self._crop_masks(batch)[0]
    return super().views(batch)

  def loss(
    self,
    apply_train: base.ApplyTrain,
    variables: base.Variables,
    batch: base.Batch,
    key: jax.Array,
  ) -> tuple[jax.Array, tuple[base.Variables, base.Numbers]]:
    """Compute the mean loss of the batch's examples, or of its pixels."""
    if _CLASS_MAP not in batch:
      return super().loss(apply_train, variables, batch, key)
    images, class_map = self._crop_masks(batch)
    logits, variables = apply_train(variables, images, key)
    weights = base.class_weights(class_map, logits.shape[-1], self.balance)
    each = base.pixel_sums(logits, class_map, self.label_smoothing, weights)
    sums = {name: rows.sum() for name, rows in each.items()}
    loss = sums["loss"] / jnp.maximum(sums["weight"], 1)
    error = sums["error"] / jnp.maximum(sums["count"], 1)
    return loss, (variables, {"error": error})

  def _crop_masks(self, batch: base.Batch) -> tuple[jax.Array, jax.Array]:
    """Return pictures and class maps, cropped and mirrored alike."""

    def move(rows: dict[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
      # As a fourth channel, in which a crop's zeros stand for 255.
      level = rows[_CLASS_MAP][..., None] + jnp.uint8(1)
      both = jnp.concatenate([rows["image"], level], axis=-1)
      moved = self.moved(both, rows["key"])
      return moved[..., :3], moved[..., 3] - jnp.uint8(1)

    names = ("image", _CLASS_MAP, "key")
    return base.map_rows(move, {name: batch[name] for name in names})

"""The summed losses of a detector, on pictures mirrored with their objects.

Shankar et al. 2021, Table 11; Michaelis et al. 2019 on stylized pictures
(docs/evidence/specs/training.md sections 1 and 3): modes and styles are those of
`stylized`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from models.training.recipes import base, stylized
from robust_tfds import errors


@dataclasses.dataclass(frozen=True, kw_only=True)
class Detector(stylized.Styling, base.Recipe):
  """The recipe of detectors.

  The network computes its weighted losses in `apply_train`.
  """

  KINDS: ClassVar[Sequence[str]] = ("detection",)

  mode: str = stylized.STANDARD

  def __post_init__(self) -> None:
    """Refuse settings that apply to classifiers alone."""
    super().__post_init__()
    for name in ("crop_px", "label_smoothing"):
      if getattr(self, name):
        raise errors.UserError(
          f"config.recipe.{name}: got {getattr(self, name)}, expected 0: it is for"
          " classifiers, a detector's pictures are whole."
        )

  def views(self, batch: base.Batch) -> Any:
    """Return the batch, stylized and mirrored with its objects."""
    return base.map_rows(self._transformed, dict(batch))

  def _transformed(self, batch: dict[str, jax.Array]) -> dict[str, jax.Array]:
    style, styled = (batch.pop(name, None) for name in ("style", "styled"))
    image = self.restyled(
      batch["image"], batch["key"], style, styled, batch["size"]
    )
    shown = {**batch, "image": image}
    return jax.vmap(mirrored)(shown) if self.flip else shown

  def loss(
    self,
    apply_train: base.ApplyTrain,
    variables: base.Variables,
    batch: base.Batch,
    key: jax.Array,
  ) -> tuple[jax.Array, tuple[base.Variables, base.Numbers]]:
    """Compute the sum of the network's losses; each is logged."""
    losses, variables = apply_train(variables, self.views(batch), key)
    return sum(losses.values()), (variables, dict(losses))

  def disclosure(self) -> dict[str, Any]:
    """Return what the recipe discloses: how pictures are stylized."""
    return {**super().disclosure(), "pictures": self.styled_by()}


def mirrored(row: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
  """Mirror an example left to right with probability 1/2, within its size.

  Args:
    row: `image` uint8 `[H, W, 3]`, `size` int32 `[2]`, `boxes` float32 `[G, 4]`
      (x0, y0, x1, y1 in px), `labels` int32 `[G]`, `key` uint32 `[2]`; `masks`
      bool `[G, H, W]` and `semantic` int32 `[H, W]` where there are any.
  """
  width = row["size"][1]
  place = jnp.arange(row["image"].shape[1])
  across = jnp.where(place < width, width - 1 - place, place)
  axes = {"image": 1, "masks": 2, "semantic": 1}
  turned = {
    name: jnp.take(row[name], across, axis)
    for name, axis in axes.items()
    if name in row
  }
  x0, y0, x1, y1 = jnp.moveaxis(row["boxes"], -1, 0)
  boxes = jnp.stack([width - x1, y0, width - x0, y1], axis=-1)
  there = row["labels"][:, None] >= 0
  turned["boxes"] = jnp.where(there, boxes, row["boxes"])
  coin = base.mirrors(row["key"])
  chosen = {n: jnp.where(coin, new, row[n]) for n, new in turned.items()}
  return {**row, **chosen}

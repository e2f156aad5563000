"""AugMix: mixtures of chains of operations, and predictions that agree on them.

Hendrycks et al. 2020, arXiv:1912.02781, with the loss as google-research/augmix
has it (docs/evidence/specs/training.md section 5): one forward pass of a batch and two
mixtures of it, CE(clean) + 12 mean_k KL(p_k || M), M = clip(mean_k p_k, 1e-7,
1).
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from models.training.recipes import base
from models.training.transforms import augmix, checks, operations
from robust_tfds import settings

_VIEWS = 2  # beside the clean one
_Count: Any = settings.between(1, 16, int)
_Depth: Any = settings.between(-1, 16, int)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Augmix(base.Recipe):
  """The recipe of this file.

  Fields without a description are `training.augmix`'s.

  Attributes:
    jsd: weight of the disagreement; 0: cross-entropy of a single mixture, as
      the authors' CIFAR code does with `--no-jsd`.
  """

  jsd: base.Weight = 12.0
  severity: base.Strength = 3
  width: _Count = 3
  depth: _Depth = -1
  alpha: base.Shape = 1.0
  overlap: settings.Flag = False

  def __post_init__(self) -> None:
    """Refuse chains without operations."""
    checks.whole_number("config.recipe.depth", self.depth, (-1, *range(1, 17)))

  @property
  def passes(self) -> int:
    """The number of views of an example."""
    return _VIEWS + 1 if self.jsd else 1

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Return the pictures, then both mixtures of each: uint8 `[3 * B, H, W, 3]`.

    With `jsd=0` the result is a mixture of each, `[B, H, W, 3]`.
    """
    clean = self.moved(images, keys)
    mixed = [
      augmix.augmix(
        clean,
        keys=base.stream(keys, view),
        severity=self.severity,
        width=self.width,
        depth=self.depth,
        alpha=self.alpha,
        overlap=self.overlap,
      )
      for view in range(_VIEWS if self.jsd else 1)
    ]
    return jnp.concatenate([clean, *mixed]) if self.jsd else mixed[0]

  def disclosure(self) -> dict[str, Any]:
    """Return the operations that overlap benchmarks, if used."""
    overlap = list(operations.OVERLAPPED) if self.overlap else []
    more = {"conditions": overlap, "pictures": operations.words(self.overlap)}
    return {**super().disclosure(), **more}

  def logits_loss(
    self, logits: jax.Array, label: jax.Array
  ) -> tuple[jax.Array, base.Numbers]:
    """Compute cross-entropy plus the weighted disagreement of the views."""
    if not self.jsd:
      return super().logits_loss(logits, label)
    each = logits.reshape(_VIEWS + 1, -1, logits.shape[-1])
    jsd = disagreement(each)
    loss, numbers = super().logits_loss(each[0], label)
    return loss + self.jsd * jsd, {**numbers, "jsd": jsd}


def disagreement(logits: jax.Array) -> jax.Array:
  """Compute the mean over views and examples of KL(p_k || M).

  The logits are `[views, B, classes]`.
  """
  log = jax.nn.log_softmax(logits)
  p = jnp.exp(log)
  mean = jnp.log(jnp.clip(p.mean(0), 1e-7, 1.0))
  return jnp.sum(p * (log - mean), axis=-1).mean()

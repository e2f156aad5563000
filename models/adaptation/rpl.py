"""RPL: robust pseudo-labelling by the generalised cross-entropy.

Rusak et al. 2022 (arXiv:2104.12928): the batch's own hard labels, q = .8.
"""

import dataclasses
from typing import ClassVar

import jax

from models.adaptation import base, tent


@dataclasses.dataclass(frozen=True)
class RobustPseudoLabels(tent.Tent):
  """Tent with the generalised cross-entropy to the most probable class.

  Attributes:
    q: between 0 (cross-entropy) and 1 (mean absolute error).
  """

  q: float = 0.8
  IMAGENET: ClassVar[base.Optimizer] = base.Optimizer("sgd", 5e-4)

  def loss(self, logits: jax.Array) -> jax.Array:
    """Return the generalised cross-entropy of a batch's logits."""
    top = jax.nn.softmax(logits).max(-1)
    return ((1 - top**self.q) / self.q).mean()


METHOD = RobustPseudoLabels

"""PixMix: pictures mixed with fractals, and cross-entropy on the mixtures.

Hendrycks et al. 2022, arXiv:2112.05135 (docs/specs/training.md section 5). Here with
`training.fractals`, which are drawn from a seed and are not the paper's pictures.
"""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from robust_tfds.models.training.recipes import base
from robust_tfds.models.training.transforms import fractals as fractals_lib
from robust_tfds.models.training.transforms import operations, pixmix


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pixmix(base.Recipe):
  """See the header; fields that are not here are `training.pixmix`'s.

  Attributes:
    fractals: how many there are to mix with.
  """

  fractals: int = 64
  k: int = 4
  beta: float = 3.0
  severity: float = 3
  overlap: bool = False

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Each picture mixed with a fractal; frames of clips each with their own."""
    return pixmix.pixmix(
      self.moved(images, keys),
      keys=base.stream(keys, 0),
      pictures=_fractals(self.fractals, images.shape[-2]),
      k=self.k,
      beta=self.beta,
      severity=self.severity,
      overlap=self.overlap,
    )

  def disclosure(self) -> dict[str, Any]:
    """See the base."""
    return {
      **super().disclosure(),
      "conditions": list(operations.OVERLAPPED) if self.overlap else [],
      "pictures": f"{self.fractals} fractals of seed 0 (training.fractals)",
    }


@functools.lru_cache(2)
def _fractals(count: int, side: int) -> np.ndarray:
  return fractals_lib.fractals(count, side)

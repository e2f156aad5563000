"""Cross-entropy on corrupted pictures: Shankar's one noise, or a mix of several.

docs/specs/training.md sections 3 and 4. Its conditions are benchmarks' own, so it
needs `allow_benchmark_conditions=True`, and the network says so wherever it goes.
"""

import dataclasses
from typing import Any

import jax

from robust_tfds.models.training.recipes import base
from robust_tfds.models.training.transforms import corruption_mix


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorruptionMix(base.Recipe):
  """See the header.

  Attributes:
    names: of corruptions, or of perturbations of videos.
    severities: 1-5; videos are tested at 4 and 5 (Schiappa et al., 6.4).
    edition: of the corruptions.
  """

  names: tuple[str, ...] = ("gaussian_noise",)
  severities: tuple[int, ...] = (1, 2, 3)
  edition: str = "any"

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Each picture or clip under one of the names at one of the severities."""
    return corruption_mix.corruption_mix(
      self.moved(images, keys),
      keys=base.stream(keys, 0),
      names=self.names,
      severities=self.severities,
      edition=self.edition,
    )

  def disclosure(self) -> dict[str, Any]:
    """See the base."""
    shown = {"conditions": list(self.names), "severities": [*self.severities]}
    return {**super().disclosure(), **shown}

"""Cross-entropy on corrupted pictures: Shankar's single noise, or a mix of several.

docs/evidence/specs/training.md sections 3 and 4. All frames of a clip get the same crop,
before they are perturbed; time is perturbed within the clip, whereas the
authors perturb whole videos before they sample clips from them. Its conditions
are those of benchmarks, so it needs `allow_benchmark_conditions=True`, and
every result of the network says so.
"""

import dataclasses
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import pydantic

from models.training.recipes import base
from models.training.transforms import corruption_mix
from robust_tfds import conditions, errors, settings

_Names = Annotated[
  str | tuple[str, ...],
  pydantic.Field(description="names with commas between"),
]
_Levels = Annotated[
  tuple[Annotated[int, pydantic.Field(ge=1, le=5)], ...],
  pydantic.Field(min_length=1, description="whole numbers from 1 to 5"),
]
_Probability: Any = settings.between(0, 1)
_TESTED = conditions.VIDEOS.mixes["mixed_eval"].levels


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorruptionMix(base.Recipe):
  """The recipe of this file.

  Attributes:
    names: names of corruptions, or of perturbations of videos, with commas
      between; sets too (`common`, `temporal_eval`).
    severities: 1-5; for videos 1-3, since they are tested at 4 and 5 (Schiappa
      et al., 6.4).
    tested_severities: whether to allow the tested severities of videos, which
      is then disclosed.
    edition: edition of the corruptions.
    probability: probability that an example is changed at all; Schiappa et
      al.'s code has .75.
  """

  names: _Names = "gaussian_noise"
  severities: _Levels = (1, 2, 3)
  tested_severities: settings.Flag = False
  edition: str = "any"
  probability: _Probability = 1.0

  def __post_init__(self) -> None:
    """Refuse names that belong to neither pictures nor videos, and an empty list."""
    with errors.prefixed("config.recipe.names"):
      if not self._resolved():
        raise errors.UserError(
          f"got {self.names!r}, expected at least one corruption, e.g. fog."
        )

  def check(self, kind: str, side: int) -> None:
    """Refuse severities that videos are tested at."""
    super().check(kind, side)
    tested = kind == "video" and {*self.severities} & {*_TESTED}
    if tested and not self.tested_severities:
      raise errors.UserError(
        f"config.recipe.severities: got {', '.join(map(str, self.severities))};"
        " videos are trained on at 1, 2, 3 and tested at 4, 5. Say"
        " --config.recipe.tested_severities=True where that is what you study: its"
        " held-out numbers leave those out too."
      )

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Return every picture or clip under a drawn name and severity."""
    clean = self.moved(images, keys)
    changed = corruption_mix.corruption_mix(
      clean,
      keys=base.stream(keys, 0),
      names=self._resolved(),
      severities=self.severities,
      edition=self.edition,
    )
    if self.probability == 1:
      return changed
    coins = jax.vmap(self._coin)(base.stream(keys, 1))
    coins = coins.reshape(-1, *[1] * (images.ndim - 1))
    return jnp.where(coins, changed, clean)

  def disclosure(self) -> dict[str, Any]:
    """Return what the recipe discloses: its conditions and severities."""
    shown = {"conditions": self._resolved(), "severities": [*self.severities]}
    return {**super().disclosure(), **shown}

  def _coin(self, words: jax.Array) -> jax.Array:
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return jax.random.bernoulli(key, self.probability)

  def _resolved(self) -> list[str]:
    """Return the single names, in the papers' order."""
    try:
      return list(conditions.PICTURES.resolve(self.names))
    except errors.UserError as of_pictures:
      try:
        return list(conditions.VIDEOS.resolve(self.names))
      except errors.UserError:
        raise of_pictures from None

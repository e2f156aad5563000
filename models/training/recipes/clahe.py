"""Cross-entropy on equalised pictures, in training and at test.

Hendrycks & Dietterich 2019, section 5.2. The function is that of the
enhancement `NAME+clahe` of the evaluator (`models/enhancements/clahe.py`): clip
limit 2 and 8 x 8 tiles on the luma, all [U].
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax

from models.enhancements import clahe
from models.training.recipes import base


@dataclasses.dataclass(frozen=True, kw_only=True)
class Clahe(base.Recipe):
  """The recipe of this file."""

  ENHANCEMENTS: ClassVar[Sequence[str]] = ("clahe",)

  def transform(self, images: jax.Array, keys: jax.Array) -> jax.Array:
    """Return the pictures cropped and mirrored, then equalised."""
    return self.test_inputs(self.moved(images, keys))

  def test_inputs(self, images: jax.Array) -> jax.Array:
    """Return the test pictures equalised."""
    return clahe.equalize(images)

  def disclosure(self) -> dict[str, Any]:
    """Return what the recipe discloses: that pictures are equalised."""
    words = "equalized by CLAHE, in training and at test"
    return {**super().disclosure(), "pictures": words}

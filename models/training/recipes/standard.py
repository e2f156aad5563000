"""Cross-entropy on pictures as they are, cropped and mirrored where that is asked."""

import dataclasses

from robust_tfds.models.training.recipes import base


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standard(base.Recipe):
  """What every other recipe is held against."""

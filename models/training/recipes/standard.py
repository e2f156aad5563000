"""Cross-entropy on pictures as they are, cropped and mirrored if configured."""

import dataclasses

from models.training.recipes import base


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standard(base.Recipe):
  """The baseline that every other recipe is compared with."""

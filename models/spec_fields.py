"""The fields of every kind of spec, as configs and flags name them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
  from models.spec import ModelSpec


def kinds() -> dict[str, "type[ModelSpec]"]:
  """Return a kind of spec that has it, by the name of every field."""
  # They load JAX.
  from models.detection.spec import DetectorSpec
  from models.segmentation.spec import SegmenterSpec
  from models.video.spec import VideoSpec

  # A VideoSpec is a Spec too.
  every = (VideoSpec, DetectorSpec, SegmenterSpec)
  return {name: kind for kind in every for name in kind.fields()}

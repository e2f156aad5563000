"""Specs of small models, for tests of adapters."""

from models.spec import Spec


def spec(side: int, classes: int = 4) -> Spec:
  """Of squares whose values a model sees in -2..2."""
  return Spec(
    input_px=side,
    resize="squash",
    resize_px=side,
    mean=(0.5,) * 3,
    std=(0.25,) * 3,
    label_space="custom",
    num_classes=classes,
  )

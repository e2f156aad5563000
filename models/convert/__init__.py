"""Published checkpoints as variables of our models, of every kind.

  variables = models.convert.load("squeezenet1_1", "squeezenet1_1.npz")
  variables = models.convert.load("slow_r50", "SLOW_8x8_R50.pyth")

  variables = models.convert.load(
      "resnet50", "torchvision:ResNet50_Weights.IMAGENET1K_V1")

reads `.npz`, `.safetensors`, `.pth`/`.pt`/`.pyth`/`.bin`, `.caffemodel` and
orbax directories, at a path or from a public source (`sources`). Every array of
the file is used exactly once, shapes are checked, and nothing in the file is
ever executed. A family's `models.family.Family` describes its files (names,
layout, a background class). `robust-tfds convert NAME FILE OUT` writes the
result as an npz of ours, with its sha256 and a report.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from robust_tfds import errors

if TYPE_CHECKING:
  from models.variables import Variables


@errors.without_traceback
def load(
  name: str,
  checkpoint: str | os.PathLike[str],
  *,
  num_classes: int | None = None,
  input_px: int | None = None,
  head: str | os.PathLike[str] | None = None,
) -> Variables:
  """Load the variables of a model from a checkpoint.

  Args:
    name: one of `models.names()`; enhancements in it make no difference.
    checkpoint: a file or an orbax directory, at a path of etils.epath or by a
      name: `https://...#sha256=...`, `hf:owner/repo[@revision][:file]`,
      `timm:name.tag`, `torchvision:Weights.NAME`, `package:module[:file]`.
    num_classes: number of logits of the checkpoint, or of its classes of
      objects; None takes that of the training whose workdir it is, else the
      published one.
    input_px: side of the model's pictures, if its variables depend on it
      (transformers); None takes the published side. Positions of another side
      are interpolated, with a warning.
    head: a second checkpoint, of a head that is published by itself (DINOv2's)
      or made from texts (CLIP's).

  Returns:
    Nested dict of float32 numpy arrays, for the model's `apply`.

  Warns:
    UserWarning: its preprocessing is not stated anywhere, or files beside it
      state another one than the model's spec.

  Raises:
    FileNotFoundError: the checkpoint does not exist.
    UserError: the model or format is unknown; the file is truncated, or a
      pickle with code in it; arrays belong to another architecture or class
      count (the message has the first that differs, with both shapes), are left
      over, or have NaN or infinite values.
    ImportError: the format needs a package that is not installed.
  """
  from models.convert import match

  loaded = match.load(
    name, checkpoint, num_classes=num_classes, input_px=input_px, head=head
  )
  match.warn(loaded)
  return loaded.variables

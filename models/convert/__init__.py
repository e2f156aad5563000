"""Published checkpoints as variables of our models, of every kind.

  variables = models.convert.load("squeezenet1_1", "squeezenet1_1.npz")
  variables = models.convert.load("slow_r50", "SLOW_8x8_R50.pyth")

  variables = models.convert.load(
      "resnet50", "torchvision:ResNet50_Weights.IMAGENET1K_V1")

reads `.npz`, `.safetensors`, `.pth`/`.pt`/`.pyth`/`.bin`, `.caffemodel` and orbax
directories, at a path or at a place of the public world (`sources`). Every
array of the file is used exactly once, shapes are checked,
and nothing of the file is ever executed. What a family's files need (names,
layout, a background class) its `models.family.Family` says. `robust-tfds
convert NAME FILE OUT` writes the result as an npz of ours, with its sha256 and a
report.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from robust_tfds import errors

if TYPE_CHECKING:
  from robust_tfds.models.variables import Variables


@errors.at_the_door
def load(
  name: str,
  checkpoint: str | os.PathLike[str],
  *,
  num_classes: int | None = None,
  input_px: int | None = None,
  head: str | os.PathLike[str] | None = None,
) -> Variables:
  """Variables of a model from a checkpoint.

  Args:
    name: one of `models.names()`; enhancements in it change nothing.
    checkpoint: a file or an orbax directory, at a path of etils.epath or by a
      name: `https://...#sha256=...`, `hf:owner/repo[@revision][:file]`,
      `timm:name.tag`, `torchvision:Weights.NAME`, `package:module[:file]`.
    num_classes: number of logits of the checkpoint, or of its classes of
      objects; if None that of the training whose workdir it is, else the
      published one.
    input_px: side of the pictures that the model is to take, where its
      variables depend on it (transformers); the published one if None.
      Positions of another side are interpolated, which is warned of.
    head: a second checkpoint, of a head that is published by itself (DINOv2's)
      or made of texts (CLIP's).

  Returns:
    Nested dict of float32 numpy arrays, for the model's `apply`.

  Warns:
    UserWarning: nothing says with which preprocessing it was trained, or files
      beside it say another one than the model's spec.

  Raises:
    FileNotFoundError: no such checkpoint.
    UserError: an unknown model or format; a truncated file; a pickle with code
      in it; arrays of another architecture or class count (the first that
      differs, with both shapes), left over, or with NaN or infinite values.
    ImportError: the format needs a package that is not installed.
  """
  from robust_tfds.models.convert import match

  loaded = match.load(
    name, checkpoint, num_classes=num_classes, input_px=input_px, head=head
  )
  match.warn(loaded)
  return loaded.variables

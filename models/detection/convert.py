"""Published checkpoints as variables of our detectors.

  variables = detection.convert.load("retinanet_resnet50_fpn", "retina.pth")

torchvision's names (before and since 0.13) fit the models without suffix,
mmdetection 2.x's those that end in `_mmdet`. Every array of the file is used
exactly once, shapes are checked, and nothing of it is executed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  import numpy as np

  from models.convert.match import Loaded
  from models.model import Variables


def load(
  name: str,
  checkpoint: str | os.PathLike,
  *,
  num_classes: int | None = None,
) -> Variables:
  """Variables of a detector from a checkpoint.

  Args:
    name: one of `models.detection.names()`.
    checkpoint: a file or an orbax directory, as `models.convert.load`.
    num_classes: classes of objects; the published number if None.

  Returns:
    Nested dict of float32 numpy arrays, for `Detector.apply`.

  Raises:
    FileNotFoundError: no such checkpoint.
    ValueError: an unknown detector or format; a file that is damaged, refused,
      or of another architecture (what differs is named).
    ImportError: the format needs a package that is not installed.
  """
  from models.convert import formats

  arrays = formats.read(checkpoint)
  return bring(
    name, arrays, num_classes=num_classes, origin=str(checkpoint)
  ).variables


def bring(
  name: str,
  arrays: Mapping[str, np.ndarray],
  *,
  num_classes: int | None = None,
  origin: str = "the checkpoint",
) -> Loaded:
  """`load`, of arrays in memory; with the account of where each one went.

  Args:
    name: one of `models.detection.names()`.
    arrays: name in the file -> array, in the file's order.
    num_classes: as in `load`.
    origin: what to call the file in errors.

  Raises:
    ValueError: as `load`.
  """
  from models import detection
  from models.convert import match

  family = detection.family(name)
  return match.bring(
    detection.get(name, num_classes),
    arrays,
    getattr(family, "CHECKPOINTS", {}),
    getattr(family, "IGNORED", ()),
    origin,
  )

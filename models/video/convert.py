"""Published checkpoints as variables of our video networks.

  variables = models.video.convert.load("slow_r50", "SLOW_8x8_R50.pyth")

Names of pytorchvideo, PySlowFast, torchvision, TimeSformer's repository and
transformers are known (each where it publishes the network). Every array of the
file is used exactly once, shapes are checked, and nothing of it is executed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  import numpy as np

  from models.convert.match import Loaded
  from models.model import Variables

# What training leaves in files: PySlowFast's split batch norms hold copies of
# statistics for parts of a batch.
_TRAINING = (r"\.split_bn\.",)


def load(
  name: str,
  checkpoint: str | os.PathLike,
  *,
  num_classes: int | None = None,
) -> Variables:
  """Variables of a network from a checkpoint.

  Args:
    name: one of `models.video.names()`.
    checkpoint: a file (`.npz`, `.safetensors`, `.pth`, `.pt`, `.pyth`,
      `.bin`), or an orbax directory.
    num_classes: number of logits of the checkpoint; the published one if None.

  Returns:
    Nested dict of float32 numpy arrays, for `VideoModel.apply`.

  Raises:
    FileNotFoundError: no such checkpoint.
    ValueError: an unknown network or format; a truncated file; a pickle with
      code in it; arrays of another architecture or class count (the first that
      differs, with both shapes), left over, or with NaN or infinite values.
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
    name: one of `models.video.names()`.
    arrays: name in the file -> array, in the file's order.
    num_classes: as in `load`.
    origin: what to call the file in errors.

  Raises:
    ValueError: as `load`.
  """
  from models import video
  from models.convert import match

  model, family = video.get(name, num_classes), video.family(name)
  regroup: Callable | None = getattr(family, "regroup", None)
  return match.bring(
    model,
    regroup(arrays) if regroup else arrays,
    getattr(family, "CHECKPOINTS", {}),
    (*_TRAINING, *getattr(family, "IGNORED", ())),
    origin,
  )

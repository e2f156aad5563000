"""The lines of metrics.csv, and the first pictures, as TensorBoard reads them.

One file of events a start, in the workdir's folder `tensorboard`. It begins with the
lines of the starts before, whose files go: a training that went back to a checkpoint
has no step twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.storage import disk, paths

FOLDER = "tensorboard"
_STEP = "step"


def check() -> None:
  """Refuses where the package is not installed that writes events.

  Raises:
    ImportError: says how it is installed.
  """
  try:
    import tensorboardX  # noqa: F401
  except ImportError as e:
    raise errors.missing_package(
      "tensorboardX", "tensorboard", "config.keep.tensorboard"
    ) from e


class Events:
  """What one start of a training writes."""

  def __init__(self, workdir: epath.Path):
    """Removes the files of earlier starts.

    Raises:
      UserError: the workdir is not on this machine.
    """
    import tensorboardX

    if not paths.is_local(workdir):
      raise errors.UserError(
        f"config.keep.tensorboard: {workdir} is no folder of this machine, where"
        " alone events are written. metrics.csv has the same numbers there."
      )
    folder = workdir / FOLDER
    with disk.writing(folder):
      folder.mkdir(parents=True, exist_ok=True)
      for file in folder.glob("events.out.tfevents.*"):
        file.unlink()
      self._writer = tensorboardX.SummaryWriter(str(folder))

  def line(self, line: Mapping[str, Any], ago: float = 0.0) -> None:
    """Writes a line of metrics.csv, of so many seconds of training ago."""
    when = time.time() - ago
    for name, value in line.items():
      if name != _STEP:
        self._writer.add_scalar(name, value, line[_STEP], when)
    self._writer.flush()

  def pictures(self, listed: Mapping[str, np.ndarray]) -> None:
    """Writes pictures that a training begins with.

    Args:
      listed: name -> uint8 `[N, H, W, 3]`, or clips `[N, T, H, W, 3]`.
    """
    for name, images in listed.items():
      rows = images.reshape(-1, *images.shape[-3:])
      self._writer.add_images(name, rows, 0, dataformats="NHWC")

  def close(self) -> None:
    """Writes what is left."""
    self._writer.close()

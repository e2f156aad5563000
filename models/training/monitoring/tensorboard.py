"""The lines of metrics.csv, and the first pictures, as TensorBoard events.

Each start writes one event file in the workdir's folder `tensorboard`. It
begins with the lines of earlier starts, whose files are removed: so a training
that went back to a checkpoint has no step twice.
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
  """Refuse if the package that writes events is not installed.

  Raises:
    ImportError: the package is missing; the message says how to install it.
  """
  try:
    import tensorboardX  # noqa: F401
  except ImportError as e:
    raise errors.missing_package_error(
      "tensorboardX", "tensorboard", "config.keep.tensorboard"
    ) from e


class Events:
  """The event file of one start of a training."""

  def __init__(self, workdir: epath.Path):
    """Remove the files of earlier starts and open a new one.

    Raises:
      UserError: the workdir is not on this machine.
    """
    import tensorboardX

    if not paths.is_local(workdir):
      raise errors.UserError(
        f"config.keep.tensorboard: {workdir} is no folder of this machine, and"
        " events are written only to local folders. metrics.csv has the same"
        " numbers there."
      )
    folder = workdir / FOLDER
    with disk.writing(folder):
      folder.mkdir(parents=True, exist_ok=True)
      for file in folder.glob("events.out.tfevents.*"):
        file.unlink()
      self._writer = tensorboardX.SummaryWriter(str(folder))

  def line(self, line: Mapping[str, Any], ago: float = 0.0) -> None:
    """Write a line of metrics.csv, dated `ago` seconds back."""
    when = time.time() - ago
    for name, value in line.items():
      if name != _STEP:
        self._writer.add_scalar(name, value, line[_STEP], when)
    self._writer.flush()

  def pictures(self, named: Mapping[str, np.ndarray]) -> None:
    """Write the pictures that a training begins with.

    Args:
      named: uint8 `[N, H, W, 3]`, or clips `[N, T, H, W, 3]`, by name.
    """
    for name, images in named.items():
      rows = images.reshape(-1, *images.shape[-3:])
      self._writer.add_images(name, rows, 0, dataformats="NHWC")

  def close(self) -> None:
    """Write pending events and close the file."""
    self._writer.close()

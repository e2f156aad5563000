"""A stream's file on disk: the answers so far, and the states of the networks.

`stream.npz` in the workdir is written every 30 seconds, so that a stopped stream
can continue. At the end it is written once more, without the states.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from etils import epath

from eval.run.ccc import models as models_lib
from robust_tfds import errors, reading
from robust_tfds.storage import disk, npz

_FILE = "stream.npz"
_SECONDS = 30.0  # of work that a kill may lose
_ACCURACY, _STATE = "accuracy", "state"  # before the number of a network


@dataclasses.dataclass
class Shown:
  """The part of a stream that networks have seen, and their accuracy on it.

  Attributes:
    accuracy: label -> share of right answers in each batch.
    sizes: pictures of each batch.
    nodes: the corruptions of each batch's first picture.
  """

  accuracy: dict[str, list[float]]
  sizes: list[int] = dataclasses.field(default_factory=list)
  nodes: list[str] = dataclasses.field(default_factory=list)

  @property
  def pictures(self) -> int:
    """The number of pictures that were shown."""
    return sum(self.sizes)


class Keeper:
  """The reader and writer of one stream's file; without a folder it does nothing."""

  def __init__(
    self,
    folder: epath.Path | None,
    facts: str,
    networks: Mapping[str, models_lib.Network],
  ):
    """Create the keeper; read nothing yet.

    Args:
      folder: the workdir; None: nothing is kept.
      facts: what the numbers depend on, in words.
      networks: those of the stream, by label.
    """
    self._path = folder / _FILE if folder else None
    self._facts, self._networks = facts, networks
    self._written = time.monotonic()

  def begin(self) -> Shown:
    """Return what an earlier start has shown, and restore the networks' states.

    Raises:
      UserError: the workdir belongs to another stream.
    """
    shown = Shown({label: [] for label in self._networks})
    if not (self._path and disk.exists(self._path)):
      return shown
    arrays = reading.npz_file(self._path)
    (before,) = arrays.get("facts", ["unknown"])
    if before != self._facts:
      raise errors.UserError(
        f"{self._path}: it holds another stream. There: {before}. Now:"
        f" {self._facts}. Name another workdir, or remove this one."
      )
    shown.sizes = arrays["sizes"].tolist()
    shown.nodes = arrays["nodes"].tolist()
    for number, (label, network) in enumerate(self._networks.items()):
      shown.accuracy[label] = arrays[f"{_ACCURACY}{number}"].tolist()
      network.restore(_part(arrays, f"{_STATE}{number}/"))
    return shown

  def keep(self, shown: Shown, *, whole: bool = False) -> None:
    """Write what was shown if the last writing is 30 seconds ago.

    Args:
      shown: everything up to now.
      whole: whether the stream is at its end.
    """
    if not self._path:
      return
    if time.monotonic() - self._written < _SECONDS and not whole:
      return
    arrays: dict[str, Any] = {
      "facts": np.array([self._facts]),
      "sizes": np.array(shown.sizes),
      "nodes": np.array(shown.nodes),
    }
    for number, (label, network) in enumerate(self._networks.items()):
      arrays[f"{_ACCURACY}{number}"] = np.array(shown.accuracy[label])
      state = {} if whole else network.state()
      arrays |= {f"{_STATE}{number}/{k}": v for k, v in state.items()}
    with disk.writing(self._path.parent):
      disk.make_folder(self._path.parent)
      disk.write_bytes(self._path, npz.archived(arrays))
    self._written = time.monotonic()


def _part(arrays: Mapping[str, Any], start: str) -> dict[str, Any]:
  return {
    name.removeprefix(start): array
    for name, array in arrays.items()
    if name.startswith(start)
  }

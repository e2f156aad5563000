"""Where the members of a tar lie, so that its headers are walked over once.

A set of 95 conditions is made from one tar, or lies in five of 750,000 members
each; walking over the headers takes seconds on a disk that is warm, and on a
network many minutes. The index of a whole, faultless archive is kept in this
process, and in a file for others: `.NAME.index.npz` beside the archive, where
that may not be written in the user's cache. It is of the archive's size and time
of change: another archive is walked over again. Small archives have no file.
"""

import array
import collections
import contextlib
import hashlib
import io
import os
import threading
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import arrays, members
from robust_tfds.storage import paths

_VERSION = 1
_WORTH = 5000  # members: below, walking takes no longer than reading the index
_KEPT = 6  # indices in memory; ImageNet-C has five archives, of 50 MB each
_HEADER = 512  # bytes before each member, at least


class Entry(NamedTuple):
  """An entry of an archive that is no folder.

  Attributes:
    name: plain, see `members.plain_name`.
    size: in bytes.
    offset: of its first byte.
    fault: why it is no plain file, in words; empty if it is one.
    raw_name: as the archive spells it; empty where it was not kept.
  """

  name: str
  size: int
  offset: int
  fault: str = ""
  raw_name: str = ""


class Index:
  """The members of an archive, in its order, in little memory."""

  def __init__(self, names: bytes, ends: np.ndarray, places: np.ndarray):
    """An index.

    Args:
      names: of all members, one after the other, UTF-8.
      ends: int64 `[N]`, where each name ends.
      places: int64 `[N, 2]`, size and offset of each member.
    """
    self.names, self.ends, self.places = names, ends, places

  def __len__(self) -> int:
    """How many members."""
    return len(self.ends)

  def entries(self) -> Iterator[Entry]:
    """All members."""
    start = 0
    for end, (size, offset) in zip(self.ends.tolist(), self.places.tolist()):
      yield Entry(self.names[start:end].decode("utf-8"), size, offset)
      start = end

  def checksum(self) -> str:
    """Of all that it holds."""
    digest = hashlib.sha256(self.names)
    digest.update(self.ends.tobytes())
    digest.update(self.places.tobytes())
    return digest.hexdigest()


_Key = tuple[str, paths.State]
_indices: collections.OrderedDict[_Key, Index] = collections.OrderedDict()
_lock = threading.Lock()


def find(archive: str, state: paths.State) -> Index | None:
  """The index of an archive in one state; None if it was not walked over yet."""
  with _lock:
    index = _indices.get((archive, state))
  if index is None:
    index = _read(archive, state)
    if index is not None:
      _keep(archive, state, index)
  return index


class Recorder:
  """Collects the entries of a walk."""

  def __init__(self, archive: str, state: paths.State):
    """Of one archive in one state."""
    self._archive, self._state = archive, state
    self._names = bytearray()
    self._ends = array.array("q")
    self._places = array.array("q")
    self._faultless = True

  def add(self, entry: Entry) -> None:
    """Notes an entry; from the first fault on none."""
    if entry.fault or not self._faultless:
      self._faultless = False
      return
    self._names += entry.name.encode("utf-8")
    self._ends.append(len(self._names))
    self._places.extend((entry.size, entry.offset))

  def save(self) -> None:
    """Keep the index; the walk has come to the archive's proper end."""
    if not self._faultless or paths.state(self._archive) != self._state:
      return
    index = Index(
      bytes(self._names),
      np.array(self._ends, np.int64),
      np.array(self._places, np.int64).reshape(-1, 2),
    )
    _keep(self._archive, self._state, index)
    if len(index) >= _WORTH:
      _write(self._archive, self._state, index)


def _keep(archive: str, state: paths.State, index: Index) -> None:
  with _lock:
    _indices[archive, state] = index
    while len(_indices) > _KEPT:
      _indices.popitem(last=False)


def _neighbour_path(archive: str) -> str:
  folder, slash, name = archive.rpartition("/")
  return f"{folder}{slash}.{name}.index.npz"


def _cache_path(archive: str) -> str:
  base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
  name = hashlib.sha256(os.fspath(paths.resolved(archive)).encode()).hexdigest()
  return os.path.join(base, "robust_tfds", "tar_indices", f"{name}.npz")


def _write(archive: str, state: paths.State, index: Index) -> None:
  """Into the first place that takes it; it is a help, and no loss where none is."""
  out = io.BytesIO()
  np.savez_compressed(
    out,
    names=np.frombuffer(index.names, np.uint8),
    ends=index.ends,
    places=index.places,
    archive=_facts(state),
    checksum=np.array(index.checksum()),
  )
  for path in (_neighbour_path(archive), _cache_path(archive)):
    with contextlib.suppress(OSError):
      paths.write_bytes(path, out.getvalue())
      return


def _facts(state: paths.State) -> np.ndarray:
  """What an index file is of; a copy of both keeps the time of change."""
  return np.array([_VERSION, state.size, state.changed[0]], np.int64)


def _read(archive: str, state: paths.State) -> Index | None:
  for path in (_neighbour_path(archive), _cache_path(archive)):
    with paths.os_errors(path):
      if not paths.parse(path).exists():
        continue
    try:
      index = _checked(path, state)
    except errors.UserError as e:
      warnings.warn(f"{e} The archive is walked over again.", stacklevel=2)
      continue
    if index is not None:
      return index
  return None


def _checked(path: str, state: paths.State) -> Index | None:
  """An index file's content; None where it is of another archive.

  Raises:
    UserError: damaged, or no index.
  """
  content = arrays.npz_file(path)
  kinds = {"names": "u", "ends": "i", "places": "i", "archive": "i"}
  if {k: a.dtype.kind for k, a in content.items()} != {
    **kinds,
    "checksum": "U",
  }:
    raise errors.UserError(f"{path}: not an index of a tar archive.")
  if not np.array_equal(content["archive"], _facts(state)):
    return None
  ends, places = content["ends"], content["places"]
  index = Index(content["names"].tobytes(), ends, places)
  if (
    index.checksum() != str(content["checksum"])
    or places.shape != (len(ends), 2)
    or not _fits(index, state.size)
  ):
    raise errors.UserError(
      f"{path}: damaged, its checksum or places are wrong."
    )
  return index


def _fits(index: Index, size: int) -> bool:
  """Whether members lie one after the other in the archive, with plain names."""
  ends = np.concatenate([[0], index.ends])
  sizes, offsets = index.places[:, 0], index.places[:, 1]
  before = np.concatenate([[0], (offsets + sizes)[:-1]])
  if (np.diff(ends) < 1).any() or ends[-1] != len(index.names):
    return False
  if (sizes < 0).any() or (offsets < before + _HEADER).any():
    return False
  if len(index) and offsets[-1] + sizes[-1] > size:
    return False
  try:
    return not any(members.name_fault(e.name) for e in index.entries())
  except UnicodeDecodeError:
    return False

"""An index of a tar's members, so that its headers are read only once.

A set of 95 conditions is made from one tar, or consists of five with 750,000
members each. Reading all headers takes seconds on a local disk, and many minutes
over a network. The index of a complete, faultless archive is kept in this process,
and for others in the file `.NAME.index.npz` next to the archive or, if that is not
writable, in the user's cache. It records the archive's size and time of change; if
either differs, the headers are read again. Small archives have no index file.
"""

import array
import collections
import contextlib
import hashlib
import io
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import arrays, members
from robust_tfds.reading.members import Entry
from robust_tfds.storage import paths

_VERSION = 1
_WORTH = 5000  # members: below, walking takes no longer than reading the index
_KEPT = 6  # indices in memory; ImageNet-C has five archives, of 50 MB each


class Index(NamedTuple):
  """The entries of an archive, in its order, in little memory.

  Attributes:
    names: the names of all entries, joined, UTF-8.
    ends: int64 `[N]`, the end of each name.
    places: int64 `[N, 2]`, size and offset of each entry.
    faulty: the first entry that is no plain file, if any is.
  """

  names: bytes
  ends: np.ndarray
  places: np.ndarray
  faulty: Entry | None = None

  def entries(self) -> Iterator[Entry]:
    """Yield all entries, the faulty one first."""
    if self.faulty:
      yield self.faulty
    start = 0
    for end, (size, offset) in zip(self.ends.tolist(), self.places.tolist()):
      yield Entry(self.names[start:end].decode("utf-8"), size, offset)
      start = end


_Key = tuple[str, paths.State]
_indices: collections.OrderedDict[_Key, Index] = collections.OrderedDict()
_lock = threading.Lock()


def find(
  archive: str, state: paths.State, walk: Callable[[], Iterable[Entry]]
) -> Index:
  """Return the index of an archive in one state.

  Args:
    walk: reads all headers; called if there is no index yet.
  """
  with _lock:
    index = _indices.get((archive, state))
  if index is None:
    index = _read(archive, state)
    if index is None:
      index = _indexed(walk())
      if len(index.ends) >= _WORTH and not index.faulty:
        _write(archive, state, index)
    with _lock:
      _indices[archive, state] = index
      while len(_indices) > _KEPT:
        _indices.popitem(last=False)
  return index


def _indexed(entries: Iterable[Entry]) -> Index:
  names, ends, places = bytearray(), array.array("q"), array.array("q")
  faulty = None
  for entry in entries:
    if entry.fault:
      faulty = faulty or entry
      continue
    names += entry.name.encode("utf-8")
    ends.append(len(names))
    places.extend((entry.size, entry.offset or 0))
  return Index(
    bytes(names),
    np.array(ends, np.int64),
    np.array(places, np.int64).reshape(-1, 2),
    faulty,
  )


def _neighbour_path(archive: str) -> str:
  folder, slash, name = archive.rpartition("/")
  return f"{folder}{slash}.{name}.index.npz"


def _cache_path(archive: str) -> str:
  base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
  name = hashlib.sha256(os.fspath(paths.resolved(archive)).encode()).hexdigest()
  return os.path.join(base, "robust_tfds", "tar_indices", f"{name}.npz")


def _write(archive: str, state: paths.State, index: Index) -> None:
  """Write the index to the first writable place, if there is one."""
  out = io.BytesIO()
  np.savez_compressed(
    out,
    names=np.frombuffer(index.names, np.uint8),
    ends=index.ends,
    places=index.places,
    archive=_facts(state),
  )
  for path in (_neighbour_path(archive), _cache_path(archive)):
    with contextlib.suppress(OSError):
      paths.write_bytes(path, out.getvalue())
      return


def _facts(state: paths.State) -> np.ndarray:
  """Return the facts of an archive that its index file records."""
  return np.array([_VERSION, state.size, state.changed[0]], np.int64)


def _read(archive: str, state: paths.State) -> Index | None:
  for path in (_neighbour_path(archive), _cache_path(archive)):
    with paths.os_errors(path):
      if not paths.parse(path).exists():
        continue
    try:
      index = _checked(path, state)
    except errors.UserError as e:
      warnings.warn(f"{e} The archive's headers are read again.", stacklevel=2)
      continue
    if index is not None:
      return index
  return None


def _checked(path: str, state: paths.State) -> Index | None:
  """Return an index file's content; None if it belongs to another archive.

  Raises:
    UserError: damaged, or no index.
  """
  content = arrays.npz_file(path)
  kinds = {"names": "u", "ends": "i", "places": "i", "archive": "i"}
  if {k: a.dtype.kind for k, a in content.items()} != kinds:
    raise errors.UserError(f"{path}: not an index of a tar archive.")
  if not np.array_equal(content["archive"], _facts(state)):
    return None
  index = Index(content["names"].tobytes(), content["ends"], content["places"])
  try:
    # Archives are unpacked under these names.
    faulty = any(members.name_fault(entry.name) for entry in index.entries())
  except (UnicodeDecodeError, ValueError, TypeError):
    faulty = True
  if faulty:
    raise errors.UserError(f"{path}: damaged index of a tar archive.")
  return index

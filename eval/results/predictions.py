"""Predictions on disk: one folder per finished cell.

A cell's folder holds `predictions.npz` (no pickles) and `provenance.json`. It is
written under a temporary name and renamed into place when whole, so a folder
that exists is done. Rows are sorted by (example_id, frame): neither the batch
size nor the number of hosts changes a byte.

Classification columns, one row per example:

  example_id  str         the example's stable id
  group_id    str         sequence, clip or anchor set; the id itself for images
  frame       int32       0 for images
  label       int32       the true class
  top5        int32 [5]   class ids, best first, ties by lower id; -1 pads models
                          of fewer than five classes
  score       float32 [5] their softmax probabilities; 0 pads

Other tasks add columns of their own (`columns` of each in `eval/tasks/`).
"""

from __future__ import annotations

import errno
import json
import os
import pathlib
import shutil
import zipfile
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from robust_tfds import errors

COLUMNS = ("example_id", "group_id", "frame", "label", "top5", "score")
_FILE = "predictions.npz"
_PROVENANCE = "provenance.json"

Columns = Mapping[str, np.ndarray]


class DiskFullError(OSError):
  """The disk is full; finished cells are untouched."""


def folder(root: pathlib.Path, *parts: str) -> pathlib.Path:
  """A cell's folder; characters that file systems dislike become `-`."""
  safe = [
    "".join(c if c.isalnum() or c in "._-+" else "-" for c in part)
    for part in parts
  ]
  return root.joinpath(*safe)


def done(cell: pathlib.Path) -> bool:
  """Whether the cell is finished."""
  return cell.is_dir()


def write_shard(
  cell: pathlib.Path, columns: Columns, index: int, count: int
) -> None:
  """Writes one host's rows under the cell's temporary name."""
  temporary = _temporary(cell)
  try:
    temporary.mkdir(parents=True, exist_ok=True)
    _save(temporary / f"shard-{index:05d}-of-{count:05d}.npz", columns)
  except OSError as e:
    raise _explained(e, cell) from e


def finish(
  cell: pathlib.Path, provenance: Mapping[str, object], count: int
) -> Columns:
  """Merges the hosts' shards, sorts the rows and renames the cell into place.

  Returns:
    The merged columns, as `read` would return them.

  Raises:
    FileNotFoundError: a host's shard is missing.
    UserError: two rows with the same (example_id, frame).
    DiskFullError: no space left; the cell stays unfinished.
  """
  temporary = _temporary(cell)
  shards = []
  for index in range(count):
    shard = temporary / f"shard-{index:05d}-of-{count:05d}.npz"
    if not shard.exists():
      raise FileNotFoundError(
        f"{shard} is missing: process {index} of {count} did not write its"
        " predictions. All hosts need the same --workdir on a shared disk."
      )
    shards.append(_load(shard))
  merged = sort({k: np.concatenate([s[k] for s in shards]) for k in shards[0]})
  try:
    _save(temporary / _FILE, merged)
    (temporary / _PROVENANCE).write_text(
      json.dumps(provenance, indent=1, sort_keys=True) + "\n", "utf-8"
    )
    for index in range(count):
      (temporary / f"shard-{index:05d}-of-{count:05d}.npz").unlink()
    os.replace(temporary, cell)
  except OSError as e:
    raise _explained(e, cell) from e
  return merged


def discard_unfinished(root: pathlib.Path) -> None:
  """Removes what a killed run left half written."""
  for temporary in root.glob("**/*.unfinished"):
    shutil.rmtree(temporary, ignore_errors=True)


def sort(columns: Columns) -> dict[str, np.ndarray]:
  """Rows in the order of (example_id, frame); duplicates are an error."""
  ids, frames = columns["example_id"], columns["frame"]
  order = np.lexsort((frames, ids))
  same = (ids[order][1:] == ids[order][:-1]) & (
    frames[order][1:] == frames[order][:-1]
  )
  if same.any():
    twice = str(ids[order][1:][same][0])
    raise errors.UserError(
      f"Example {twice!r} has more than one prediction in a cell; each"
      " (example_id, frame) must occur once."
    )
  return {k: v[order] for k, v in columns.items()}


def read(cell: pathlib.Path) -> tuple[dict[str, np.ndarray], dict]:
  """Columns and provenance of a finished cell."""
  return _load(cell / _FILE), provenance(cell)


def provenance(cell: pathlib.Path) -> dict:
  """What made a finished cell: the fields of `tasks.Cell`."""
  return json.loads((cell / _PROVENANCE).read_text("utf-8"))


def concatenate(parts: Iterable[Columns]) -> dict[str, np.ndarray]:
  """Rows of several batches, one after the other."""
  listed: Sequence[Columns] = list(parts)
  return {k: np.concatenate([p[k] for p in listed]) for k in listed[0]}


def _temporary(cell: pathlib.Path) -> pathlib.Path:
  return cell.with_name(cell.name + ".unfinished")


def _save(path: pathlib.Path, columns: Columns) -> None:
  """np.savez without the time of day, so that equal rows are equal bytes."""
  with open(path, "wb") as f:
    with zipfile.ZipFile(f, "w") as archive:
      for name, array in columns.items():
        member = zipfile.ZipInfo(f"{name}.npy")
        with archive.open(member, "w", force_zip64=True) as out:
          np.lib.format.write_array(out, array, allow_pickle=False)
    f.flush()
    os.fsync(f.fileno())


def _load(path: pathlib.Path) -> dict[str, np.ndarray]:
  with np.load(path, allow_pickle=False) as data:
    return {k: data[k] for k in data.files}


def _explained(error: OSError, cell: pathlib.Path) -> OSError:
  if error.errno not in (errno.ENOSPC, errno.EDQUOT):
    return error
  return DiskFullError(
    error.errno,
    f"The disk is full: the cell {cell} could not be written. Finished cells"
    " are untouched; free some space and run the same command again",
  )

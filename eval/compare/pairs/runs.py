"""The two RUNs of a comparison on disk."""

from __future__ import annotations

from robust_tfds import errors
from robust_tfds.eval.compare import runs as runs_lib
from robust_tfds.storage import paths


def read(first: str, second: str) -> tuple[runs_lib.Run, runs_lib.Run]:
  """Both runs; they may be the same.

  Args:
    first: a workdir or a submission, or shards of one run with commas between.
    second: the same.

  Raises:
    UserError: what cannot be read, a run without a finished cell, folders that
      are no shards of one run, runs of different tasks.
  """
  one, other = _read(first), _read(second)
  if one.task != other.task:
    raise errors.UserError(
      f"The runs are of different tasks: {first} of {one.task}, {second} of"
      f" {other.task}. Compare runs of one task."
    )
  return one, other


def _read(text: str) -> runs_lib.Run:
  whole = paths.of(text, "RUN").is_dir() or "," not in text
  folders = [text] if whole else [part for part in text.split(",") if part]
  return runs_lib.read_one(folders)

"""Submissions: a run's cells as a folder that anybody can check.

A submission is a workdir (`eval/cells/workdir.py`) of its cells, its config, its
ground truth and its table alone, and `submission.json`, which says what its data
and models are and names every other file with its size and sha256. So whatever
reads a workdir reads a submission. `docs/SUBMITTING.md` is for who makes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from etils import epath


def export(
  runs: Sequence[epath.Path],
  out: epath.Path,
  trained_on: Mapping[str, str] | None = None,
  corruptions_seen: Mapping[str, Sequence[str]] | None = None,
) -> str:
  """Writes a submission; see `eval/cells/submissions/writer.py`."""
  from robust_tfds.eval.cells.submissions import writer

  return writer.export(runs, out, trained_on or {}, corruptions_seen or {})


def check(folder: epath.Path, rerun: int = 0) -> str:
  """Checks a submission; see `eval/cells/submissions/checker.py`."""
  from robust_tfds.eval.cells.submissions import checker

  return checker.check(folder, rerun)

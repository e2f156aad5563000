"""Runs on disk, in the form that `eval.leaderboard`, `eval.compare` and
`eval.figures` take.

A RUN is a workdir of `eval.main` or `eval.score`, or a submission, which is
laid out as one. Shards of one run, with one config and no cell in two of them,
are one RUN. A folder of `eval.score` that only holds the table of workdirs
stands for these workdirs. Nothing is written, and no model or data is needed.
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath

from eval.cells.files import config_file, scored_folder
from eval.cells.workdir import ReadWorkdir
from eval.compare.boards import exclusions
from eval.compare.boards.exclusions import Exclusion
from eval.readers import base
from eval.readers.base import Run
from eval.readers.workdir import WorkdirReader
from robust_tfds import errors
from robust_tfds.storage import disk
from robust_tfds.storage import paths as paths_lib

# A config, places of its cells, and the folders that hold them.
_Group = tuple[dict[str, Any], set, list[epath.Path]]


def read(
  runs: Sequence[str], excluded: list[Exclusion] | None = None
) -> list[Run]:
  """Return runs in the order of their first folders.

  Args:
    excluded: collects the runs that are missing, cannot be read or have no
      finished cell; None: they are refused.

  Raises:
    UserError: no run, or one that is named twice; and see `excluded`; the message
      names the folder.
  """
  if not runs:
    raise errors.UserError(
      "No RUN is named: give folders of robust-tfds run or score, or submissions."
    )
  joined = _joined(_folders(runs, excluded), excluded)
  names, out = _names([group[0] for group in joined]), []
  for first, group in zip(names, joined):
    name = "+".join([first, *(folder.name for folder in group[1:])])
    folders = tuple(group)
    with exclusions.collect(excluded, name, folders=folders):
      # Models beside a run are normalised by what normalises it.
      baseline = str(ReadWorkdir(group[0]).config().get("baseline", ""))
      run = WorkdirReader().read(group, base.Options(baseline=baseline))
      out.append(dataclasses.replace(run, name=name, folders=folders))
  return out


def read_one(folders: Sequence[str]) -> Run:
  """Return the run of some folders: a folder, or the shards of one run.

  Raises:
    UserError: see `read`, or several runs.
  """
  runs = read(folders)
  if len(runs) > 1:
    listed = ", ".join(str(run.folders[0]) for run in runs)
    raise errors.UserError(
      f"Got {len(runs)} runs ({listed}), expected one: a folder, or the shards of"
      " one run (equal configs, no cell in two of them)."
    )
  return runs[0]


def read_pair(first: str, second: str) -> tuple[Run, Run]:
  """Return two runs to compare, which may be the same.

  Args:
    first: a workdir or a submission, or shards of one run separated by commas.

  Raises:
    UserError: unreadable folders, a run without a finished cell, folders that
      are no shards of one run, runs of different tasks.
  """
  one, other = _read_shards(first), _read_shards(second)
  if one.task_name != other.task_name:
    raise errors.UserError(
      f"Got runs of different tasks: {first} is {one.task_name}, {second} is"
      f" {other.task_name}. Compare runs of one task."
    )
  return one, other


def _read_shards(text: str) -> Run:
  """Return the run that a text names; a folder's name may contain commas."""
  whole = paths_lib.parse(text, "RUN").is_dir() or "," not in text
  folders = [text] if whole else [part for part in text.split(",") if part]
  return read_one(folders)


def check_outside(
  runs: Sequence[Run | Exclusion], **outs: epath.Path | None
) -> None:
  """Refuse to write into a run, or over a file.

  Args:
    runs: the runs that are read.
    **outs: flag -> folder that is written, or None.

  Raises:
    UserError: the message names the flag and the folder.
  """
  for flag, out in outs.items():
    if out is None:
      continue
    if disk.exists(out) and not out.is_dir():
      raise errors.UserError(f"--{flag}={out} is a file; name a folder.")
    for folder in (f for run in runs for f in run.folders):
      inside = pathlib.PurePath(paths_lib.resolved(out))
      if inside.is_relative_to(paths_lib.resolved(folder)):
        raise errors.UserError(
          f"--{flag}={out} lies inside the RUN {folder}, which must not change."
          " Name another folder."
        )


def _folders(
  runs: Sequence[str], excluded: list[Exclusion] | None
) -> list[epath.Path]:
  """Return the named workdirs without duplicates."""
  first: dict[str, str] = {}
  out = []
  for run in runs:
    folders: list[epath.Path] = []
    with exclusions.collect(excluded, run):
      folders = _workdirs(run)
    for folder in folders:
      key = str(paths_lib.resolved(folder))
      if key in first:
        raise errors.UserError(
          f"RUN {run}: {folder} is named twice (first as {first[key]}): name"
          " every run once."
        )
      first[key] = run
      out.append(folder)
  return out


def _workdirs(run: str) -> list[epath.Path]:
  """Return the folders of a RUN."""
  place = paths_lib.parse(run, "RUN")
  if not place.is_dir():
    raise errors.UserError(
      f"RUN {run}: there is no such folder. A RUN is a folder of robust-tfds"
      " run or score, or a submission."
    )
  if scored_folder.is_table_alone(place):
    return [epath.Path(p) for p in scored_folder.sources(place)]
  return [place]


def _joined(
  folders: Sequence[epath.Path], excluded: list[Exclusion] | None
) -> list[list[epath.Path]]:
  """Group the shards of one run: equal configs, no cell in two.

  Other programs' predictions that were scored with the run follow it.
  """
  groups: list[_Group] = []
  companions: list[_Group] = []
  for folder in folders:
    with exclusions.collect(excluded, folder.name, folders=(folder,)):
      workdir = ReadWorkdir(folder)
      config = config_file.plain(workdir.config())
      places = {cell.place for cell in workdir.cells()}
      for other, taken, group in groups:
        if not config_file.differences(config, other) and not places & taken:
          taken |= places
          group.append(folder)
          break
      else:
        target = companions if config_file.REFERENCE_KEY in config else groups
        target.append((config, places, [folder]))
  return [*_join_companions(groups, companions)]


def _join_companions(
  groups: Sequence[_Group], companions: Sequence[_Group]
) -> Iterator[list[epath.Path]]:
  """Yield every run, followed by the models that were scored with it.

  They are separate if the run is missing, or has a model with their label.
  """
  left = list(companions)
  for config, _, group in groups:
    for companion in companions:
      is_its = companion[0][config_file.REFERENCE_KEY] == config_file.mark(
        config
      )
      if is_its and not _labels(group) & _labels(companion[2]):
        group += companion[2]
        left.remove(companion)
    yield group
  yield from (group for _, _, group in left)


def _labels(folders: Sequence[epath.Path]) -> set[str]:
  """Return labels of models, in lower case like folder names are compared."""
  return {x.casefold() for f in folders for x in ReadWorkdir(f).labels()}


def _names(folders: Sequence[epath.Path]) -> list[str]:
  """Return the shortest unique ends of the paths."""
  parts = [folder.parts for folder in folders]
  length = 1
  while True:
    names = ["/".join(p[-length:]).strip("/") for p in parts]
    if len(set(names)) == len(names) or length >= max(map(len, parts)):
      return names
    length += 1

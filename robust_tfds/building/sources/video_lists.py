"""Videos that an official list names: found, checked, and made sources.

Lists differ (lines, tables, JSON: `split_lists.py`, `video_tables.py`); their
entries are handled in the same way.
"""

import dataclasses
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from etils import epath

from robust_tfds import errors
from robust_tfds.building import source, videos
from robust_tfds.storage import paths


@dataclasses.dataclass(frozen=True)
class Entry:
  """One video of a list.

  Attributes:
    where: the entry's place in its list, for errors.
    example_id: unique and stable: the file's name.
    label: class id.
    places: the file's possible places; the first that exists counts.
    extra: further features of the example.
    group_id: what the video was cut from; empty if unknown.
  """

  where: str
  example_id: str
  label: int
  places: Sequence[epath.Path]
  extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  group_id: str = ""


def sources(
  entries: Iterable[Entry], instructions: str, *, partial: bool = False
) -> list[videos.Source]:
  """Return the listed videos, in the list's order.

  Args:
    instructions: what to put where, for errors.
    partial: whether some may be missing, for sets that are no longer complete.

  Raises:
    UserError: a video that is listed twice.
    FileNotFoundError: a video is missing; with `partial`, all are.
  """
  listed: dict[str, Entry] = {}
  for entry in entries:
    if entry.example_id in listed:
      raise errors.UserError(
        f"{entry.where}: {entry.example_id!r} is listed twice."
      )
    listed[entry.example_id] = entry
  files = dict(zip(listed, _files(list(listed.values())), strict=True))
  absent = [name for name, file in files.items() if file is None]
  if absent and (not partial or len(absent) == len(listed)):
    first = ", ".join(str(listed[n].places[0]) for n in absent[:3])
    raise FileNotFoundError(
      f"{len(absent)} of {len(listed)} listed videos are absent, e.g. {first}."
      f"\n{instructions}"
    )
  return [
    videos.Source(
      name,
      listed[name].label,
      source.File("", str(file)),
      extra=listed[name].extra,
      group_id=listed[name].group_id,
    )
    for name, file in files.items()
    if file is not None
  ]


def plain(name: str) -> bool:
  """Return whether a listed file name leads to no other folder."""
  return name not in ("", "..") and pathlib.PurePath(name).name == name


def first_file(
  root: epath.Path, names: Sequence[str], instructions: str
) -> epath.Path:
  """Return the first list that exists; raise FileNotFoundError naming all of
  them.
  """
  path = next((root / n for n in names if (root / n).exists()), None)
  if path is None:
    raise FileNotFoundError(
      f"None of {', '.join(names)} is in {root}.\n{instructions}"
    )
  return path


def _files(entries: Sequence[Entry]) -> Iterator[epath.Path | None]:
  """Yield the place of each entry's video, or None."""
  there = iter(paths.exist([place for e in entries for place in e.places]))
  for entry in entries:
    places = [place for place in entry.places if next(there)]
    yield next(
      (p for p in places if not paths.is_local(p) or p.is_file()), None
    )

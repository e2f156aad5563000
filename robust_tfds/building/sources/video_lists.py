"""Videos that an official list names: found, checked, as sources.

Lists differ (lines, tables, JSON: `split_lists.py`, `video_tables.py`); what is
done with their entries is the same.
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
    places: where the file may lie; the first that exists counts.
    extra: further features of the example.
    group_id: what the video was cut from; empty where nothing is known.
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
  """The listed videos, in the list's order.

  Args:
    instructions: what to put where, for errors.
    partial: some may be missing, as of sets that are no longer to be had whole.

  Raises:
    UserError: a video that is listed twice.
    FileNotFoundError: a video is not there; with `partial`, none is.
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
  """Whether a listed file name leads to no other folder."""
  return name not in ("", "..") and pathlib.PurePath(name).name == name


def first_file(
  root: epath.Path, names: Sequence[str], instructions: str
) -> epath.Path:
  """The first list that exists; FileNotFoundError that names all of them."""
  path = next((root / n for n in names if (root / n).exists()), None)
  if path is None:
    raise FileNotFoundError(
      f"None of {', '.join(names)} is in {root}.\n{instructions}"
    )
  return path


def _files(entries: Sequence[Entry]) -> Iterator[epath.Path | None]:
  """Where each entry's video lies."""
  there = iter(paths.exist([place for e in entries for place in e.places]))
  for entry in entries:
    places = [place for place in entry.places if next(there)]
    yield next(
      (p for p in places if not paths.is_local(p) or p.is_file()), None
    )

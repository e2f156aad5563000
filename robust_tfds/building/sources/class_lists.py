"""The classes of a benchmark in label order, from a complete list.

Labels are never numbered by the classes that happen to be present: a folder
with 2 of 200 classes would shift every label. The list is the one in the
benchmark's archive, with as many names as the benchmark has classes, or one in
this folder: `kinetics400_classes.txt` and `hmdb51_classes.txt`, one name per
line.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Iterable, Mapping

from robust_tfds import errors

KINETICS400, HMDB51 = "kinetics400", "hmdb51"


@dataclasses.dataclass(frozen=True)
class Entry:
  """One class of a list.

  Attributes:
    where: its place, for messages.
    name: the class's name.
    index: its number in the list.
  """

  where: str
  name: str
  index: int


@functools.cache
def packaged(name: str) -> Mapping[str, int]:
  """Return class -> label from a packaged list: `KINETICS400` or `HMDB51`."""
  path = pathlib.Path(__file__).with_name(f"{name}_classes.txt")
  lines = path.read_text("utf-8").splitlines()
  return {line: label for label, line in enumerate(lines)}


def labels(
  entries: Iterable[Entry], source: str, count: int, *, first: int = 0
) -> dict[str, int]:
  """Return class -> label from a list in the benchmark's archive.

  Args:
    source: the list, for messages.
    count: number of the benchmark's classes.
    first: the number of the first class.

  Returns:
    Labels from 0.

  Raises:
    UserError: a duplicate class or number, a number out of range, a wrong
      count; the message begins with the list and the line.
  """
  label_of: dict[str, int] = {}
  place_of: dict[int, Entry] = {}
  for entry in entries:
    if not first <= entry.index < first + count:
      raise errors.UserError(
        f"{entry.where}: {entry.name!r} has number {entry.index}; the {count}"
        f" classes are numbered {first}..{first + count - 1}."
      )
    if entry.name in label_of:
      raise errors.UserError(f"{entry.where}: {entry.name!r} is listed twice.")
    if entry.index in place_of:
      raise errors.UserError(
        f"{entry.where}: {entry.name!r} has number {entry.index}, which is"
        f" {place_of[entry.index].name!r}."
      )
    label_of[entry.name] = entry.index - first
    place_of[entry.index] = entry
  if len(label_of) != count:
    raise errors.UserError(
      f"{source}: all {count} classes expected, got {len(label_of)}; labels are"
      " numbered by the whole list. Unpack the official archive again."
    )
  return label_of

"""The files that a data set is made from: name, size, sha256, page.

`files.tsv` lists files with a name of their own. Sizes and checksums are those
that tensorflow_datasets 4.9 checks its downloads with (for cifar10, cifar100,
coco, imagenet2012, ucf101 and voc); for other files none is published.
"""

import contextlib
import dataclasses
import functools
import os
import pathlib
import shlex
from collections.abc import Iterator, Sequence

from robust_tfds import conditions, missing
from robust_tfds.building.sources import folders

_TABLE = pathlib.Path(__file__).with_name("files.tsv")


@dataclasses.dataclass(frozen=True)
class Row:
  """A line of the table.

  Attributes:
    sets: names of the data sets that are made from it.
    file: its name.
    size: bytes; empty if unknown, like the checksum.
    sha256: its checksum.
    page: the file's address, or that of a page that links to it.
  """

  sets: str
  file: str
  size: str
  sha256: str
  page: str

  def words(self) -> str:
    """Return the line in words, with what is known."""
    size = int(self.size or 0)
    return missing.file_line(self.file, size, self.sha256, self.page)


@functools.cache
def rows() -> tuple[Row, ...]:
  """Return the whole table."""
  lines = _TABLE.read_text("utf-8").splitlines()[1:]
  return tuple(Row(*line.split("\t")) for line in lines)


def lines(name: str) -> tuple[str, ...]:
  """Return a line for each file that a set is made from."""
  return tuple(row.words() for row in _rows_of_set(name))


def _rows_of_set(name: str) -> list[Row]:
  return [row for row in rows() if name in row.sets.split(",")]


def lack(
  name: str, folder: str | os.PathLike | None, fault: str, layout: str
) -> missing.Lack:
  """Return the description of a set's files that are not in a folder.

  Args:
    folder: the manual dir; None if none is named.
    fault: what was searched, and where.
    layout: the possible layouts of the files, in words.
  """
  files = _rows_of_set(name)
  of_set, published, _ = name.partition(".published")
  by_itself = files and published  # of several archives
  what = files[0].file if by_itself else "its files"
  return missing.Lack(
    f"{of_set}: {what}",
    fault,
    lines(name),
    "" if by_itself else layout,
    _get(files, os.fspath(folder or "FOLDER")),
    () if folder else (("data.manual_dir", "FOLDER"),),
  )


def group_tar(corruption: str) -> str:
  """Return the name of ImageNet-C's archive that holds a corruption; or ''.

  Raises:
    UserError: an unknown corruption.
  """
  row = conditions.PICTURES.row(corruption)
  if row.set not in conditions.SETS["all"]:
    return ""
  return f"{row.group if row.set == 'common' else row.set}.tar"


def published(name: str, condition: conditions.Condition) -> str:
  """Return the table's name of the authors' archives of a set's condition."""
  every = f"{name}.published"
  if condition.kind != "pictures" or condition.clean:
    return every
  of_group = f"{every}.{group_tar(condition.name)}"
  return of_group if _rows_of_set(of_group) else every


@contextlib.contextmanager
def lacking(
  name: str, folder: str | os.PathLike | None, layout: str
) -> Iterator[None]:
  """Raise the standard MissingError if a source is missing.

  Args:
    folder: the manual dir; None if none is named.
    layout: how the files may lie there, in words.

  Raises:
    MissingError: for any FileNotFoundError of a source, with its first line.
  """
  try:
    yield
  except (missing.MissingError, folders.NotFetchedError):
    raise
  except FileNotFoundError as e:
    fault = str(e).partition("\n")[0]  # what follows are the instructions
    raise missing.MissingError(lack(name, folder, fault, layout)) from e


def _get(files: Sequence[Row], folder: str) -> str:
  """Return a command that downloads the files, or moves those without an
  address.
  """
  place = shlex.quote(folder)
  direct = [row for row in files if row.page.endswith(row.file)]
  commands = [
    f"curl -L --create-dirs -o {place}/{row.file} {row.page}" for row in direct
  ]
  others = " ".join(row.file for row in files if row not in direct)
  if others or not files:
    commands.append(f"mkdir -p {place} && mv {others or 'FILES'} {place}/")
  return " && ".join(commands)

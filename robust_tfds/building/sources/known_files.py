"""Which files a data set is made from: name, size, sha256, page; who lacks them.

`files.tsv` lists what has a name of its own. Sizes and sums are those that
tensorflow_datasets 4.9 compares its downloads with (its checksums of cifar10,
cifar100, coco, imagenet2012, ucf101 and voc); elsewhere none is published.
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
    size: bytes; empty where it is not known, as the sum.
    sha256: its sum.
    page: where it is to be had: its own address, or a page that leads to it.
  """

  sets: str
  file: str
  size: str
  sha256: str
  page: str

  def words(self) -> str:
    """As far as it is known."""
    size = int(self.size or 0)
    return missing.file_line(self.file, size, self.sha256, self.page)


@functools.cache
def rows() -> tuple[Row, ...]:
  """The whole table."""
  lines = _TABLE.read_text("utf-8").splitlines()[1:]
  return tuple(Row(*line.split("\t")) for line in lines)


def lines(name: str) -> tuple[str, ...]:
  """A line of each file that a set is made from, as far as it is known."""
  return tuple(row.words() for row in _of(name))


def _of(name: str) -> list[Row]:
  return [row for row in rows() if name in row.sets.split(",")]


def lack(
  name: str, folder: str | os.PathLike | None, fault: str, layout: str
) -> missing.Lack:
  """That a set's files are not in a folder.

  Args:
    folder: the manual dir; None where none is named.
    fault: what was looked for, and where.
    layout: how the files may lie there, in words.
  """
  files = _of(name)
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
  """Name of ImageNet-C's archive that holds a corruption.

  Raises:
    UserError: an unknown corruption.
  """
  row = conditions.PICTURES.row(corruption)
  return f"{row.group if row.set == 'common' else row.set}.tar"


def published(name: str, condition: conditions.Condition) -> str:
  """Return the table's name of the authors' archives of a set's condition."""
  every = f"{name}.published"
  if condition.kind != "pictures" or condition.clean:
    return every
  of_group = f"{every}.{group_tar(condition.name)}"
  return of_group if _of(of_group) else every


@contextlib.contextmanager
def lacking(
  name: str, folder: str | os.PathLike | None, layout: str
) -> Iterator[None]:
  """Says in the one form that a source is not there.

  Args:
    folder: the manual dir; None where none is named.
    layout: how the files may lie there, in words.

  Raises:
    MissingError: for any FileNotFoundError of a source, by its first line.
  """
  try:
    yield
  except (missing.MissingError, folders.NotFetchedError):
    raise
  except FileNotFoundError as e:
    fault = str(e).partition("\n")[0]  # what follows are the instructions
    raise missing.MissingError(lack(name, folder, fault, layout)) from e


def _get(files: Sequence[Row], folder: str) -> str:
  """A command that brings the files into a folder; moves what has no address."""
  place = shlex.quote(folder)
  direct = [row for row in files if row.page.endswith(row.file)]
  commands = [
    f"curl -L --create-dirs -o {place}/{row.file} {row.page}" for row in direct
  ]
  others = " ".join(row.file for row in files if row not in direct)
  if others or not files:
    commands.append(f"mkdir -p {place} && mv {others or 'FILES'} {place}/")
  return " && ".join(commands)

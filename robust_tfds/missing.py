"""The standard message for what a command needs: data, weights, frost pictures.

The form says what it is of, where was looked, the files as far as they are known
(name, size, sha256, page), and two commands: one that brings them, and the same
command again. All that a command lacks is said at once.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Lack:
  """One thing that is not here.

  Attributes:
    what: what lacks, of what: `imagenet_c: ImageNet's pictures`.
    fault: what was looked for, and where.
    files: a line each, as `file_line` writes it; none where they have no names.
    layout: how they are to lie, in words; may be empty.
    get: a command, or words, that bring them.
    options: what is given besides the second time: a key of a run's config, and
      its value; `data.manual_dir` is `manual_dir` elsewhere.
  """

  what: str
  fault: str
  files: tuple[str, ...] = ()
  layout: str = ""
  get: str = ""
  options: tuple[tuple[str, str], ...] = ()

  def lines(self) -> list[str]:
    """Return all of it but the second command."""
    return [
      f"{self.what}: not here. {self.fault}",
      *(f"  file: {file}" for file in self.files),
      *(f"  {line}" for line in self.layout.splitlines()),
      f"  1. {self.get}",
    ]


class MissingError(errors.UserError, FileNotFoundError):
  """Something is missing; the message lists all of it and how to go on.

  Attributes:
    lacks: what, at least one.
  """

  def __init__(self, *lacks: Lack, next_command: str = ""):
    """Say it for a caller in Python; commands add how they were called.

    Args:
      *lacks: what.
      next_command: the second command; default: the same, with the options.
    """
    super().__init__(words(lacks, next_command))
    self.lacks = lacks


def words(lacks: Sequence[Lack], next_command: str = "") -> str:
  """Put all that is missing into the standard message.

  Args:
    lacks: one or more missing things.
    next_command: the second command; default: the same, with the options.
  """
  lines = [line for lack in lacks for line in lack.lines()]
  return "\n".join([*lines, f"  2. {next_command or _second_command(lacks)}"])


def options(lacks: Sequence[Lack]) -> dict[str, str]:
  """Return the options that the second command needs for all of them."""
  return {key: value for lack in lacks for key, value in lack.options}


def arguments(lacks: Sequence[Lack]) -> dict[str, str]:
  """Return `options` as arguments of functions, without those of a single model.

  >>> arguments([Lack("a", "No.", options=(("data.manual_dir", "FOLDER"),))])
  {'manual_dir': 'FOLDER'}
  """
  return {
    key.rpartition(".")[2]: value
    for key, value in options(lacks).items()
    if key.count(".") == 1
  }


def _second_command(lacks: Sequence[Lack]) -> str:
  given = (f"{key}={value!r}" for key, value in arguments(lacks).items())
  return " with ".join(filter(None, ["the same again", ", ".join(given)]))


def file_line(
  name: str, size: int = 0, sha256: str = "", page: str = ""
) -> str:
  """Describe a file by what is known of it.

  >>> file_line("a.tar", 1200, "0f", "https://a.org")
  'a.tar, 1,200 bytes, sha256 0f, from https://a.org'
  """
  parts = (
    name,
    f"{size:,} bytes" if size else "",
    f"sha256 {sha256}" if sha256 else "",
    f"from {page}" if page else "",
  )
  return ", ".join(filter(None, parts))


def merged(lacks: Sequence[Lack]) -> list[Lack]:
  """Keep one of each thing, which says how many more of its kind are missing.

  >>> merged([Lack("a", "No x."), Lack("a", "No y."), Lack("b", "No z.")])[0].fault
  'No x. And 1 more like it.'
  """
  same: dict[str, list[Lack]] = {}
  for lack in lacks:
    same.setdefault(lack.what, []).append(lack)
  return [
    dataclasses.replace(
      first, fault=first.fault + f" And {len(more)} more like it." * bool(more)
    )
    for first, *more in same.values()
  ]


@contextlib.contextmanager
def collected(lacks: list[Lack] | None) -> Iterator[None]:
  """Add what is missing in a block to a list and go on; None: raise the error."""
  try:
    yield
  except MissingError as e:
    if lacks is None:
      raise
    lacks += e.lacks

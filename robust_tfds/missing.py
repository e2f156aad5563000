"""What a command needs and is not here, in one form: data, weights, frost pictures.

The form says what it is of, where was looked, the files as far as they are known
(name, size, sha256, page), and two commands: one that brings them, and the same
command again. All that a command lacks is said at once.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from robust_tfds import errors

AGAIN = "the same again"


@dataclasses.dataclass(frozen=True)
class Lack:
  """One thing that is not here.

  Attributes:
    what: what lacks, of what: `imagenet_c: ImageNet's pictures`.
    fault: what was looked for, and where.
    files: a line each, as `file_line` writes it; none where they have no names.
    layout: how they are to lie, in words; may be empty.
    get: a command, or words, that bring them.
  """

  what: str
  fault: str
  files: tuple[str, ...] = ()
  layout: str = ""
  get: str = ""

  def lines(self) -> list[str]:
    """All of it but the second command."""
    return [
      f"{self.what}: not here. {self.fault}",
      *(f"  file: {file}" for file in self.files),
      *(f"  {line}" for line in self.layout.splitlines()),
      f"  1. {self.get}",
    ]


class MissingError(errors.UserError, FileNotFoundError):
  """Something is not here; says all that lacks and how to go on.

  Attributes:
    lacks: what, at least one.
  """

  def __init__(self, *lacks: Lack):
    """Says it for a caller in Python; commands add how they were called."""
    super().__init__(words(lacks))
    self.lacks = lacks


def words(lacks: Sequence[Lack], again: str = AGAIN) -> str:
  """The one form.

  Args:
    lacks: at least one.
    again: the second command.
  """
  lines = [line for lack in lacks for line in lack.lines()]
  return "\n".join([*lines, f"  2. {again}"])


def file_line(
  name: str, size: int = 0, sha256: str = "", page: str = ""
) -> str:
  """A file as far as it is known.

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
  """One of each thing, which says how many more of its kind lack.

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
  """Adds what a block lacks to a list and goes on; None: lets it be raised."""
  try:
    yield
  except MissingError as e:
    if lacks is None:
      raise
    lacks += e.lacks

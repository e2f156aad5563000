"""Where the pages and files of a site lie, and the links between them.

index.html, definitions.html
boards/<board>.html            and <board>.csv, .corruptions.csv, .cells.csv
models/<entry>.html
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence

from robust_tfds.eval.compare.boards.board import Board, Entry
from robust_tfds.eval.site import file_names

INDEX, DEFINITIONS = "index.html", "definitions.html"


@dataclasses.dataclass(frozen=True)
class Layout:
  """The names of a site's files.

  Attributes:
    boards: all of the site.
    names: board's key -> its files' name.
    entries: entry's key -> its page's name.
  """

  boards: Sequence[Board]
  names: Mapping[str, str]
  entries: Mapping[str, str]

  @classmethod
  def of(cls, boards: Sequence[Board]) -> Layout:
    """Of all boards of a site.

    Raises:
      ValueError: two boards, or two entries of any boards, share a key.
    """
    keys = [board.key for board in boards]
    entries = [entry.key for board in boards for entry in board.entries]
    for listed in (keys, entries):
      counts = collections.Counter(listed)
      twice = sorted({key for key in listed if counts[key] > 1})
      if twice:
        raise ValueError(f"Keys that are there twice: {', '.join(twice)}.")
    return cls(boards, file_names.of_keys(keys), file_names.of_keys(entries))

  def board(self, board: Board) -> str:
    """Path of a board's page."""
    return f"boards/{self.names[board.key]}.html"

  def csv(self, board: Board, kind: str = "") -> str:
    """Path of a board's CSV file: headlines, or of `corruptions` or `cells`."""
    end = f".{kind}" if kind else ""
    return f"boards/{self.names[board.key]}{end}.csv"

  def model(self, entry: Entry) -> str:
    """Path of an entry's page."""
    return f"models/{self.entries[entry.key]}.html"


def relative(path: str, start: str) -> str:
  """A file as a page links to it.

  >>> relative("boards/a.html", "models/b.html"), relative("x.csv", "y.html")
  ('../boards/a.html', 'x.csv')
  """
  return "../" * start.count("/") + path

"""Paths of a site's pages and files, named by the keys of boards and entries.

index.html, definitions.html
boards/<board>.html            and <board>.csv, <board>.numbers.csv
models/<entry>.html
"""

import collections
import re
from collections.abc import Sequence

from eval.compare.boards.board import Board, Entry

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def check(boards: Sequence[Board]) -> None:
  """Refuse boards whose keys cannot name files.

  Raises:
    ValueError: keys of boards or of entries differ only in case or not at all, or
      have other characters than letters, digits, `-` and `_`.
  """
  entries = [entry.key for board in boards for entry in board.entries]
  for keys in ([board.key for board in boards], entries):
    counts = collections.Counter(key.lower() for key in keys)
    wrong = {k for k in keys if counts[k.lower()] > 1 or not _KEY.fullmatch(k)}
    if wrong:
      raise ValueError(
        f"Keys that are not unique or not valid: {', '.join(sorted(wrong))}."
      )


def board(of_board: Board) -> str:
  """Return the path of a board's page."""
  return f"boards/{of_board.key}.html"


def csv(of_board: Board, kind: str = "") -> str:
  """Return the path of a board's CSV of headlines, or of all `numbers`."""
  return f"boards/{of_board.key}{f'.{kind}' if kind else ''}.csv"


def model(entry: Entry) -> str:
  """Return the path of an entry's page."""
  return f"models/{entry.key}.html"

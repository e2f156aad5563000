"""Where the pages and files of a site lie; keys of boards and entries name them.

index.html, definitions.html
boards/<board>.html            and <board>.csv, .corruptions.csv, .cells.csv
models/<entry>.html
"""

import collections
import re
from collections.abc import Sequence

from eval.compare.boards.board import Board, Entry

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def check(boards: Sequence[Board]) -> None:
  """Refuses boards whose keys cannot name files.

  Raises:
    ValueError: two boards, or two entries of any boards, share a key but for its
      case; or a key has other characters than letters, digits, `-` and `_`.
  """
  entries = [entry.key for board in boards for entry in board.entries]
  for keys in ([board.key for board in boards], entries):
    counts = collections.Counter(key.lower() for key in keys)
    wrong = {k for k in keys if counts[k.lower()] > 1 or not _KEY.fullmatch(k)}
    if wrong:
      raise ValueError(
        f"Keys that are there twice or no names: {', '.join(sorted(wrong))}."
      )


def board(shown: Board) -> str:
  """Path of a board's page."""
  return f"boards/{shown.key}.html"


def csv(shown: Board, kind: str = "") -> str:
  """Path of a board's CSV file: headlines, or of `corruptions` or `cells`."""
  return f"boards/{shown.key}{f'.{kind}' if kind else ''}.csv"


def model(entry: Entry) -> str:
  """Path of an entry's page."""
  return f"models/{entry.key}.html"

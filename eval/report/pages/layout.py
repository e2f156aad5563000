"""Paths of a site's pages and files, named by the keys of boards and entries.

index.html, definitions.html
boards/<board>.html            and <board>.csv, <board>.numbers.csv
models/<entry>.html
"""

from eval.compare.boards.board import Board, Entry


def board(of_board: Board) -> str:
  """Return the path of a board's page."""
  return f"boards/{of_board.key}.html"


def csv(of_board: Board, kind: str = "") -> str:
  """Return the path of a board's CSV of headlines, or of all `numbers`."""
  return f"boards/{of_board.key}{f'.{kind}' if kind else ''}.csv"


def model(entry: Entry) -> str:
  """Return the path of an entry's page."""
  return f"models/{entry.key}.html"

"""Writes the files of a site."""

from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath

from eval.compare.boards import board as board_lib
from eval.compare.boards import tables
from eval.compare.boards.board import Board
from eval.metrics import definitions
from eval.report.pages import (
  board_page,
  entry_charts,
  index_page,
  layout,
  model_page,
  template,
)
from eval.report.pages.view import View
from eval.tables import csv_text
from robust_tfds.storage import disk


def write(
  boards: Sequence[Board], folder: epath.PathLike, excluded: Sequence[Any] = ()
) -> list[epath.Path]:
  """Write a static site about boards, which opens without a server or network.

  Args:
    boards: keys of boards, and of all entries, are unique.
    folder: created if it is missing; files of the same names are replaced.
    excluded: models on no board, as `compare/boards/exclusions.Exclusion`.

  Returns:
    The files; `index.html` is the first.

  Raises:
    DiskError: a file cannot be written.
  """
  root = epath.Path(folder)
  out = []
  for path, text in _files([View(board) for board in boards], excluded):
    target = root / path
    with disk.writing(target):
      target.parent.mkdir(parents=True, exist_ok=True)
    disk.write_text(target, text, sync=False)
    out.append(target)
  return out


def _files(
  views: Sequence[View], excluded: Sequence[Any]
) -> Iterator[tuple[str, str]]:
  """Yield (path, content) of every file."""
  yield template.INDEX, index_page.html(views, excluded)
  yield template.DEFINITIONS, definitions_page()
  for view in views:
    board = view.board
    yield layout.board(board), board_page.html(view, [v.board for v in views])
    charts = entry_charts.SeverityCharts(view)
    for entry in board.entries:
      yield layout.model(entry), model_page.html(view, entry, charts)
    yield layout.csv(board), csv_text.text(*tables.board_table(board))
    yield (
      layout.csv(board, "numbers"),
      csv_text.text(tables.NUMBERS_HEADER, tables.numbers(board)),
    )


def definitions_page() -> str:
  """Return the page of definitions: every metric of every task."""
  return template.page(
    "definitions.html",
    template.DEFINITIONS,
    title="Definitions",
    up=[("All boards", template.INDEX)],
    topics=definitions.topics(),
    states=board_lib,
  )

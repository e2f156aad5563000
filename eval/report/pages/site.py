"""All files of a site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etils import epath

from robust_tfds.eval.cells import disk
from robust_tfds.eval.compare.boards.board import Board
from robust_tfds.eval.site import (
  board_page,
  csv_files,
  definitions_page,
  index_page,
  model_page,
  page,
)
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site.view import View


def write(boards: Sequence[Board], folder: epath.PathLike) -> list[epath.Path]:
  """Writes a static site about boards, which opens without a server or network.

  Args:
    boards: what it shows; their keys differ, and those of all entries.
    folder: of the site; made where it is not there. Files of the same names are
      replaced.

  Returns:
    The files; `index.html` is the first.

  Raises:
    DiskError: a file cannot be written.
  """
  root = epath.Path(folder)
  out = []
  for path, text in _files(boards):
    target = root / path
    with disk.writing(target):
      target.parent.mkdir(parents=True, exist_ok=True)
    disk.write_text(target, text, sync=False)
    out.append(target)
  return out


def _files(boards: Sequence[Board]) -> Iterator[tuple[str, str]]:
  """(path, content) of every file."""
  layout = layout_lib.Layout.of(boards)
  views = [View(board) for board in boards]
  for one in _pages(views, layout):
    yield one.path, one.html()
  for view in views:
    yield layout.csv(view.board), csv_files.headlines(view)
    yield layout.csv(view.board, "corruptions"), csv_files.corruptions(view)
    yield layout.csv(view.board, "cells"), csv_files.cells(view)


def _pages(
  views: Sequence[View], layout: layout_lib.Layout
) -> Iterator[page.Page]:
  yield index_page.of(views, layout)
  yield definitions_page.of()
  for view in views:
    yield board_page.of(view, layout)
    for entry in view.board.entries:
      yield model_page.of(view, entry, layout)

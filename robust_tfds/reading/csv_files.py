"""Opens CSV tables with a header: each row with the line it stands on."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.reading import text as text_lib


def csv_file(
  path: str | os.PathLike,
  columns: Iterable[str] | None = None,
  *,
  unnamed: bool = False,
) -> Iterator[tuple[int, dict[str, str]]]:
  """The rows of a table, by the names of its header.

  Args:
    path: of a file in UTF-8, a header first.
    columns: that it must have (it may have more); None asks for none.
    unnamed: whether a column may have no name.

  Yields:
    The line (from 1, the header is the first) and its values by column. Empty
    lines are passed over.

  Raises:
    UserError: see `reading.text_file`; no header, a column twice, without a name
      or missing, a row of another length, a quote that is not closed.
  """
  text = text_lib.text_file(path, limit=limits.JSON_BYTES)
  lines = csv_text(text, str(path))
  _, header = next(lines, (1, []))
  named = [name for name in header if name] if unnamed else header
  check_header(path, named, columns)
  for line, row in lines:
    if len(row) != len(header):
      if not row:
        continue
      raise errors.UserError(
        f"{path}: line {line}: {len(row)} values, the header has {len(header)}"
        " columns."
      )
    yield line, dict(zip(header, row, strict=True))


def csv_text(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
  """The rows of a text of CSV, whatever their length.

  Args:
    text: all of it.
    source: what a refusal begins with, a path or `archive: member`.

  Yields:
    The line (from 1) on which a row ends, and its values; none of an empty line.

  Raises:
    UserError: a quote that is not closed, or text behind a closed one.
  """
  reader = csv.reader(io.StringIO(text, newline=""), strict=True)
  try:
    for row in reader:
      yield reader.line_num, row
  except csv.Error as e:
    raise errors.UserError(
      f"{source}: line {reader.line_num}: not CSV: {e}."
    ) from e


def check_header(
  path: str | os.PathLike,
  header: list[str],
  columns: Iterable[str] | None = None,
) -> None:
  """Refuses a header that is not one.

  Args:
    path: of the table.
    header: its names, in order.
    columns: that must be among them; None asks for none.

  Raises:
    UserError: it is empty, or a name is empty, stands twice or is missing.
  """
  if not header:
    raise errors.UserError(f"{path}: empty, expected a header of column names.")
  if "" in header:
    raise errors.UserError(
      f"{path}: line 1: column {header.index('') + 1} has no name."
    )
  for name in header:
    if header.count(name) > 1:
      raise errors.UserError(
        f"{path}: line 1: the column {name!r} stands twice."
      )
  for name in columns or ():
    if name not in header:
      raise errors.UserError(
        f"{path}: line 1: no column {name!r}. It has: {', '.join(header)}."
      )

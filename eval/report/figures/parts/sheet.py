"""Numbers of a figure or table as a CSV and as Markdown."""

import dataclasses
import math
from collections.abc import Sequence

from etils import epath

from eval.tables import csv_text, markdown
from robust_tfds.storage import disk

Cell = str | float | int | None
_MARK = "\u2020"


class Marked(float):
  """A doubtful number: the caption or the foot says why.

  In Markdown a dagger follows it; the CSV's last column names its heading.
  """


@dataclasses.dataclass(frozen=True)
class Column:
  """A heading, and how Markdown shows the cells below it.

  Attributes:
    heading: above it, in both files.
    digits: decimals of floats; None: as many as needed.
    percent: whether fractions are shown in percent.
  """

  heading: str
  digits: int | None = 1
  percent: bool = True


@dataclasses.dataclass(frozen=True)
class Sheet:
  """Lines of cells under headings; one column names the source of a line.

  Numbers in the CSV are exact: rates are fractions. Markdown shows them as papers
  print them.

  Attributes:
    columns: headings; plain text for columns of text and whole numbers.
    lines: a cell per heading; None: no number.
    caption: sentences on content and sources.
  """

  columns: Sequence[str | Column]
  lines: Sequence[Sequence[Cell]]
  caption: str = ""

  def write_csv(self, folder: epath.Path, stem: str) -> epath.Path:
    """Write `<stem>.csv`; text is safe in spreadsheets."""
    path = folder / f"{stem}.csv"
    headings, lines = self.headings, self.lines
    marks = [self._doubtful(line) for line in lines]
    if any(marks):
      headings = [*headings, "doubtful"]
      lines = [[*line, mark] for line, mark in zip(lines, marks, strict=True)]
    disk.write_text(path, csv_text.text(headings, lines))
    return path

  def write_markdown(
    self, folder: epath.Path, stem: str, title: str
  ) -> epath.Path:
    """Write `<stem>.md`: title, table, caption."""
    path = folder / f"{stem}.md"
    heads = [markdown.escape(heading) for heading in self.headings]
    lines = [
      list(map(_markdown_cell, self.columns, line)) for line in self.lines
    ]
    parts = [
      f"# {markdown.escape(title)}\n",
      markdown.table(heads, lines),
      f"\n{markdown.escape(self.caption)}\n",
    ]
    disk.write_text(path, "\n".join(parts))
    return path

  def _doubtful(self, line: Sequence[Cell]) -> str:
    """Return the headings of a line's doubtful numbers."""
    pairs = zip(self.headings, line, strict=True)
    return "; ".join(name for name, cell in pairs if isinstance(cell, Marked))

  @property
  def headings(self) -> list[str]:
    """The headings of the columns."""
    return [c if isinstance(c, str) else c.heading for c in self.columns]


def _markdown_cell(column: str | Column, cell: Cell) -> str:
  if _absent(cell):
    return "-"
  if isinstance(cell, str):
    return markdown.escape(cell)
  if isinstance(column, str):
    return str(cell)
  assert cell is not None  # it would be absent
  number = 100 * cell if column.percent else cell
  mark = _MARK if isinstance(cell, Marked) else ""
  if column.digits is None:
    return f"{number:g}{mark}"
  return f"{number:.{column.digits}f}{mark}"


def _absent(cell: Cell) -> bool:
  return cell is None or (isinstance(cell, float) and math.isnan(cell))

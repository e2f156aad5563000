"""Numbers of a figure or table as a CSV, and as Markdown."""

import dataclasses
import math
from collections.abc import Sequence

from etils import epath

from eval.tables import csv_text, markdown
from robust_tfds.storage import disk

Cell = str | float | int | None
_MARK = "\u2020"


class Marked(float):
  """A number that is doubtful: the caption or the foot says why.

  Markdown has a dagger behind it, the CSV a last column that names its heading.
  """


@dataclasses.dataclass(frozen=True)
class Column:
  """A heading, and how Markdown shows what is below it.

  Attributes:
    heading: above it, in both files.
    digits: behind the point of floats; None: as many as it takes.
    percent: whether fractions are shown in percent.
  """

  heading: str
  digits: int | None = 1
  percent: bool = True


@dataclasses.dataclass(frozen=True)
class Sheet:
  """Lines of cells under headings; one column says where a line is from.

  The CSV holds every number as it is: rates are fractions. Markdown shows them
  as papers print them.

  Attributes:
    columns: headings; plain text for columns of text and whole numbers.
    lines: a cell a heading; None where there is no number.
    caption: what it is and where it comes from, sentences.
  """

  columns: Sequence[str | Column]
  lines: Sequence[Sequence[Cell]]
  caption: str = ""

  def write_csv(self, folder: epath.Path, stem: str) -> epath.Path:
    """Writes `<stem>.csv`; text is safe in spreadsheets."""
    path = folder / f"{stem}.csv"
    headings, lines = self.headings, self.lines
    marks = [self._marked(line) for line in lines]
    if any(marks):
      headings = [*headings, "doubtful"]
      lines = [[*line, mark] for line, mark in zip(lines, marks, strict=True)]
    disk.write_text(path, csv_text.text(headings, lines))
    return path

  def write_markdown(
    self, folder: epath.Path, stem: str, title: str
  ) -> epath.Path:
    """Writes `<stem>.md`: title, table, caption."""
    path = folder / f"{stem}.md"
    heads = [markdown.escape(heading) for heading in self.headings]
    lines = [list(map(_shown, self.columns, line)) for line in self.lines]
    parts = [
      f"# {markdown.escape(title)}\n",
      markdown.table(heads, lines),
      f"\n{markdown.escape(self.caption)}\n",
    ]
    disk.write_text(path, "\n".join(parts))
    return path

  def _marked(self, line: Sequence[Cell]) -> str:
    """Headings of a line's doubtful numbers."""
    pairs = zip(self.headings, line, strict=True)
    return "; ".join(name for name, cell in pairs if isinstance(cell, Marked))

  @property
  def headings(self) -> list[str]:
    """Above the columns."""
    return [c if isinstance(c, str) else c.heading for c in self.columns]


def _shown(column: str | Column, cell: Cell) -> str:
  """A cell as Markdown."""
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

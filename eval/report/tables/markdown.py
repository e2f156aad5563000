"""Markdown that several reports write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_ESCAPES = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  **{c: f"\\{c}" for c in "\\`|_*[]~$"},
}


def escape(text: str) -> str:
  """Text that Markdown and the HTML in it leave alone, on one line."""
  text = " ".join(text.splitlines())
  return "".join(_ESCAPES.get(c, c) for c in text)


def line(cells: Sequence[str]) -> str:
  """A line of a table; the cells are Markdown already."""
  return "| " + " | ".join(cells) + " |"


def heads(cells: Sequence[str], *, numbers: bool = False) -> str:
  """The first two lines of a table.

  Args:
    cells: headings, Markdown already.
    numbers: whether all columns but the first are aligned to the right.
  """
  rule = "---:|" if numbers else "---|"
  return f"{line(cells)}\n|---|{rule * (len(cells) - 1)}"


def table(
  headings: Sequence[str],
  lines: Iterable[Sequence[str]],
  *,
  numbers: bool = False,
) -> str:
  """A table; headings and cells are Markdown already, see `heads`."""
  return "\n".join([heads(headings, numbers=numbers), *map(line, lines)])


def foot(provenance: Sequence[str]) -> str:
  """Where the numbers come from, for the end of a file."""
  return f"\n{escape('; '.join(provenance))}\n"

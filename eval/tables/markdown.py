"""Markdown that several reports write."""

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


def table(
  headings: Sequence[str], lines: Iterable[Sequence[str]], align: str = "l"
) -> str:
  """A table.

  Args:
    headings: above the columns, Markdown already.
    lines: cells, Markdown already.
    align: a letter a column, `l` or `r`; the last one is of all further columns.

  >>> print(table(["a", "b"], [["x", "1"]], "lr"))
  | a | b |
  |---|---:|
  | x | 1 |
  """
  letters = align.ljust(len(headings), align[-1])
  rule = "".join("---:|" if letter == "r" else "---|" for letter in letters)
  rows = [f"| {' | '.join(cells)} |" for cells in (headings, *lines)]
  return "\n".join([rows[0], f"|{rule}", *rows[1:]])


def foot(provenance: Sequence[str]) -> str:
  """Where the numbers come from, for the end of a file."""
  return f"\n{escape('; '.join(provenance))}\n"

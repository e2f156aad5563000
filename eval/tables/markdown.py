"""Markdown that several reports write."""

from collections.abc import Iterable, Sequence

_ESCAPES = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  **{c: f"\\{c}" for c in "\\`|_*[]~$"},
}


def escape(text: str) -> str:
  """Escape text for Markdown and the HTML in it, on one line."""
  text = " ".join(text.splitlines())
  return "".join(_ESCAPES.get(c, c) for c in text)


def table(
  headings: Sequence[str], lines: Iterable[Sequence[str]], align: str = "l"
) -> str:
  """Return a Markdown table.

  Args:
    headings: above the columns, as Markdown.
    lines: cells, as Markdown.
    align: `l` or `r` per column; the last letter holds for all further columns.

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
  """Return the provenance of the numbers, for the end of a file."""
  return f"\n{escape('; '.join(provenance))}\n"

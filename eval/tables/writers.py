"""Writes a `pivot.Table` as Markdown, LaTeX and aligned text."""

from eval.tables import markdown as markdown_lib
from eval.tables.pivot import Table

_LATEX = {
  "\\": r"\textbackslash{}",
  **{c: f"\\{c}" for c in "&%$#_{}"},
  "~": r"\textasciitilde{}",
  "^": r"\textasciicircum{}",
  "<": r"\textless{}",
  ">": r"\textgreater{}",
  "|": r"\textbar{}",
  # At the start of a line these would be arguments of the command before.
  "[": "{[}",
  "*": "{*}",
}


def markdown(table: Table) -> str:
  """Return a table as Markdown, with numbers to the right."""
  escape = markdown_lib.escape
  headings = [table.corner, *(column.heading for column in table.columns)]
  lines = [
    [escape(name), *(f"**{text}**" if best else text for text, best in line)]
    for name, line in zip(table.names, table.lines)
  ]
  return markdown_lib.table(list(map(escape, headings)), lines, "lr")


def latex(table: Table) -> str:
  """Return a `tabular` of booktabs as wide as the text, with upright headings."""
  headings = [
    f"\\rotatebox{{90}}{{{escape_latex(c.heading)}}}" for c in table.columns
  ]
  lines = [
    [escape_latex(name), *(_latex_cell(*cell) for cell in line)]
    for name, line in zip(table.names, table.lines)
  ]
  rows = [" & ".join(line) + " \\\\" for line in lines]
  return "\n".join(
    [
      "\\resizebox{\\linewidth}{!}{%",
      f"\\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
      "\\toprule",
      " & ".join([table.corner, *headings]) + " \\\\",
      "\\midrule",
      *rows,
      "\\bottomrule",
      "\\end{tabular}}",
    ]
  )


def escape_latex(text: str) -> str:
  """Escape LaTeX's special characters."""
  return "".join(_LATEX.get(c, c) for c in text)


def aligned(table: Table) -> list[str]:
  """Return lines for a screen: names to the left, numbers to the right."""
  texts = [
    [table.corner, *table.names],
    *([c.heading, *c.texts] for c in table.columns),
  ]
  widths = [max(map(len, column)) for column in texts]
  lines = [
    "  ".join(
      text.ljust(width) if i == 0 else text.rjust(width)
      for i, (text, width) in enumerate(zip(line, widths))
    ).rstrip()
    for line in zip(*texts)
  ]
  return [lines[0], "-" * len(lines[0]), *lines[1:]]


def _latex_cell(number: str, best: bool) -> str:
  number = "--" if number == "-" else number
  return f"\\textbf{{{number}}}" if best else number

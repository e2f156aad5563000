"""Comparisons as files: CSV, Markdown (also shown on the screen), and figures."""

import math
from collections.abc import Sequence
from typing import Any

from etils import epath

from eval.cells.number import Number
from eval.compare.pairs import figure
from eval.compare.pairs import lines as lines_lib
from eval.compare.pairs.lines import Comparison, Line
from eval.tables import csv_text, markdown, numbers
from robust_tfds.storage import disk

HEADER = (
  "dataset",
  "first_model",
  "second_model",
  "metric",
  "config",
  "corruption",
  "severity",
  "first",
  "second",
  "difference",
  "lo",
  "hi",
  "relative_decrease",
  "relative_decrease_lo",
  "relative_decrease_hi",
  "n",
  "test",
  "p",
  "p_holm",
  "family",
  "verdict",
  "note",
)


def write(comparisons: Sequence[Comparison], folder: epath.Path) -> str:
  """Write comparison.csv, comparison.md and the figures; return the Markdown.

  One comparison has the figure `comparison`, several `comparison_1` and so on.

  Args:
    comparisons: one or more comparisons.
    folder: the folder, made if missing.

  Raises:
    DiskError: a file could not be written.
  """
  markdown_text = text(comparisons)
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comparison.csv").write_text(csv(comparisons), "utf-8")
    (folder / "comparison.md").write_text(markdown_text, "utf-8")
    for i, comparison in enumerate(comparisons, 1):
      stem = f"comparison_{i}" if len(comparisons) > 1 else "comparison"
      figure.write(comparison, folder, stem)
  return markdown_text


def csv(comparisons: Sequence[Comparison]) -> str:
  """Return all lines of all comparisons as CSV, with numbers as in a run's table."""
  return csv_text.text(
    HEADER, [_row(c, line) for c in comparisons for line in c.lines]
  )


def _row(comparison: Comparison, line: Line) -> list[Any]:
  return [
    comparison.dataset,
    comparison.first,
    comparison.second,
    line.metric,
    line.condition.config if line.condition is not None else "",
    line.corruption,
    line.level,
    line.first,
    line.second,
    *_ends(line.difference),
    *_ends(line.decrease),
    line.n,
    line.test.kind,
    line.test.p,
    line.test.adjusted,
    line.test.family,
    line.test.verdict,
    line.note,
  ]


def _ends(number: Number) -> tuple[float | None, ...]:
  return number.value, number.lo, number.hi


def text(comparisons: Sequence[Comparison]) -> str:
  """Return Markdown with the sentences, tables and notes of each comparison."""
  return "\n".join(part for c in comparisons for part in _comparison_parts(c))


def _comparison_parts(comparison: Comparison) -> list[str]:
  escape = markdown.escape
  first, second = escape(comparison.first), escape(comparison.second)
  return [
    f"# {first} less {second}, {escape(comparison.dataset)}\n",
    *(f"{escape(sentence)}\n" for sentence in comparison.sentences),
    *_section("Whole benchmark", comparison, comparison.benchmark),
    *_section(
      f"Each {comparison.facts.noun}", comparison, comparison.corruptions
    ),
    *_section("Cells", comparison, comparison.cells),
    *(f"- {escape(note)}" for note in _notes(comparison)),
    "",
  ]


def _notes(comparison: Comparison) -> list[str]:
  metrics = [
    comparison.facts.metric(name)
    for name in dict.fromkeys(line.metric for line in comparison.lines)
  ]
  senses = {
    "higher": "More is better of",
    "lower": "Less is better of",
    "neither": "Neither more nor less is better of",
    "unknown": f"{lines_lib.UNKNOWN_SENSE.capitalize()} of",
  }
  headings: dict[str, list[str]] = {sense: [] for sense in senses}
  for metric in metrics:
    if metric.heading not in headings[metric.sense]:
      headings[metric.sense].append(metric.heading)
  return [
    *comparison.notes,
    *(
      f"{words} {', '.join(headings[sense])}."
      for sense, words in senses.items()
      if headings[sense]
    ),
    "Rates are in %, their differences in points. A relative decrease is 1 -"
    f" {comparison.first} / {comparison.second}.",
  ]


def _section(
  title: str, comparison: Comparison, lines: Sequence[Line]
) -> list[str]:
  if not lines:
    return []
  heads = [
    "number",
    markdown.escape(comparison.first),
    markdown.escape(comparison.second),
    "difference (95 %)",
    *(
      ["p", "p, Holm", "verdict"]
      if lines[0].condition is not None
      else ["relative decrease, % (95 %)"]
    ),
  ]
  return [
    f"## {title}\n",
    markdown.table(heads, [_cells(comparison, line) for line in lines], "lr"),
    "",
  ]


def _cells(comparison: Comparison, line: Line) -> list[str]:
  metric = comparison.facts.metric(line.metric)
  scale, digits = (100, 2) if metric.percent else (1, 4)
  out = [
    markdown.escape(comparison.words(line)),
    numbers.decimals(scale * line.first, digits),
    numbers.decimals(scale * line.second, digits),
    _interval(line.difference, scale, digits),
  ]
  if line.condition is None:
    return [*out, _interval(line.decrease, 100, 2)]
  test = line.test
  return [*out, _p(test.p), _p(test.adjusted), test.verdict or "no test"]


def _interval(number: Number, scale: float, digits: int) -> str:
  if number.value is None:
    return "-"

  def text(value: float) -> str:
    return f"{scale * value:+.{digits}f}"

  ends = number.lo, number.hi
  return numbers.interval_text(text, number.value, *ends, numbers.WORDS)


def _p(value: float) -> str:
  """Return a p value as text; below a millionth only this bound."""
  if math.isnan(value):
    return "-"
  return "< 1e-6" if value < 1e-6 else f"{value:.3g}"

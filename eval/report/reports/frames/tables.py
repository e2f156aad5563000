"""Tables of natural perturbations: intervals, breakdowns, the paper's models."""

from collections.abc import Sequence

from eval.cells import table
from eval.report.reports import base
from eval.tables import breakdowns, markdown, numbers, pivot
from eval.tables.context import Context

_METRICS = ("acc_orig", "acc_pmk", "drop")
_BREAKDOWNS = (
  ("class", "By class"),
  ("frame_type", "By frame type of the anchor"),
  ("without_frame_type", "Without anchors of a frame type"),
  ("fps", "By frame rate (truncated)"),
)
# Suffix of a metric, and the frames that it covers.
_REVIEWS = (
  ("", "reviewed"),
  ("/same_anchors", "all frames of the kept anchors"),
  ("/unreviewed", "all frames of all anchors"),
)
# Prefix of a line's metrics, and its name.
_LINES = (
  ("published_trend", "testbed's standard models"),
  ("paper_trend", "paper's table"),
  ("trend", "this run"),
)


class Tables(base.TextReport):
  """Models, breakdowns, the human review, and fitted lines."""

  file = "natural_perturbations.md"

  def text(self, context: Context) -> str:
    parts = [
      f"# {markdown.escape(context.dataset)}\n",
      pivot.note(context),
      "In %, with 95 % intervals: Clopper-Pearson's where a video gives one trial"
      " alone, else of draws of whole videos.\n",
      _all_models(context),
      *_breakdowns(context),
      *_review(context),
      *_lines(context),
      markdown.foot(context.provenance),
    ]
    return "\n".join(parts)


def _heads(context: Context) -> list[str]:
  return [context.facts.metric(m).heading for m in _METRICS]


def _all_models(context: Context) -> str:
  """Return a table of our models, in bold, and the printed ones by pm-0."""
  lines: list[tuple[float, list[str]]] = []
  for model in context.models:
    rows = [breakdowns.row(context, model, m) for m in _METRICS]
    cells = [f"**{markdown.escape(model)}**", *map(_interval, rows)]
    lines.append((rows[0].value if rows[0] else 0.0, cells))
  for name, (orig, perturbed, *ends) in context.networks.items():
    if ends:  # the paper's own table; the testbed's is in the figure
      cells = [
        markdown.escape(name),
        _printed(orig, *ends[:2]),
        _printed(perturbed, *ends[2:]),
        numbers.percent(orig - perturbed),
      ]
      lines.append((orig, cells))
  lines.sort(key=lambda pair: -pair[0])
  remark = ""
  if len(lines) > len(context.models):
    remark = (
      "Ours in bold; the others are the paper's (see `eval/papers`), doubtful"
      " ones recomputed where they can be (docs/evidence/PRINTED_NUMBERS.md).\n\n"
    )
  heads = ["Model", *_heads(context)]
  return remark + _table(heads, [cells for _, cells in lines])


def _breakdowns(context: Context) -> list[str]:
  """Return a section per breakdown and model."""
  parts = []
  for breakdown, title in _BREAKDOWNS:
    for model in context.models:
      lines = _breakdown(context, model, breakdown)
      if lines:
        heads = [breakdown, "n", *_heads(context)]
        parts.append(f"\n## {title}: {markdown.escape(model)}\n")
        parts.append(_table(heads, lines))
  return parts


def _breakdown(context: Context, model: str, breakdown: str) -> list[list[str]]:
  anchors = breakdowns.series(context, model, "acc_orig", breakdown)
  worst = dict(breakdowns.series(context, model, "acc_pmk", breakdown))
  lines = []
  for value, row in anchors:
    is_class = breakdown == "class"
    name = breakdowns.class_name(context, value) if is_class else value
    pair = _pair(row, worst[value])
    lines.append([markdown.escape(name), str(row.n), *pair])
  return lines


def _review(context: Context) -> list[str]:
  """Return the numbers with and without the human review (Table 4)."""
  lines = []
  for model in context.models:
    for suffix, frames in _REVIEWS:
      orig = breakdowns.row(context, model, f"acc_orig{suffix}")
      worst = breakdowns.row(context, model, f"acc_pmk{suffix}")
      if orig and worst:
        lines.append([markdown.escape(model), frames, *_pair(orig, worst)])
  if len(lines) == len(context.models):
    return []
  heads = ["Model", "Frames", *_heads(context)]
  return ["\n## What the review changed\n", _table(heads, lines)]


def _lines(context: Context) -> list[str]:
  """Return slopes and intercepts of pm-10 on pm-0."""
  lines = []
  for name, whose in _LINES:
    line = breakdowns.line(context, name)
    if line:
      slope, intercept = line
      ends = slope.lo, slope.hi
      number = numbers.interval_text(
        "{:.3f}".format, slope.value, *ends, numbers.BRACKETS
      )
      lines.append([whose, str(slope.n), number, _interval(intercept)])
  if not lines:
    return []
  heads = ["Line of", "models", "slope", "intercept"]
  return ["\n## pm-10 against pm-0\n", _table(heads, lines)]


def _pair(orig: table.Row, worst: table.Row) -> list[str]:
  drop = numbers.percent(orig.value - worst.value)
  return [_interval(orig), _interval(worst), drop]


def _interval(row: table.Row | None) -> str:
  return numbers.row_text(row, numbers.BRACKETS)


def _printed(value: float, lo: float | None, hi: float | None) -> str:
  return numbers.interval_text(numbers.percent, value, lo, hi, numbers.BRACKETS)


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
  return markdown.table(heads, lines, "lr")

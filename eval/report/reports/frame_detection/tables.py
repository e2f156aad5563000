"""Tables of detection pm-k: with Table 3's models, by class, worst frames."""

from collections.abc import Sequence

from eval.report.reports import base
from eval.tables import breakdowns, markdown, numbers, pivot
from eval.tables.context import Context

_PAIR = ("map_orig", "map_pmk")


class Tables(base.TextReport):
  """Our models and the printed ones, then classes and worst frames of ours."""

  file = "worst_frames.md"

  def text(self, context: Context) -> str:
    parts = [
      f"# {markdown.escape(context.dataset)}\n",
      pivot.note(context),
      "In %, with 95 % intervals over anchors.\n",
      _all_models(context),
      *(part for m in context.models for part in _classes(context, m)),
      "\n## Where the worst frames are\n",
      _offsets(context),
      markdown.foot(context.provenance),
    ]
    return "\n".join(parts)


def _all_models(context: Context) -> str:
  """Return a table of our models in bold, then the paper's Table 3."""
  metrics = context.facts.headlines
  lines = [
    [
      f"**{markdown.escape(model)}**",
      *(_interval(context, model, m.name) for m in metrics),
    ]
    for model in context.models
  ]
  for name, printed in context.networks.items():
    pairs = [printed[:2], printed[2:]]
    cells = [numbers.percent(x) for a, b in pairs for x in (a, b, a - b)]
    lines.append([markdown.escape(name), *cells])
  remark = ""
  if context.networks:
    remark = (
      "Ours in bold; the others are Table 3 of the paper. `other subset`: not the"
      " sets that ours are of (R-FCN's are those of 2015, `data.subset=2015`).\n\n"
    )
  return remark + _table(["Model", *(m.heading for m in metrics)], lines)


def _classes(context: Context, model: str) -> list[str]:
  anchors = breakdowns.series(context, model, "map_orig", "class")
  lines = [
    [
      markdown.escape(breakdowns.class_name(context, label)),
      str(row.n),
      *(_interval(context, model, f"{m}/class={label}") for m in _PAIR),
    ]
    for label, row in anchors
  ]
  heads = [context.facts.metric(m).heading for m in _PAIR]
  title = f"\n## By class: {markdown.escape(model)}\n"
  return [title, _table(["class", "anchors", *heads], lines)]


def _offsets(context: Context) -> str:
  """Return the share of worst frames at each offset, a column per model."""
  shares = [
    dict(breakdowns.series(context, m, "chosen", "offset"))
    for m in context.models
  ]
  offsets = dict.fromkeys(offset for share in shares for offset in share)
  lines = [
    [
      offset,
      *(numbers.row_text(s.get(offset), numbers.BRACKETS) for s in shares),
    ]
    for offset in offsets
  ]
  return _table(["offset", *map(markdown.escape, context.models)], lines)


def _interval(context: Context, model: str, metric: str) -> str:
  row = breakdowns.row(context, model, metric)
  return numbers.row_text(row, numbers.BRACKETS)


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
  return markdown.table(heads, lines, "lr")

"""Tables of detection pm-k: beside Table 3, by class, where the worst frames are."""

from collections.abc import Sequence

from eval.report.reports import base
from eval.tables import breakdowns, markdown, numbers, pivot
from eval.tables.context import Context

_PAIR = ("map_orig", "map_pmk")


class Tables(base.TextReport):
  """Models beside the printed ones, their classes, their worst frames."""

  file = "worst_frames.md"

  def text(self, context: Context) -> str:
    parts = [
      f"# {markdown.escape(context.dataset)}\n",
      pivot.note(context),
      "In %, with 95 % intervals over anchors.\n",
      _beside_published(context),
      *(part for m in context.models for part in _by_class(context, m)),
      "\n## Where the worst frames are\n",
      _offsets(context),
      markdown.foot(context.provenance),
    ]
    return "\n".join(parts)


def _beside_published(context: Context) -> str:
  """Ours in bold, then the paper's Table 3."""
  metrics = context.facts.headlines
  lines = [
    [
      f"**{markdown.escape(model)}**",
      *(_interval(context, model, m.name) for m in metrics),
    ]
    for model in context.models
  ]
  for name, printed in context.networks.items():
    of_kinds = [printed[:2], printed[2:]]
    cells = [numbers.percent(x) for a, b in of_kinds for x in (a, b, a - b)]
    lines.append([markdown.escape(name), *cells])
  remark = ""
  if context.networks:
    remark = (
      "Ours in bold; the others are Table 3 of the paper. `other subset`: not the"
      " sets that ours are of (R-FCN's are those of 2015, `data.subset=2015`).\n\n"
    )
  return remark + _table(["Model", *(m.heading for m in metrics)], lines)


def _by_class(context: Context, model: str) -> list[str]:
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
  """The share of sets at each offset from the anchor, a column a model."""
  of_models = [
    dict(breakdowns.series(context, m, "chosen", "offset"))
    for m in context.models
  ]
  offsets = dict.fromkeys(offset for of in of_models for offset in of)
  lines = [
    [
      offset,
      *(numbers.of_row(of.get(offset), numbers.BRACKETS) for of in of_models),
    ]
    for offset in offsets
  ]
  return _table(["offset", *map(markdown.escape, context.models)], lines)


def _interval(context: Context, model: str, metric: str) -> str:
  return numbers.of_row(
    breakdowns.row(context, model, metric), numbers.BRACKETS
  )


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
  return markdown.table(heads, lines, "lr")

"""Published numbers beside ours."""

from collections.abc import Mapping

from eval.report.reports import base
from eval.tables import markdown, numbers, pivot
from eval.tables.context import Context

_HEADS = ("Model", "Metric", "Published", "Ours", "Difference", "Source")


class ComparePublished(base.TextReport):
  """Published value, ours and the difference, a line per number."""

  file = "published.md"

  def text(self, context: Context) -> str:
    lines = [
      line for model in context.models for line in _lines(context, model)
    ]
    if not lines:
      return ""
    return markdown.table(_HEADS, lines, "llrrrl") + "\n"


def _lines(context: Context, model: str) -> list[list[str]]:
  printed = dict(context.published.get(model, {}))
  source = str(printed.pop("source", ""))
  lines = []
  for metric, values in printed.items():
    by_name = values if isinstance(values, Mapping) else {"": values}
    for name, number in by_name.items():
      what = f"{metric}, {name}" if name else metric
      ours = _ours(context, model, metric, name)
      lines.append(_line(model, what, float(str(number)), ours, source))
  return lines


def _ours(context: Context, model: str, metric: str, name: str) -> float:
  if name:
    return pivot.corruption_value(context, model, metric, name)
  return pivot.headline(context, model, metric)


def _line(
  model: str, what: str, printed: float, ours: float, source: str
) -> list[str]:
  texts = (numbers.percent(n) for n in (printed, ours, ours - printed))
  before = [markdown.escape(model), markdown.escape(what)]
  return [*before, *texts, markdown.escape(source)]

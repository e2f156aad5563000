"""One example under every corruption and severity."""

from collections.abc import Collection, Sequence

from eval.charts import pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import numbers, pivot
from eval.tables.context import Context
from robust_tfds import conditions

_UNFOLDED = (0, 1, 3, 5)  # severities that the page does not fold away


class Gallery(base.Pictures):
  """A line per corruption, a column per severity, with the first model's error."""

  stem = "gallery"
  caption = "One example under every corruption"
  reading = (
    "A line is a corruption, the same example at growing severity; below a picture"
    " stands its severity and the error of {model} there."
  )
  side = 1.1

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    return _lines(context, (0, *conditions.SEVERITIES))

  def folded(
    self, context: Context
  ) -> tuple[Sequence[pictures.Line], Sequence[pictures.Line]]:
    others = {0, *conditions.SEVERITIES} - {*_UNFOLDED}
    return _lines(context, _UNFOLDED), _lines(context, sorted(others))


def _lines(context: Context, levels: Collection[int]) -> list[pictures.Line]:
  """Return the samples at some levels, [] if no corruption has any."""
  shown = {level for name, level in context.samples if name} & {*levels}
  if not shown:
    return []
  return [
    pictures.Line(
      [
        pictures.Picture(
          context.samples.get((name if level else "", level)),
          caption=_caption(context, name, level),
        )
        for level in levels
        if level in shown or not level
      ],
      definitions.words(name),
    )
    for name in pivot.names(context)
  ]


def _caption(context: Context, name: str, level: int) -> str:
  """Return the level and the first model's error at it."""
  cell = {"corruption": name if level else "", "severity": level}
  row = pivot.row(context, context.models[0], metric="error", **cell)
  error = f": {numbers.percent(row.value)} %" if row else ""
  return f"{level or 'clean'}{error}"

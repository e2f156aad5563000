"""Figure 5: corruption errors of noise, of multiscale networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.report.charts import bars, style
from robust_tfds.eval.report.charts.frame import ABOVE, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, printed, sheet

_COLUMNS = ("network", "condition", "value", "lo", "hi", "source")
_METRIC = "ce"

# Condition -> its number.
Numbers = Mapping[str, Number]


class Figure5(base.Figure):
  """Bars of ResNet-50, MSDNet and Multigrid networks, and of runs."""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    rows = printed.table("hendrycks2019", "figure5")
    names = list(dict.fromkeys(row.name for row in rows))
    models = own.of(self.boards(request))
    numbers: dict[str, dict[str, Number]] = {}
    for row in rows:
      numbers.setdefault(row.label, {})[row.name] = Number(row.value)
    sources = dict.fromkeys(numbers, rows[0].source)
    for model in models:
      known = {name: model.number(_METRIC, name) for name in names}
      if any(known.values()):
        numbers[model.label] = {n: v for n, v in known.items() if v}
        sources[model.label] = model.source
    lines = [
      [label, name, number.value, number.lo, number.hi, sources[label]]
      for label, of in numbers.items()
      for name, number in of.items()
    ]
    told = [
      rows[0].source,
      own.without(models, numbers),
      own.baselines(models, "imagenet_c"),
      own.remark(models, "imagenet_c"),
    ]
    told = [words.rstrip(".") for words in told]
    return base.Drawn(
      _drawn(names, numbers), told, sheet.Sheet(_COLUMNS, lines)
    )


def _drawn(
  names: Sequence[str], numbers: Mapping[str, Numbers]
) -> style.Figure:
  series = [
    bars.Series(
      label, [style.scaled(of.get(name, Number(None))) for name in names]
    )
    for label, of in numbers.items()
  ]
  frame = Frame(
    *(6.4, 3.6), y="CE: % of the baseline's error", legend=ABOVE, entries=3
  )
  groups = bars.Groups([style.words(n) for n in names])
  return bars.draw([bars.Panel(series)], groups, frame)

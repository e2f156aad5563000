"""Figure 5: corruption errors of noise, of multiscale networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from etils import epath

from robust_tfds.eval.compare.boards.board import Number
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import bars, own, printed, sheet

_COLUMNS = ("network", "condition", "value", "lo", "hi", "source")
_METRIC = "ce"

# Condition -> its number.
Numbers = Mapping[str, Number]


class Figure5(base.PaperFigure):
  """Bars of ResNet-50, MSDNet and Multigrid networks, and of runs."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
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
    return [
      *style.save(_drawn(names, numbers), folder, self.name, told),
      sheet.Sheet(_COLUMNS, lines).write_csv(folder, self.name),
    ]


def _drawn(
  names: Sequence[str], numbers: Mapping[str, Numbers]
) -> style.Figure:
  fig = style.figure(6.4, 3.6)
  ax = style.axes(fig, 1, 1)[0, 0]
  series = [_series(label, names, of) for label, of in numbers.items()]
  bars.draw(ax, [style.words(n) for n in names], series)
  ax.set_ylabel("CE: % of the baseline's error")
  style.legend_above(fig, ax, columns=3)
  return fig


def _series(label: str, names: Sequence[str], of: Numbers) -> bars.Series:
  none = Number(math.nan)
  listed = [of.get(name, none) for name in names]
  return bars.Series(
    label,
    [100 * (n.value or 0.0) for n in listed],
    [(_percent(n.lo), _percent(n.hi)) for n in listed],
  )


def _percent(value: float | None) -> float | None:
  return None if value is None else 100 * value

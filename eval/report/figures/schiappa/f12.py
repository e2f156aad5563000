"""Figure 12: what training on perturbed data brings on UCF101-DS."""

from __future__ import annotations

from robust_tfds.eval.report.charts import bars, style
from robust_tfds.eval.report.charts.frame import ABOVE, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import printed, sheet

_COLUMNS = ("network", "training", sheet.Column("gamma_r"), "source")


class Figure12(base.PaperFigure):
  """A bar a network and training; above 1 it helped."""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    rows = printed.table("schiappa2023", "figure12")
    value = {(row.network, row.training): row.value for row in rows}
    networks = list(dict.fromkeys(row.network for row in rows))
    trainings = dict.fromkeys(row.training for row in rows)
    series = [
      bars.Series(
        f"trained on {t}", [style.Value(value[n, t]) for n in networks]
      )
      for t in trainings
    ]
    words = "gamma_r: above 1, training on it helped"
    fig = bars.draw(
      [bars.Panel(series, line=1)],
      bars.Groups(networks),
      Frame(7, 3.8, y=words, legend=ABOVE),
    )
    lines: list[list[sheet.Cell]] = [
      [r.network, r.training, r.value, r.source] for r in rows
    ]
    foot = [
      printed.source_of(rows),
      "gamma_r = 2 - accuracy trained clean / accuracy trained perturbed",
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, lines))

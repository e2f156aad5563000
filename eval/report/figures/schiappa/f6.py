"""Figure 6: from scratch against pretrained, by kind of perturbation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.papers import derived
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import bars, gammas, printed, sheet

_MEASURE = "gamma_r"
_TRAININGS = (("scratch", "from scratch"), ("kinetics400", "pretrained"))
_SETS = ("ucf101_p", "hmdb51_p")
_COLUMNS = (
  *("dataset", "network", "training", "kind", "measure"),
  *(sheet.Column("mean"), "source"),
)
_WORDS = "the paper prints no numbers: these are means of the printed lines"


class Figure6(base.PaperFigure):
  """Means over spatial, spatio-temporal and temporal perturbations."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    kinds = list(derived.FIGURE_6)
    fig = style.figure(10, 5)
    grid = style.axes(fig, 2, 3, sharey=True)
    lines: list[list[sheet.Cell]] = []
    sources = []
    for axes, dataset in zip(grid, _SETS):
      rows = gammas.printed_rows(dataset)
      sources.append(printed.source_of(rows))
      means = derived.groups(derived.TABLES[dataset])
      networks = list(dict.fromkeys(row.network for row in rows))
      for ax, kind in zip(axes, kinds):
        series = [
          bars.Series(words, [_mean(means, n, t, kind) for n in networks])
          for t, words in _TRAININGS
        ]
        bars.draw(ax, networks, series)
        ax.set_title(f"{gammas.NAMES[dataset]}, {kind}", loc="left", fontsize=9)
      axes[0].set_ylabel("relative robustness gamma_r")
      for label, measures in means.items():
        network, _, training = label.partition(", ")
        for measure, of_kind in measures.items():
          for kind, value in of_kind.items():
            texts = [dataset, network, training, kind, measure]
            lines.append([*texts, value, f"mean of lines of {sources[-1]}"])
    style.legend_above(fig, ax)
    return [
      *style.save(fig, folder, self.name, [*sources, _WORDS]),
      sheet.Sheet(_COLUMNS, lines).write_csv(folder, self.name),
    ]


def _mean(means: dict, network: str, training: str, kind: str) -> float:
  measures = means.get(f"{network}, {training}", {})
  return measures.get(_MEASURE, {}).get(kind, math.nan)

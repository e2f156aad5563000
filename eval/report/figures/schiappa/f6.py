"""Figure 6: from scratch against pretrained, by kind of perturbation."""

import math

from robust_tfds.eval.papers import derived, doubt
from robust_tfds.eval.report.charts import bars, style
from robust_tfds.eval.report.charts.frame import ABOVE, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import gammas, printed, sheet

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

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    kinds = list(derived.FIGURE_6)
    panels, sources, doubts = [], [], []
    rows: list[list[sheet.Cell]] = []
    for dataset in _SETS:
      printed_rows = gammas.printed_rows(dataset)
      sources.append(printed.source_of(printed_rows))
      doubtful = [r for r in printed_rows if r.marked and r.name]
      marked = {(r.label, r.metric, derived.in_group(r.name)) for r in doubtful}
      doubts.append(doubt.sentences(doubtful))
      doubts.append(derived.contradictions(dataset))
      means = derived.groups(derived.TABLES[dataset])
      networks = list(dict.fromkeys(row.network for row in printed_rows))
      for kind in kinds:
        series = [
          bars.Series(words, [_mean(means, n, t, kind) for n in networks])
          for t, words in _TRAININGS
        ]
        title = f"{gammas.NAMES[dataset]}, {kind}"
        panels.append(bars.Panel(series, title=title))
      for label, measures in means.items():
        network, _, training = label.partition(", ")
        for measure, of_kind in measures.items():
          for kind, value in of_kind.items():
            texts = [dataset, network, training, kind, measure]
            if (label, measure, kind) in marked:
              value = sheet.Marked(value)
            rows.append([*texts, value, f"mean of lines of {sources[-1]}"])
    frame = Frame(
      *(10, 5, len(kinds)),
      y="relative robustness gamma_r",
      legend=ABOVE,
      share="y",
    )
    fig = bars.draw(panels, bars.Groups(networks), frame)
    foot = [*sources, _WORDS, *doubts]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, rows))


def _mean(means: dict, network: str, training: str, kind: str) -> style.Value:
  measures = means.get(f"{network}, {training}", {})
  return style.Value(measures.get(_MEASURE, {}).get(kind, math.nan))

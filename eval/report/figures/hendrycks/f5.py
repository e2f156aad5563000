"""Figure 5: corruption errors of noise, of multiscale networks."""

from eval.cells.number import Number
from eval.charts import bars
from eval.metrics import definitions
from eval.report.figures import base
from eval.report.figures.parts import networks, own, printed, sheet
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_DATASET = "imagenet_c"
_COLUMNS = ("network", "condition", "value", "lo", "hi", "source")


class Figure5(base.PaperFigure):
  """Bars of ResNet-50, MSDNet and Multigrid networks, and of runs."""

  printed_sets = (_DATASET,)

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = printed.table("hendrycks2019", "figure5")
    models = own.from_boards(self.boards(request))
    listed = networks.printed(rows)
    keys = list(listed[0].numbers)
    listed = [*request.if_printed(listed), *networks.from_runs(models, keys)]
    series = [
      bars.Series(
        n.label, [style.scaled(n.numbers.get(k, Number(None))) for k in keys]
      )
      for n in listed
    ]
    words = "CE: % of the baseline's error"
    fig = bars.draw(
      [bars.Panel(series)],
      bars.Groups([definitions.words(name) for _, name in keys]),
      Frame(6.4, 3.6, y=words, legend=ABOVE, entries=3),
    )
    notes = [
      printed.source_of(request.if_printed(rows)),
      own.missing_numbers(models, [n.label for n in listed]),
      own.baselines(models, *request.if_printed([_DATASET])),
      own.comparability(models, _DATASET),
    ]
    lines = [[x, *rest] for n in listed for x, _, *rest in n.lines()]
    foot = [words.rstrip(".") for words in notes]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, lines))

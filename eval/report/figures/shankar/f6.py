"""Figure 6: each model's own worst frame, and one for all models."""

from eval.cells import table
from eval.charts import spans
from eval.report.figures import base
from eval.report.figures.parts import own, redrawn
from robust_tfds import errors
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_POINTS = {
  "acc_orig": "pm-0: the anchor",
  "acc_pmk": "pm-10: every frame",
  "acc_static_worst": "the frame that most models miss",
}


class Figure6(base.PaperFigure):
  """A line per model with its three accuracies (Appendix C)."""

  def drawn(self, request: base.Request) -> base.Drawn:
    boards = self.boards(request)
    models = [
      m for m in own.from_boards(boards) if m.number("acc_static_worst")
    ]
    if not models:
      raise errors.UserError(
        f"{self.name}: a worst frame for all models needs a run with two models"
        " or more (config.models); these runs have one each."
      )
    models.sort(key=lambda m: m.value("acc_pmk") or 0.0)
    series = {
      words: [style.scaled(n) for m in models if (n := m.number(metric))]
      for metric, words in _POINTS.items()
    }
    panel = spans.Panel([m.label for m in models], series, joined=False)
    frame = Frame(
      *(6.5, 1.2 + 0.5 * len(models)),
      x="accuracy (%), with 95 % intervals",
      legend=ABOVE,
      entries=3,
    )
    fig = spans.draw([panel], frame)
    words = [f"the models of one run are the pool; runs: {own.runs(models)}"]
    lines = redrawn.numbers(models, _takes)
    return base.Drawn(fig, words, redrawn.numbers_sheet(lines))


def _takes(row: table.Row) -> bool:
  return not row.config and row.metric in _POINTS

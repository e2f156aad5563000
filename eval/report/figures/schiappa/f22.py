"""Figure 22: which classes a condition hurts."""

from collections.abc import Mapping, Sequence

import numpy as np

from eval.charts import spans
from eval.metrics import definitions
from eval.report.figures import base
from eval.report.figures.parts import (
  confusions,
  own,
  redrawn,
  sheet,
)
from robust_tfds import errors
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_MAX_CLASSES = 30  # classes of a panel: those that lose the most
_COLUMNS = (
  *("model", "condition", "class", "videos", sheet.Column("clean accuracy")),
  *(sheet.Column("accuracy"), sheet.Column("lost"), "source"),
)


class Figure22(base.PaperFigure):
  """Accuracy of each class, clean and under a condition, a panel per model."""

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    context = redrawn.context(request, models)
    names = list(context.class_names)
    panels = {}
    for model in models:
      pairs = confusions.model_pairs(request, model)
      name = request.condition or confusions.lowest(pairs)
      if (model.label, "", 0) not in pairs or not name:
        raise errors.UserError(
          f"{self.name}: {model.label} has no clean and perturbed cells."
        )
      clean = pairs[model.label, "", 0]
      after = pairs[model.label, *confusions.chosen(pairs, name)]
      panels[model.label] = (
        name,
        _class_accuracies(clean),
        _class_accuracies(after),
      )
    most = max(min(_MAX_CLASSES, len(clean)) for _, clean, _ in panels.values())
    frame = Frame(
      *(1.6 + 3.2 * len(panels), 1.0 + 0.24 * max(most, 4)),
      x="accuracy (%)",
      x_ends=(-3, 103),
      legend=ABOVE,
      share="x",
    )
    drawn = [_panel(label, *parts, names) for label, parts in panels.items()]
    fig = spans.draw(drawn, frame)
    sources = {m.label: m.source for m in models}
    lines: list[list[sheet.Cell]] = [
      [
        *(label, name, confusions.class_name(c, names), n),
        *(x, after[c][0], x - after[c][0]),
        sources[label],
      ]
      for label, (name, clean, after) in panels.items()
      for c, (x, n) in clean.items()
    ]
    return base.Drawn(fig, context.provenance, sheet.Sheet(_COLUMNS, lines))


def _class_accuracies(pairs: np.ndarray) -> dict[int, tuple[float, int]]:
  """Return class -> (accuracy, number of videos)."""
  out = {}
  for c in np.unique(pairs[:, 0]).tolist():
    class_pairs = pairs[pairs[:, 0] == c]
    out[c] = float((class_pairs[:, 1] == c).mean()), len(class_pairs)
  return out


def _panel(
  label: str,
  condition: str,
  clean: Mapping[int, tuple[float, int]],
  after: Mapping[int, tuple[float, int]],
  names: Sequence[str],
) -> spans.Panel:
  """Return a panel with a line per class, from perturbed to clean accuracy."""
  order = sorted(clean, key=lambda c: clean[c][0] - after[c][0])[-_MAX_CLASSES:]
  series = {
    words: [style.Value(100 * values[c][0]) for c in order]
    for words, values in (("clean", clean), ("under the condition", after))
  }
  classes = [confusions.class_name(c, names) for c in order]
  title = f"{label}: {definitions.words(condition)}"
  return spans.Panel(classes, series, title=title)

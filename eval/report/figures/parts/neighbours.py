"""t-SNE of features of chosen classes, with their k-NN purity beside it."""

from collections.abc import Sequence

import numpy as np

from eval.cells.files import features
from eval.charts import scatter
from eval.metrics import purity
from eval.report.figures import base
from eval.report.figures.parts import sheet
from robust_tfds import errors
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_CLASSES, _NEIGHBOURS, _SEED = 10, 10, 0
# The perplexity is scikit-learn's default, lower for few examples.
_PERPLEXITY, _MIN_EXAMPLES = 30, 5
_COLUMNS = (
  *("model", "condition", "layer", "example_id", "class"),
  *(sheet.Column("x"), sheet.Column("y")),
  *(sheet.Column("purity"), sheet.Column("purity of the picture"), "source"),
)


class Neighbours(base.PaperFigure):
  """A panel per model and condition, with one embedding per model."""

  def drawn(self, request: base.Request) -> base.Drawn:
    (folder,) = self.folders(request)
    by_model: dict[tuple[str, str], list[features.Features]] = {}
    for sample in features.read(folder):
      chosen = _select_classes(sample, request.classes)
      by_model.setdefault((sample.run, sample.model), []).append(chosen)
    panels: list[scatter.Panel] = []
    rows: list[list[sheet.Cell]] = []
    for listed in by_model.values():
      layer = list(listed[0].layers)[-1]
      for sample, places in zip(listed, _embedded(listed, layer)):
        pure = _purity(sample, sample.layers[layer]), _purity(sample, places)
        panels.append(_panel(sample, layer, places, pure[0]))
        rows += [
          [
            f"{sample.model} ({sample.run})",
            sample.condition,
            layer,
            name,
            of,
            *xy,
            *pure,
            str(folder),
          ]
          for name, of, xy in zip(
            sample.example_id, _names(sample), places.tolist()
          )
        ]
    columns = max(map(len, by_model.values()))
    size = 1 + 3.2 * columns, 0.6 + 3.2 * len(by_model)
    fig = scatter.draw(panels, Frame(*size, columns, legend=ABOVE, share=""))
    foot = [
      f"t-SNE (scikit-learn's, seed {_SEED}) of the deepest layer kept, of a model's"
      f" conditions together; purity: the share of the {_NEIGHBOURS} nearest"
      " examples in the layer's own space that are of the same class"
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, rows))


def _select_classes(
  sample: features.Features, classes: Sequence[str]
) -> features.Features:
  """Return the examples of chosen classes, by default of the first ones."""
  names = _names(sample)
  known = list(dict.fromkeys(n for _, n in sorted(zip(sample.label, names))))
  for name in classes:
    if name not in known:
      raise errors.unknown_error(f"class of {sample.title}", name, known)
  chosen = np.isin(names, list(classes or known[:_CLASSES]))
  if chosen.sum() < _MIN_EXAMPLES:
    raise errors.UserError(
      f"{sample.title}: {int(chosen.sum())} examples of the chosen classes, expected"
      f" {_MIN_EXAMPLES} or more."
    )
  return sample.select(sample.example_id[chosen])


def _names(sample: features.Features) -> list[str]:
  """Return the class of every example, by name if it is known."""
  return [
    sample.classes[i] if i < len(sample.classes) else f"class {i}"
    for i in sample.label.tolist()
  ]


def _embedded(
  conditions: Sequence[features.Features], layer: str
) -> list[np.ndarray]:
  """Return the places in the plane, `[N, 2]` for each."""
  from sklearn import manifold

  whole = np.concatenate([sample.layers[layer] for sample in conditions])
  perplexity = min(_PERPLEXITY, (len(whole) - 1) / 3)
  embedding = manifold.TSNE(
    perplexity=perplexity, init="pca", random_state=_SEED
  )
  places = embedding.fit_transform(whole)
  ends = np.cumsum([len(sample.label) for sample in conditions])[:-1]
  return np.split(places, ends)


def _purity(sample: features.Features, places: np.ndarray) -> float:
  return purity.knn(places, sample.label, _NEIGHBOURS)


def _panel(
  sample: features.Features, layer: str, places: np.ndarray, pure: float
) -> scatter.Panel:
  names = _names(sample)
  index = {name: i for i, name in enumerate(sorted(set(names)))}
  points = [
    scatter.Point(
      style.Value(x), style.Value(y), index[class_name], class_name, area=8
    )
    for class_name, (x, y) in sorted(zip(names, places.tolist()))
  ]
  return scatter.Panel(
    points, title=f"{sample.title}\n{layer}, purity {pure:.2f}"
  )

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
_PERPLEXITY, _LEAST = 30, 5  # scikit-learn's own; less where examples are few
_COLUMNS = (
  *("model", "condition", "layer", "example_id", "class"),
  *(sheet.Column("x"), sheet.Column("y")),
  *(sheet.Column("purity"), sheet.Column("purity of the picture"), "source"),
)


class Neighbours(base.PaperFigure):
  """A panel a model and condition; all conditions of a model in one embedding."""

  def drawn(self, request: base.Request) -> base.Drawn:
    (folder,) = self.folders(request)
    by_model: dict[tuple[str, str], list[features.Features]] = {}
    for one in features.read(folder):
      chosen = _of_classes(one, request.classes)
      by_model.setdefault((one.run, one.model), []).append(chosen)
    panels: list[scatter.Panel] = []
    rows: list[list[sheet.Cell]] = []
    for listed in by_model.values():
      layer = list(listed[0].layers)[-1]
      for one, places in zip(listed, _embedded(listed, layer)):
        pure = _purity(one, one.layers[layer]), _purity(one, places)
        panels.append(_panel(one, layer, places, pure[0]))
        rows += [
          [
            f"{one.model} ({one.run})",
            one.condition,
            layer,
            name,
            of,
            *xy,
            *pure,
            str(folder),
          ]
          for name, of, xy in zip(one.example_id, _names(one), places.tolist())
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


def _of_classes(
  one: features.Features, wanted: Sequence[str]
) -> features.Features:
  """The examples of chosen classes, by default of the first ones."""
  names = _names(one)
  known = list(dict.fromkeys(n for _, n in sorted(zip(one.label, names))))
  for name in wanted:
    if name not in known:
      raise errors.unknown_error(f"class of {one.title}", name, known)
  shown = np.isin(names, list(wanted or known[:_CLASSES]))
  if shown.sum() < _LEAST:
    raise errors.UserError(
      f"{one.title}: {int(shown.sum())} examples of the chosen classes, expected"
      f" {_LEAST} or more."
    )
  return one.of(one.example_id[shown])


def _names(one: features.Features) -> list[str]:
  """The class of every example, in words where they are known."""
  return [
    one.classes[i] if i < len(one.classes) else f"class {i}"
    for i in one.label.tolist()
  ]


def _embedded(
  listed: Sequence[features.Features], layer: str
) -> list[np.ndarray]:
  """Places in the plane `[N, 2]` of each."""
  from sklearn import manifold

  whole = np.concatenate([one.layers[layer] for one in listed])
  perplexity = min(_PERPLEXITY, (len(whole) - 1) / 3)
  embedding = manifold.TSNE(
    perplexity=perplexity, init="pca", random_state=_SEED
  )
  places = embedding.fit_transform(whole)
  ends = np.cumsum([len(one.label) for one in listed])[:-1]
  return np.split(places, ends)


def _purity(one: features.Features, places: np.ndarray) -> float:
  return purity.knn(places, one.label, _NEIGHBOURS)


def _panel(
  one: features.Features, layer: str, places: np.ndarray, pure: float
) -> scatter.Panel:
  """Points by class."""
  names = _names(one)
  index = {name: i for i, name in enumerate(sorted(set(names)))}
  points = [
    scatter.Point(style.Value(x), style.Value(y), index[of], of, area=8)
    for of, (x, y) in sorted(zip(names, places.tolist()))
  ]
  return scatter.Panel(points, title=f"{one.title}\n{layer}, purity {pure:.2f}")

"""Figure 9, right: minibatch CKA between layers of two models or two conditions."""

import itertools
from collections.abc import Iterable

import numpy as np

from eval.cells.files import features
from eval.charts import heat_map
from eval.metrics import cka
from eval.report.figures import base
from eval.report.figures.parts import sheet
from robust_tfds import errors

_BATCH, _LEAST, _SEED = 256, 4, 0  # the paper does not say its batches
_COLUMNS = (
  *("first", "layer", "second", "other layer", sheet.Column("cka")),
  *("examples", "source"),
)


class Figure9(base.PaperFigure):
  """A map for two models under a condition, or two conditions of a model.

  The diagonal of a map is the paper's curve.
  """

  def drawn(self, request: base.Request) -> base.Drawn:
    (folder,) = self.folders(request)
    maps: list[heat_map.Map] = []
    rows: list[list[sheet.Cell]] = []
    for a, b in _pairs(features.read(folder)):
      values, count = _between(a, b)
      maps.append(
        heat_map.Map(
          values, "", list(a.layers), list(b.layers), a.title, b.title
        )
      )
      rows += [
        [a.title, x, b.title, y, float(values[i, j]), count, str(folder)]
        for i, x in enumerate(a.layers)
        for j, y in enumerate(b.layers)
      ]
    if not maps:
      raise errors.UserError(
        f"{folder}: features of one model under one condition, expected two models"
        " or two conditions: robust-tfds features RUN RUN, or --conditions."
      )
    lines = [maps[i : i + 3] for i in range(0, len(maps), 3)]
    size = 1 + 3.6 * min(len(maps), 3), 3.4 * len(lines)
    fig = heat_map.draw(lines, size, "CKA", most=1, digits=2)
    foot = [
      f"linear CKA, unbiased HSIC over batches of {_BATCH} examples, drawn in a"
      " seeded order"
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, rows))


def _pairs(
  samples: Iterable[features.Features],
) -> list[tuple[features.Features, features.Features]]:
  """Return pairs of models under a condition, and of `clean` and another one."""
  out = []
  for a, b in itertools.combinations(samples, 2):
    same_model = (a.run, a.model) == (b.run, b.model)
    if a.condition == b.condition or same_model and a.condition == "clean":
      out.append((a, b))
  return out


def _between(
  a: features.Features, b: features.Features
) -> tuple[np.ndarray, int]:
  """Return CKA `[layers of a, layers of b]` and the number of examples."""
  common = np.intersect1d(a.example_id, b.example_id)
  if len(common) < _LEAST:
    raise errors.UserError(
      f"{a.title} and {b.title} have {len(common)} examples in common, expected"
      f" {_LEAST} or more: the same set, split and limit."
    )
  common = np.random.default_rng(_SEED).permutation(common)
  a, b = a.select(common), b.select(common)
  cuts = np.array_split(np.arange(len(common)), -(-len(common) // _BATCH))
  values = [
    [
      cka.minibatch((x[rows], y[rows]) for rows in cuts)
      for y in b.layers.values()
    ]
    for x in a.layers.values()
  ]
  return np.array(values), len(common)

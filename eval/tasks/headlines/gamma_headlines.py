"""Headlines over videos: gamma_a and gamma_r, and their means over groups and
over all.
"""

from collections.abc import Callable, Sequence

import numpy as np

from eval.cells import missing_cells
from eval.metrics import action
from eval.tasks.headlines.headlines import (
  Arrays,
  Cells,
  Formula,
  Headline,
  mean_of_metric,
)
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_CLEAN = Condition()
_FAMILY = conditions.VIDEOS
_UNDEFINED = "undefined: the clean accuracy is 0"
# f(accuracy, clean accuracy) of a cell.
_Gamma = Callable[[np.ndarray, np.ndarray], np.ndarray]


def headlines(cells: Cells) -> list[Headline]:
  """Return gamma_a and gamma_r of perturbations, groups and the benchmark.

  Args:
    cells: one model's cells, with the metric `accuracy`.
  """
  names = dict.fromkeys(c.name for c in cells if c.name)
  out = _accuracies(cells, list(names))
  for metric, gamma in (
    ("gamma_a", action.gamma_a),
    ("gamma_r", action.gamma_r),
  ):
    out += [_over([name], metric, gamma, "names", name) for name in names]
    for group in _FAMILY.groups:
      members = _FAMILY.members(group, "common")
      out.append(_over(members, f"{metric}/{group}", gamma, "groups", group))
    out.append(_over(_FAMILY.names("common"), metric, gamma, "mean"))
  return out


def _accuracies(cells: Cells, names: Sequence[str]) -> list[Headline]:
  """Return the mean accuracies if only a part of the cells is present.

  For complete perturbations and benchmarks the papers only print gamma.
  """
  every = [_accuracy([name], name) for name in names]
  parts = [h.part(cells) for h in [*every, _accuracy(_FAMILY.names("common"))]]
  return [h for h in parts if h is not None]


def _accuracy(names: Sequence[str], name: str = "") -> Headline:
  cells = missing_cells.needed(_FAMILY, names)
  over = mean_of_metric("accuracy")
  return Headline(
    "mean_accuracy", ("accuracy",), cells, over(cells), name, over=over
  )


def _over(
  names: Sequence[str], metric: str, gamma: _Gamma, kind: str, key: str = ""
) -> Headline:
  """Return the headline of one of `action.averages`, over some perturbations.

  Args:
    kind: `names`, `groups` or `mean`.
    key: the name or the group.
  """
  cells = missing_cells.needed(_FAMILY, names)

  def over(part: Sequence[Condition]) -> Formula:
    def formula(ours: Arrays, _: Arrays) -> np.ndarray:
      clean = ours[_CLEAN]["accuracy"]
      averages = action.averages(
        {(c.name, c.level): gamma(ours[c]["accuracy"], clean) for c in part}
      )
      return averages[kind][key] if key else averages[kind]

    return formula

  return Headline(
    metric,
    ("accuracy",),
    [_CLEAN, *cells],
    over(cells),
    key if kind == "names" else "",
    positive=_CLEAN,
    undefined=_UNDEFINED,
    over=None if kind == "groups" else over,
  )

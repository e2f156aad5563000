"""Headlines over a detector's cells: P, mPC, rPC and means of AP."""

from collections.abc import Sequence

import numpy as np

from eval.cells import missing_cells
from eval.metrics.detection import benchmark
from eval.tasks.headlines.headlines import (
  Arrays,
  Cells,
  Headline,
  levels,
  mean_of_metric,
)
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_CLEAN = Condition()
_FAMILY = conditions.PICTURES
# Behind `mpc` and `rpc` -> the scope that the mean is over.
_SCOPES = {"": "benchmark", "_all": "all", "_validation": "validation"}
_UNDEFINED = "undefined: P is 0"


def headlines(cells: Cells) -> list[Headline]:
  """Return the headlines of boxes and of masks (Michaelis et al. 2019, section 2.3).

  Args:
    cells: one model's cells, with the metric AP or, for VOC, AP50.
  """
  return [h for kind in ("bbox", "segm") for h in _kind_headlines(cells, kind)]


def _kind_headlines(cells: Cells, kind: str) -> list[Headline]:
  metric = f"{kind}/AP"
  if not any(metric in metrics for metrics in cells.values()):
    metric = f"{kind}/AP50"
  here = [c for c in cells if metric in cells[c]]
  prefix = "" if kind == "bbox" else f"{kind}/"
  out = [Headline.restating(f"{prefix}p", metric, _CLEAN)]
  for name in dict.fromkeys(c.name for c in here if c.name):
    out.append(_over([name], f"{prefix}mean_ap", metric, name))
  common = benchmark.names("benchmark")
  for suffix, scope in _SCOPES.items():
    names = benchmark.names(scope)
    # The 15 alone do not ask for the mean over 19.
    trigger_names = [n for n in names if n not in common] or names
    out.append(
      _over(names, f"{prefix}mpc{suffix}", metric, trigger_names=trigger_names)
    )
    if scope != "validation":
      out.append(
        _over(
          names,
          f"{prefix}rpc{suffix}",
          metric,
          trigger_names=trigger_names,
          relative=True,
        )
      )
  return out


def _over(
  names: Sequence[str],
  headline: str,
  metric: str,
  name: str = "",
  *,
  trigger_names: Sequence[str] = (),
  relative: bool = False,
) -> Headline:
  """Return the headline of a mean over corruptions, divided by P if `relative`."""
  cells = missing_cells.needed(_FAMILY, names)
  over = mean_of_metric(metric)

  def ratio(ours: Arrays, _: Arrays) -> np.ndarray:
    performance = np.stack([levels(ours, _FAMILY, metric, n) for n in names])
    return benchmark.rpc(performance, ours[_CLEAN][metric])

  return Headline(
    headline,
    (metric,),
    [_CLEAN, *cells] if relative else cells,
    ratio if relative else over(cells),
    name,
    trigger_cells=missing_cells.needed(_FAMILY, trigger_names),
    undefined=_UNDEFINED,
    # Of a part of all 19 the parts of the 15 and of the 4 say more.
    over=None if relative or headline.endswith("_all") else over,
  )

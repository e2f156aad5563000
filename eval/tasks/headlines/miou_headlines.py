"""Headlines over a segmenter's cells: mean mIoU, retention, mCD, GAM, classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells import missing_cells
from eval.metrics import rates
from eval.metrics import segmentation as metrics
from eval.tasks.headlines import error_headlines
from eval.tasks.headlines.headlines import (
  Arrays,
  Cells,
  Formula,
  Headline,
  over_names,
)
from eval.tasks.parts.protocols import Protocol
from robust_tfds import conditions
from robust_tfds.conditions import Condition

OF_CELLS = ("miou", "aacc", "macc")
_MIOU = OF_CELLS[0]
_OF_CLASS = "iou/class="
_CLEAN = Condition()
_CLEAN_ZERO = "undefined: the clean mIoU is 0"
_PERFECT = "undefined: the baseline's mIoU is 1"
_NO_LOSS = "undefined: the baseline loses nothing"
# f(mIoU, the baseline's, cells of a corruption) -> `[..., K]`.
_Number = Callable[[Arrays, Arrays, Sequence[Condition]], np.ndarray]


def class_metric(number: int) -> str:
  """Return the name of a class's IoU."""
  return f"{_OF_CLASS}{number}"


def headlines(
  cells: Cells, reference: Cells, protocol: Protocol
) -> list[Headline]:
  """Return the headlines of a protocol (docs/evidence/specs/segmentation.md).

  Args:
    cells: one model's cells, with the metric `miou`.
    reference: the same of the baseline; empty without one.
    protocol: says which cells the means are over.
  """
  out = [Headline.restating("clean_miou", _MIOU, _CLEAN)]
  for name in dict.fromkeys(c.name for c in cells if c.name):
    levels = protocol.conditions([name])
    out.append(_over(levels, "mean_miou", _plain, name))
    if reference and any(c.name == name for c in reference):
      out.append(_over(levels, "cd", _cd, name))
      out.append(_over(levels, "rcd", _rcd, name))
  benchmark = protocol.cells
  out.append(_over(benchmark, "mean_miou", _plain))
  out.append(_over(benchmark, "retention", _retained))
  # SemSegBench: the smallest mean of a corruption.
  out.append(_over(benchmark, "gam", _plain, joined=np.min))
  if not protocol.name:
    extra = protocol.conditions(conditions.PICTURES.names("extra"))
    out.append(_over(extra, "extra_mean_miou", _plain))
  if reference:
    out.append(_over(benchmark, "mcd", _cd))
    out.append(_over(benchmark, "mrcd", _rcd))
  return [*out, *_class_headlines(cells, benchmark)]


def published_cells(
  published: Mapping[str, Any],
) -> dict[Condition, dict[str, float]]:
  """Return the mIoU of a published baseline, whose errors are 1 - mIoU."""
  errors = error_headlines.published_cells(published)
  return {c: {_MIOU: 1 - cell["error"]} for c, cell in errors.items()}


def _over(
  cells: Sequence[Condition],
  metric: str,
  number: _Number,
  name: str = "",
  joined: Callable[..., np.ndarray] = np.mean,
) -> Headline:
  """Return the headline of a mean over corruptions, or of another join."""
  over = over_names(number, joined)
  normalised = metric in ("cd", "rcd", "mcd", "mrcd")
  needs_clean = metric in ("rcd", "mrcd", "retention")
  undefined = {"cd": _PERFECT, "mcd": _PERFECT, "retention": _CLEAN_ZERO}
  return Headline(
    metric,
    (_MIOU,),
    [_CLEAN, *cells] if needs_clean else cells,
    over(cells),
    name,
    normalised=normalised,
    undefined=undefined.get(metric, _NO_LOSS),
    over=over,
  )


def _plain(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  return np.mean(_miou(ours, cells), axis=0)


def _retained(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  clean = ours[_CLEAN][_MIOU]
  return rates.ratio(_plain(ours, reference, cells), clean)


def _cd(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  return metrics.cd(_miou(ours, cells), _miou(reference, cells))


def _rcd(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  return metrics.rcd(
    _miou(ours, cells),
    ours[_CLEAN][_MIOU],
    _miou(reference, cells),
    reference[_CLEAN][_MIOU],
  )


def _miou(arrays: Arrays, cells: Sequence[Condition]) -> np.ndarray:
  """Stack the mIoU of cells: `[cells, ..., K]`."""
  return np.stack([np.asarray(arrays[c][_MIOU]) for c in cells])


def _class_headlines(
  cells: Cells, benchmark: Sequence[Condition]
) -> list[Headline]:
  """Return each class's IoU, clean and as a mean over the existing cells."""
  listed = dict.fromkeys(
    metric
    for metrics_of_cell in cells.values()
    for metric in metrics_of_cell
    if metric.startswith(_OF_CLASS)
  )
  there = [c for c in benchmark if c in cells]
  part = [] if there == list(benchmark) else there
  note = missing_cells.part_note(benchmark, part) if part else ""
  out = []
  for metric in listed:
    clean, mean = _class_mean(metric, [_CLEAN]), _class_mean(metric, there)
    out.append(Headline(f"clean_{metric}", (metric,), [_CLEAN], clean))
    if there:
      name = f"mean_{metric}"
      out.append(Headline(name, (metric,), there, mean, note=note))
  return out


def _class_mean(metric: str, cells: Sequence[Condition]) -> Formula:
  return lambda ours, _: np.mean([ours[c][metric] for c in cells], axis=0)

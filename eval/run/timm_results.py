"""A run in the form of timm's results: a line a model, errors in percent.

The columns are those of timm's `results/results-imagenet.csv` (Wightman, Apache-2.0):
top-1 and top-5 accuracy and error, parameters in millions, and the preprocessing.
"""

import math
from collections.abc import Sequence

from eval.cells import table
from eval.run.plan import Plan
from models.model import NetworkModel
from models.spec import Spec

COLUMNS = (
  "model",
  "top1",
  "top1_err",
  "top5",
  "top5_err",
  "param_count",
  "img_size",
  "crop_pct",
  "interpolation",
)


def fits(plan: Plan) -> bool:
  """Return whether a run's numbers are errors of classified pictures."""
  return plan.task.facts.task == "classification"


def row(plan: Plan, label: str, rows: Sequence[table.Row]) -> list[object]:
  """Return a model's line, in the order of `COLUMNS`.

  Args:
    plan: of the run.
    label: of the model.
    rows: the model's rows of the table. The errors are means over the published
      corruptions that were run; for a set without corruptions, over its pictures.
  """
  model = plan.model(label)
  errors = [_percent(plan, rows, m) for m in ("error", "top5_error")]
  values: list[object] = [label]
  for error in errors:
    values += [f"{100 - error:.3f}", f"{error:.3f}"]
  count = ""  # functions on the host
  if isinstance(model, NetworkModel):
    count = f"{model.count_parameters() / 1e6:.2f}"
  return [*values, count, *_preprocessing(model.spec)]


def _percent(plan: Plan, rows: Sequence[table.Row], metric: str) -> float:
  """Return the mean of a cell's number over the run's cells, in percent."""
  cells = [r for r in rows if r.metric == metric and r.config and r.has_value]
  extra = {*plan.task.family.names("extra")}
  corrupted = [r.value for r in cells if r.corruption not in ("", *extra)]
  chosen = corrupted or [r.value for r in cells]
  return 100 * math.fsum(chosen) / len(chosen)


def _preprocessing(spec: object) -> list[object]:
  """Return the input's px, the share of it that the crop keeps, and the filter."""
  if not isinstance(spec, Spec):
    return ["", "", ""]
  crop = spec.crop_fraction
  if crop == 1.0 and spec.resize in ("short_side", "squash"):
    crop = spec.input_px / spec.resize_px
  return [spec.input_px, f"{crop:.3f}", spec.interpolation]

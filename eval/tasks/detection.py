"""Detection under corruption: PASCAL-C, COCO-C, Cityscapes-C.

A picture keeps its size and lies on a canvas; a model is shown the canvases and
the valid sizes and gives a fixed number of detections, of which some are valid.

Cell metrics: COCO's 12 numbers as `bbox/AP`, `bbox/AP50`, ... (and `segm/...`
where the model gives masks), or `bbox/AP50` by VOC's rules for `pascal_c`. Over
the severities of a corruption: `mean_ap`. Over the benchmark: `p` (clean),
`mpc` (15 corruptions), `rpc`, and `mpc_all`, `rpc_all` (19), `mpc_validation`
(the other 4); with `segm/` before them for masks. P is AP, of VOC AP50
(Michaelis et al. 2019, section 2.3). AP is no mean over pictures: its interval is
the jackknife's over 100 blocks of pictures, the same in all conditions
(`parts/left_out_pictures`). Numbers that were read without detections have none. A
number some of whose cells are not there is empty, with a note
(`parts/missing_cells`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition
from robust_tfds.eval import papers
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.cells import facts as facts_lib
from robust_tfds.eval.cells import table
from robust_tfds.eval.cells.cell_facts import Scalar
from robust_tfds.eval.cells.overlay import Overlay
from robust_tfds.eval.metrics import definitions, detection, resampling
from robust_tfds.eval.metrics import replicates as replicates_lib
from robust_tfds.eval.metrics.detection import benchmark, checks
from robust_tfds.eval.pipeline import inputs, predict
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import (
  average_precision,
  detected_columns,
  detected_values,
  drawn_boxes,
  masks,
  missing_cells,
  result_lists,
  stored_numbers,
)

Replicates = resampling.Replicates
_VOC = ("pascal_c",)
_SCOPES = {"": "benchmark", "_all": "all", "_validation": "validation"}
_KINDS = ("bbox", "segm")
_NO_INTERVAL = "no interval: read without detections"


class Detection(base.Task):
  """Average precision of every cell; P, mPC and rPC over them.

  `rules` is whose AP: `coco`, or `voc` (AP50) of `pascal_c`; `data.rules` of
  results from elsewhere overrides it.
  """

  facts = facts_lib.TaskFacts(
    task="detection",
    noun="corruption",
    headlines=definitions.metrics(
      "detection",
      "p",
      "mpc",
      "rpc",
      "mpc_all",
      "rpc_all",
      "mpc_validation",
      "segm/p",
      "segm/mpc",
      "segm/rpc",
    ),
    details=definitions.metrics("detection", "mean_ap", "segm/mean_ap"),
    mean="mPC",
    ranked=("mpc",),
    explanation=(
      "P: AP (VOC: AP50) on clean images; mPC: its mean over the 15 corruptions"
      " and 5 severities; rPC: mPC / P."
    ),
  )
  model_kind = "detection"
  set_kind = "objects"
  sized = True
  own_keys = ("rules",)
  has_overlays = True

  def __init__(self, setting: base.Setting):
    """Checks the setting: on the fly nothing is compressed."""
    super().__init__(setting)
    voc = setting.dataset in _VOC
    self._rules = setting.data.get("rules") or ("voc" if voc else "coco")
    # The last ground truth, and what was made of it: all cells have the same.
    self._truth: tuple[Any, checks.Truth | None] = (None, None)

  def data_facts(self) -> dict[str, Scalar]:
    """Whose AP."""
    return {"rules": self._rules}

  def label_feature(self, features: Any) -> Any:
    """Where the class names are."""
    return features["objects"]["label"]

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Corrupts canvases on their devices, at full resolution."""
    return predict.canvas_corruptor(mesh, self.setting.edition)

  def reducer(self, condition: Condition) -> predict.Reduce:
    """The same reduction in every condition."""
    return reduce

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """The usual ones but the label, and `image_id` int64 `[N]`."""
    columns = super().example_columns(batch)
    del columns["label"]
    ids = [int(e["image_id"]) for e in batch.examples]
    return {**columns, "image_id": np.array(ids, np.int64)}

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, np.ndarray],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """A model's outputs of the batch's valid rows as predictions' columns.

    `boxes` float32 `[N, D, 4]` (x1, y1, x2, y2 in px),
    `scores` float32 `[N, D]`, `classes` int16 `[N, D]`, -1 where there is none;
    and `masks`, one text a picture, of NumPy's strings of any length: COCO's run
    lengths, separated by spaces.

    Raises:
      UserError: see `detected_values.check`.
    """
    rows = np.flatnonzero(batch.mask).tolist()
    example_ids = np.array(batch.example_id, np.str_)[rows]
    detected_values.check(
      example_ids, {key: value[rows] for key, value in outputs.items()}
    )
    columns = {
      "boxes": outputs["boxes"][rows],
      "scores": outputs["scores"][rows],
      "classes": outputs["classes"][rows].astype(np.int16),
    }
    if "masks" in outputs:
      texts = masks.texts(outputs, rows, batch.size)
      columns["masks"] = np.array(texts, np.dtypes.StringDType())
    return columns

  def truth(self, source: inputs.Source) -> dict[str, Any]:
    """The ground truth as a COCO dict."""
    from robust_tfds.coco import format as coco_format

    names = self.label_feature(source.builder.info.features).names
    described = source.metadata(("image",))
    return coco_format.ground_truth(described, names, source.category_ids)

  def cell_rows(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> list[table.Row]:
    """COCO's numbers of one cell, or VOC's AP50.

    Cells of results from elsewhere hold numbers (`parts/stored_numbers`), or
    results lists (`parts/result_lists`).

    Raises:
      UserError: no ground truth.
    """
    return self.measure(cell, columns, truth).rows

  def measure(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> base.Measured:
    """A cell's rows and the replicates that they are of: it is matched once."""
    if stored_numbers.is_one(columns):
      return base.Measured(
        [
          cell.row(metric, value, note=_NO_INTERVAL)
          for metric, value in stored_numbers.numbers(columns).items()
          if value >= 0  # -1: no object in the range
        ],
        inputs={},
      )
    groups = self.group_ids(columns, truth)
    numbers = self.replicates(columns, resampling.Draws.of(groups), truth)
    rows = [
      cell.row(metric, float(number.value), _interval(number), len(groups))
      for metric, number in numbers.items()
    ]
    return base.Measured(rows, inputs=numbers)

  def group_ids(
    self, columns: base.Columns, truth: Mapping[str, Any] | None = None
  ) -> np.ndarray:
    """Of every picture: `[I]` texts; none where there are only numbers."""
    if stored_numbers.is_one(columns):
      return np.zeros(0, np.str_)
    if not result_lists.is_one(columns):
      return columns["group_id"]
    return np.array([str(i["id"]) for i in self._needed(truth)["images"]])

  def replicates(
    self,
    columns: base.Columns,
    draws: resampling.Draws,
    truth: Mapping[str, Any] | None = None,
  ) -> dict[str, Replicates]:
    """COCO's numbers of a cell, or VOC's AP50, and without each block of pictures.

    Those that are not defined are left out: no object is in the range.

    Raises:
      UserError: no ground truth, or a picture that it does not have.
    """
    if stored_numbers.is_one(columns):
      return {}
    checked = self._needed(truth)
    listed = result_lists.is_one(columns)
    source: Any = result_lists if listed else detected_columns
    shown = source.image_ids(columns, checked)
    checks.known_images(checked, shown.tolist())
    pictures = average_precision.Pictures.of(
      shown, self.group_ids(columns, checked), draws
    )
    if self._rules == "voc":
      boxes = source.corners(columns, checked)
      return average_precision.voc_ap50(boxes, checked, pictures)
    out: dict[str, Replicates] = {}
    for kind in source.kinds(columns):
      found = source.detections(kind, columns, checked)
      out |= average_precision.coco(kind, found, checked, pictures)
    return out

  def headlines(
    self, cells: base.Numbers, reference: base.Numbers | None = None
  ) -> dict[base.Key, np.ndarray]:
    """P, mPC, rPC and means of one model: see the module.

    Args:
      cells: AP of each, as arrays `[..., K]`.
      reference: not looked at: rPC is relative to the model's own P.
    """
    del reference
    out: dict[base.Key, np.ndarray] = {}
    for kind in _KINDS:
      performance = _performance(cells, kind)
      prefix = "" if kind == "bbox" else f"{kind}/"
      for (metric, name), values in _over_cells(performance).items():
        out[f"{prefix}{metric}", name, None] = values
    return out

  def _needed(self, truth: Mapping[str, Any] | None) -> checks.Truth:
    if truth is None:
      raise errors.UserError(
        "Detections are scored with their ground truth, and there is none: the"
        " workdir lacks truth.json."
      )
    return self._checked(truth)

  def _checked(self, truth: Mapping[str, Any]) -> checks.Truth:
    if isinstance(truth, checks.Truth):
      return truth
    given, checked = self._truth
    if checked is None or given is not truth:
      checked = checks.ground_truth(truth)
      self._truth = truth, checked
    return checked

  def summary_rows(
    self, rows: Sequence[table.Row], summary_inputs: base.SummaryInputs
  ) -> list[table.Row]:
    """P, mPC and rPC of every model; means of every corruption."""
    out = []
    for label in dict.fromkeys(r.model for r in rows):
      model_rows = [r for r in rows if r.model == label]
      spread = self.jackknife_headlines(
        {c: of for (model, c), of in summary_inputs.items() if model == label}
      )
      n = min((r.n for r in model_rows if r.n), default=None)
      for iou_type in _KINDS:
        for row in _summary_rows(model_rows, iou_type):
          out.append(_with_interval(row, spread, n))
    return out

  def jackknife_headlines(
    self, summary_inputs: Mapping[Condition, Any]
  ) -> dict[base.Key, Replicates]:
    """`headlines` of one model; of cells without detections nothing."""
    try:
      return replicates_lib.combine_all(self.headlines, summary_inputs)
    except errors.UserError:  # cells of different pictures
      return {}

  def check_baseline(self, labels: Sequence[str]) -> None:
    """UserError for any: rPC is relative to the model's own clean AP."""
    if self.setting.baseline:
      raise errors.UserError(
        f"Detection has no baseline model, got {self.setting.baseline!r}: rPC is"
        " relative to the model's own clean performance. Leave config.baseline"
        " empty."
      )

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Printed name -> (P, mPC) of box detectors."""
    return papers.detectors(self.setting.dataset)

  def overlay_limit(
    self, columns: base.Columns, truth: Mapping[str, Any]
  ) -> tuple[float, str]:
    """The score of the highest F1 at IoU 0.5, over all classes."""
    least, f1 = drawn_boxes.best_score(columns, self._needed(truth))
    return least, (
      f"detections of a score of at least {least:.2f}, where F1 at IoU 0.5 is"
      f" highest ({f1:.2f})"
    )

  def overlays(
    self,
    example_id: str,
    columns: base.Columns,
    truth: Mapping[str, Any],
    least_score: float,
  ) -> list[Overlay]:
    """A picture's hits, misses and false alarms: `parts/drawn_boxes`."""
    return drawn_boxes.of_picture(example_id, columns, truth, least_score)


def reduce(
  outputs: Mapping[str, jax.Array], labels: jax.Array
) -> dict[str, jax.Array]:
  """Detections by decreasing score, invalid ones cleared.

  Args:
    outputs: boxes float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the canvas), scores
      float32 `[B, N]`, classes int32 `[B, N]`, valid bool `[B, N]`, and masks
      `[B, N, M, M]` where there are any.
    labels: not read: pictures have no class.

  Returns:
    The same; an invalid detection has score 0 and class -1, a valid one of a
    negative class -2.
  """
  valid = outputs["valid"]
  score = jnp.where(valid, outputs["scores"], -jnp.inf)
  order = jnp.argsort(-score, axis=1, stable=True)

  def sort(x: jax.Array) -> jax.Array:
    index = order.reshape(*order.shape, *[1] * (x.ndim - 2))
    return jnp.take_along_axis(x, index, axis=1)

  valid, label = sort(valid), sort(outputs["classes"])
  none, no_class = detected_values.NONE, detected_values.NO_CLASS
  out = {
    "boxes": jnp.where(valid[..., None], sort(outputs["boxes"]), 0.0),
    "scores": jnp.where(valid, sort(outputs["scores"]), 0.0),
    "classes": jnp.where(valid, jnp.where(label < 0, no_class, label), none),
  }
  if "masks" in outputs:
    out["masks"] = sort(outputs["masks"])
  return out


def _interval(number: Replicates) -> cells_lib.Interval:
  """The interval of a number that is never below 0."""
  lo, hi = number.interval()
  if not np.isfinite([lo, hi]).all():
    return None, None
  return max(lo, 0.0), hi


def _with_interval(
  row: table.Row, spread: Mapping[base.Key, Replicates], n: int | None
) -> table.Row:
  """A row over cells with its interval and the number of pictures."""
  number = spread.get((row.metric, row.corruption, None))
  if number is None or not row.has_value:
    return row
  lo, hi = _interval(number)
  return dataclasses.replace(row, lo=lo, hi=hi, n=n)


def _main(iou_type: str, metrics: Collection[str]) -> str:
  """The metric that P is: AP, of VOC AP50."""
  metric = f"{iou_type}/AP"
  return metric if metric in metrics else f"{iou_type}/AP50"


def _performance(
  cells: base.Numbers, iou_type: str
) -> dict[Condition, np.ndarray]:
  """AP, of VOC AP50, of every cell that has it."""
  metric = _main(iou_type, {m for numbers in cells.values() for m in numbers})
  return {c: n[metric] for c, n in cells.items() if metric in n}


def _over_cells(
  performance: Mapping[Condition, np.ndarray],
) -> dict[tuple[str, str], np.ndarray]:
  """(metric, corruption) -> the number over cells, where all are there."""
  clean = performance.get(Condition())
  out = {} if clean is None else {("p", ""): clean}
  means: dict[str, np.ndarray] = {}
  for name in dict.fromkeys(c.name for c in performance if c.name):
    cells = _cells([name])
    if all(c in performance for c in cells):
      means[name] = np.mean([performance[c] for c in cells], axis=0)
      out["mean_ap", name] = means[name]
  for suffix, scope in _SCOPES.items():
    names = benchmark.names(scope)
    if not all(name in means for name in names):
      continue
    mpc = np.mean([means[name] for name in names], axis=0)
    out[f"mpc{suffix}", ""] = mpc
    if clean is not None and suffix != "_validation":
      positive = np.where(clean > 0, clean, np.nan)
      out[f"rpc{suffix}", ""] = mpc / positive
  return out


def _summary_rows(rows: Sequence[table.Row], iou_type: str) -> list[table.Row]:
  """P, mPC, rPC and the means of one model's boxes or masks."""
  metric = _main(iou_type, {r.metric for r in rows})
  cells = {
    Condition(r.corruption, r.severity or 0): r.value
    for r in rows
    if r.metric == metric
  }
  if not cells:
    return []
  prefix = "" if iou_type == "bbox" else f"{iou_type}/"
  return _Model(cells_lib.Summary.of(rows), cells, prefix).rows()


@dataclasses.dataclass(frozen=True)
class _Model:
  """The numbers over one model's cells, of boxes or of masks.

  Attributes:
    summary: what their rows have in common.
    performance: AP, of VOC AP50, of its cells.
    prefix: before the names of its metrics.
  """

  summary: cells_lib.Summary
  performance: Mapping[Condition, float]
  prefix: str

  def rows(self) -> list[table.Row]:
    """P, the mean of every corruption, mPC and rPC of every scope."""
    out = []
    clean = self.performance.get(Condition())
    if clean is not None:
      out.append(self.summary.row("", f"{self.prefix}p", clean))
    for name in dict.fromkeys(c.name for c in self.performance if c.name):
      cells = _cells([name])
      out += self._row(name, "mean_ap", self._mean(cells), cells)
    for suffix, scope in _SCOPES.items():
      out += self._over_scope(suffix, scope)
    return out

  def _over_scope(self, suffix: str, scope: str) -> list[table.Row]:
    """`mpc...` and `rpc...` of one scope."""
    names = benchmark.names(scope)
    common = benchmark.names("benchmark")
    # The 15 alone do not ask for the mean over 19.
    asked = _cells(set(names) - set(common) or names)
    cells = _cells(names)
    clean = self.performance.get(Condition())
    mpc = None
    if all(c in self.performance for c in cells):
      whole = {
        n: [self.performance[Condition(n, s)] for s in conditions.SEVERITIES]
        for n in names
      }
      # mPC needs no clean cell.
      mpc = detection.summarize(whole, clean or 0.0, scope)["mpc"]
    out = self._row("", f"mpc{suffix}", mpc, cells, asked=asked)
    if suffix != "_validation":
      rpc = mpc / clean if mpc is not None and clean else None
      why = "undefined: P is 0" if clean == 0 else ""
      with_clean = [Condition(), *cells]
      out += self._row("", f"rpc{suffix}", rpc, with_clean, why, asked)
    return out

  def _mean(self, cells: Sequence[Condition]) -> float | None:
    if any(c not in self.performance for c in cells):
      return None
    return float(np.mean([self.performance[c] for c in cells]))

  def _row(
    self,
    name: str,
    metric: str,
    value: float | None,
    cells: Sequence[Condition],
    why: str = "",
    asked: Sequence[Condition] | None = None,
  ) -> list[table.Row]:
    numbers = missing_cells.Numbers(self.summary, self.performance)
    return numbers.rows(
      name, f"{self.prefix}{metric}", value, cells, why=why, asked=asked
    )


def _cells(names: Iterable[str]) -> list[Condition]:
  """All severities of some corruptions."""
  return missing_cells.needed(conditions.PICTURES, names)

"""Detection under corruption: PASCAL-C, COCO-C, Cityscapes-C.

A picture keeps its size and is placed on a canvas; a model gets the canvases
and the valid sizes and returns a fixed number of detections, some of which are
valid.

Cell metrics: COCO's 12 numbers as `bbox/AP`, `bbox/AP50`, ... (and `segm/...`
if the model gives masks), or `bbox/AP50` by VOC's rules for `pascal_c`. Over
the severities of a corruption: `mean_ap`. Over the benchmark: `p` (clean),
`mpc` (15 corruptions), `rpc`, and `mpc_all`, `rpc_all` (19), `mpc_validation`
(the other 4); with `segm/` before them for masks. P is AP, of VOC AP50
(Michaelis et al. 2019, section 2.3). AP is not a mean over pictures: its interval is
the jackknife's over 100 blocks of pictures, the same in all conditions
(`detections/average_precision`). Numbers that were read without detections have none. A
number some of whose cells are not there is empty, with a note
(`eval/cells/missing_cells`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval import papers
from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.cells.cell_facts import Scalar
from eval.cells.files.overlay import Overlay
from eval.metrics import resampling
from eval.metrics.detection import checks
from eval.pipeline import inputs, predict
from eval.tasks import base
from eval.tasks.detections import (
  average_precision,
  detected_columns,
  detected_values,
  drawn_boxes,
  masks,
  result_lists,
)
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import precision_headlines, spread, stored_numbers
from robust_tfds import errors
from robust_tfds.conditions import Condition

Replicates = resampling.Replicates
_VOC = ("pascal_c",)
_NO_INTERVAL = "no interval: read without detections"


class Detection(base.Task):
  """The detection task: average precision of every cell; P, mPC and rPC over them.

  AP follows the rules of `coco`, or of `voc` (AP50) for `pascal_c`;
  `data.rules` of another program's results overrides this.
  """

  facts = facts_lib.TaskFacts.for_task("detection")
  model_kind = "detection"
  set_kind = "objects"
  sized = True
  own_keys: ClassVar[tuple[str, ...]] = ("rules",)
  has_overlays = True
  no_baseline = (
    "Detection has no baseline model, got {got}: rPC is relative to the model's"
    " own clean performance. Leave config.baseline empty."
  )

  def __init__(self, setting: base.Setting):
    """Check the setting: compression on the fly is not possible."""
    super().__init__(setting)
    voc = setting.dataset in _VOC
    self._rules = setting.data.get("rules") or ("voc" if voc else "coco")
    # The last ground truth, and what was made of it: all cells have the same.
    self._truth: tuple[Any, checks.Truth | None] = (None, None)

  def data_facts(self) -> dict[str, Scalar]:
    """Return the rules of AP."""
    return {"rules": self._rules}

  def label_feature(self, features: Any) -> Any:
    """Return the feature of the objects' classes."""
    return features["objects"]["label"]

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Corrupt canvases on their devices, at full resolution."""
    if not self.corrupts:
      return predict.unchanged
    return predict.canvas_corruptor(mesh, self.setting.edition)

  def reducer(self, condition: Condition) -> predict.Reduce:
    """Return the reduction, which is the same in every condition."""
    return reduce

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Return the usual columns except the label, and `image_id` int64 `[N]`."""
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
    """Return a model's outputs for the batch's valid rows as prediction columns.

    `boxes` float32 `[N, D, 4]` (x1, y1, x2, y2 in px), `scores` float32 `[N,
    D]`, `classes` int16 `[N, D]`, -1 for no detection; and `masks`, one NumPy
    variable-length string per picture: COCO's run lengths, separated by spaces.

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
    """Return the ground truth as a COCO dict."""
    from robust_tfds.coco import format as coco_format

    names = self.label_feature(source.builder.info.features).names
    described = source.metadata(("image",))
    return coco_format.ground_truth(described, names, source.category_ids)

  def cell_rows(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return COCO's numbers of one cell, or VOC's AP50.

    Cells of results from elsewhere hold numbers (`headlines/stored_numbers`), or
    results lists (`detections/result_lists`).

    Raises:
      UserError: no ground truth.
    """
    return self.measure(cell, columns, truth).rows

  def measure(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> base.Measured:
    """Return a cell's rows and their replicates, from one matching pass."""
    if stored_numbers.holds_numbers(columns):
      known = stored_numbers.numbers(columns)
      # -1: no object in the range.
      values = {metric: x for metric, x in known.items() if x >= 0}
      return base.Measured(
        [cell.row(m, x, note=_NO_INTERVAL) for m, x in values.items()],
        numbers={m: headlines_lib.value_alone(x) for m, x in values.items()},
      )
    groups = self.group_ids(columns, truth)
    numbers = self.replicates(
      columns, resampling.Draws.from_groups(groups), truth
    )
    rows = [
      spread.number_row(
        cell, metric, number, self.facts.metric(metric).bounds, len(groups)
      )
      for metric, number in numbers.items()
    ]
    ids = resampling.Groups.from_ids(groups).ids
    return base.Measured(rows, numbers=numbers, groups=ids)

  def group_ids(
    self, columns: base.Columns, truth: base.Truth = None
  ) -> np.ndarray:
    """Return the group of each picture, `[I]` texts; none if there are only numbers."""
    if stored_numbers.holds_numbers(columns):
      return np.zeros(0, np.str_)
    if not result_lists.holds_results(columns):
      return columns["group_id"]
    return np.array([str(i["id"]) for i in self._needed(truth)["images"]])

  def examples(self, columns: base.Columns, truth: base.Truth = None) -> int:
    """Return the number of pictures."""
    return len(self.group_ids(columns, truth))

  def replicates(
    self,
    columns: base.Columns,
    draws: resampling.Draws,
    truth: base.Truth = None,
  ) -> dict[str, Replicates]:
    """Return a cell's COCO numbers, or VOC's AP50, and those without each block.

    Undefined ones are left out: there is no object in their range.

    Raises:
      UserError: no ground truth, or a picture that it does not have.
    """
    if stored_numbers.holds_numbers(columns):
      return {}
    checked = self._needed(truth)
    listed = result_lists.holds_results(columns)
    source: Any = result_lists if listed else detected_columns
    shown = source.image_ids(columns, checked)
    checks.known_images(checked, shown.tolist())
    pictures = average_precision.Pictures.from_ids(
      shown, self.group_ids(columns, checked), draws
    )
    if self._rules == "voc":
      boxes = source.corners(columns, checked)
      return average_precision.voc_ap50(boxes, checked, pictures)
    out: dict[str, Replicates] = {}
    for kind in source.kinds(columns, checked):
      found = source.detections(kind, columns, checked)
      out |= average_precision.coco(kind, found, checked, pictures)
    return out

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return P, mPC, rPC and means, see `headlines/precision_headlines`."""
    return precision_headlines.headlines(cells)

  def _needed(self, truth: base.Truth) -> checks.Truth:
    if truth is None:
      raise errors.UserError(
        "Detections need their ground truth: expected truth.json in the workdir,"
        " got none."
      )
    if isinstance(truth, checks.Truth):
      return truth
    given, checked = self._truth
    if checked is None or given is not truth:
      checked = checks.ground_truth(truth)
      self._truth = truth, checked
    return checked

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return (P, mPC) of box detectors by printed name."""
    return papers.marked_networks(self.setting.dataset, "p", "mpc")

  def overlay_limit(
    self, columns: base.Columns, truth: Mapping[str, Any]
  ) -> tuple[float, str]:
    """Return the score of the highest F1 at IoU 0.5, over all classes."""
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
    """Return a picture's hits, misses and false alarms: `detections/drawn_boxes`."""
    return drawn_boxes.picture_overlays(example_id, columns, truth, least_score)


def reduce(
  outputs: Mapping[str, jax.Array], labels: jax.Array
) -> dict[str, jax.Array]:
  """Return detections by decreasing score, with invalid ones cleared.

  Args:
    outputs: boxes float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the canvas), scores
      float32 `[B, N]`, classes int32 `[B, N]`, valid bool `[B, N]`, and masks
      `[B, N, M, M]` if there are any.
    labels: unused: pictures have no class.

  Returns:
    The same arrays; an invalid detection has score 0 and class -1, a valid one
    of a negative class -2.
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

"""Semantic segmentation under corruption: a class for every pixel.

A picture keeps its size and is placed on a canvas; a model gets the canvases and
the valid sizes and answers with class ids. Masks are those of the clean pictures
in every condition. A cell holds each picture's intersection, union and labelled
pixels by class, so that every number is one of sums over the whole set, and its
interval one of draws of whole pictures.

Cell metrics: `miou`, `aacc`, `macc` (`eval/metrics/segmentation.py`). Over the
cells: `headlines/miou_headlines.py`. Which cells, and what was done to pixels, is
said by `data.protocol` (`parts/protocols.json`).
"""

import dataclasses
import functools
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
from eval.metrics import resampling
from eval.metrics import segmentation as metrics
from eval.pipeline import blocks, inputs, predict
from eval.tasks import base
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import miou_headlines, normalised_task, spread
from eval.tasks.parts import class_maps, protocols
from robust_tfds import errors
from robust_tfds.conditions import Condition

Replicates = resampling.Replicates
_CLEAN = Condition()
_NO_CLASS = -1  # of an output that is no class of the data set


class Segmentation(normalised_task.NormalisedTask):
  """The segmentation task: mIoU of every cell, means and degradations over them."""

  facts = facts_lib.TaskFacts.for_task("segmentation")
  model_kind = "segmentation"
  set_kind = "masks"
  sized = True
  own_keys: ClassVar[tuple[str, ...]] = ("protocol", "keep_masks")
  has_maps = True

  def __init__(self, setting: base.Setting):
    """Check the setting.

    Raises:
      UserError: an unknown protocol.
    """
    super().__init__(setting)
    self._protocol = protocols.get(setting.data.get("protocol") or "")
    self._keeps = bool(setting.data.get("keep_masks"))
    self._reduce: predict.Reduce | None = None

  @property
  def pixel_words(self) -> Sequence[str]:
    """Where pictures are corrupted, that masks are not, and what is left out."""
    words = "masks stay those of the clean pictures"
    protocol = self._protocol
    if not protocol.name:
      return [f"pictures are corrupted whole, in RGB; {words}"]
    lines = [f"protocol {protocol.name}: {protocol.words}; {words}"]
    asked = self.setting.data.get("corruptions") or ()
    if asked not in ("common", "all"):  # else the whole protocol
      known = {*protocol.names}
      lacks = [n for n in self.family.resolve(asked) if n not in known]
      text = f"left out, not of {protocol.name}: {', '.join(lacks)}"
      lines += [text] * bool(lacks)
    return lines

  @property
  def note(self) -> str:
    """The departures from the protocol and from the published numbers."""
    departs = self._protocol.note(self.setting.dataset)
    return "; ".join(filter(None, (departs, super().note)))

  def conditions(self) -> list[Condition]:
    """Return the conditions of the config; with a protocol, only the protocol's.

    Raises:
      UserError: corrupted cells were asked for, and the protocol has none of them.
    """
    data = self.setting.data
    if not self._protocol.name or "corruptions" not in data:
      return super().conditions()
    names = data.corruptions
    names = "all" if names == "common" else names  # the whole protocol
    chosen = self.family.select(names, data.severities)
    cells = [_CLEAN, *self._protocol.cells]
    known = [c for c in cells if c in chosen]
    if known == [_CLEAN] and len(chosen) > 1:
      raise errors.UserError(
        f"protocol={self._protocol.name}: has none of the cells that were asked for,"
        f" such as {chosen[-1].config}. Its cells:"
        f" {', '.join(c.config for c in cells[1:])}."
      )
    return [c for c in known if c.name not in self.left_out]

  def data_facts(self) -> dict[str, Scalar]:
    """Return a text about the protocol and its treatment of pixels."""
    return self._protocol.facts

  def label_feature(self, features: Any) -> Any:
    """Return the feature of the masks' classes."""
    return features["classes"].feature

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Corrupt canvases on their devices, at full resolution."""
    corrupt = predict.canvas_corruptor(mesh, self.setting.edition)
    if self._protocol.channels == "bgr":
      return predict.as_bgr(corrupt, mesh)
    return corrupt

  def reader(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
  ) -> blocks.Reader:
    """Return the reader, whose batches have masks in place of labels."""
    classes = self.label_feature(source.builder.info.features).num_classes
    self._reduce = functools.partial(reduce, classes=classes)
    return class_maps.Reader(source)

  def reducer(self, condition: Condition) -> predict.Reduce:
    """Return the reduction, which is the same in every condition."""
    assert self._reduce is not None  # `reader` made it
    return self._reduce

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Return the usual columns except the label."""
    columns = super().example_columns(batch)
    del columns["label"]
    return columns

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, np.ndarray],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """Return a model's outputs for the batch's valid rows as prediction columns.

    `areas` int64 `[N, classes, 3]`: intersection, union and labelled pixels of
    each class; `mask`, texts: the class map of the examples that reports show,
    of all with `keep_masks`, and empty for others.

    Raises:
      UserError: a class id that is no class.
    """
    rows = np.flatnonzero(batch.mask).tolist()
    class_maps.check(batch, outputs["outside"], outputs["areas"].shape[1])
    texts = []
    for row, example in zip(rows, batch.examples, strict=True):
      kept = self._keeps or example["place"] < class_maps.SHOWN
      high, wide = batch.size[row]
      ids = outputs["classes"][row, :high, :wide]
      texts.append(class_maps.text(ids) if kept else "")
    return {
      "areas": outputs["areas"][rows].astype(np.int64),
      "mask": np.array(texts, np.dtypes.StringDType()),
    }

  def class_map(
    self, example_id: str, columns: base.Columns
  ) -> np.ndarray | None:
    """Return a picture's answered classes, uint8 `[H, W]`, if they were kept."""
    if "mask" not in columns:
      return None
    found = columns["mask"][columns["example_id"] == example_id].tolist()
    return class_maps.from_text(found[0]) if any(found) else None

  def cell_rows(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return `miou`, `aacc` and `macc` of one cell."""
    return self.measure(cell, columns, truth).rows

  def measure(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> base.Measured:
    """Return a cell's rows and their replicates, those of classes included."""
    groups = self.group_ids(columns)
    draws = resampling.Draws.from_groups(groups)
    numbers = self.replicates(columns, draws)
    rows = [
      spread.number_row(
        cell,
        metric,
        numbers[metric],
        self.facts.metric(metric).bounds,
        len(groups),
      )
      for metric in miou_headlines.OF_CELLS
    ]
    rows[0] = rows[0].add_note(_absent(columns["areas"]))
    return base.Measured(rows, numbers=numbers, groups=draws.ids)

  def replicates(
    self,
    columns: base.Columns,
    draws: resampling.Draws,
    truth: base.Truth = None,
  ) -> dict[str, Replicates]:
    """Return the replicates of a cell's metrics, and of each class's IoU.

    Sums of pixels are drawn, never pictures' ratios. Those of classes have
    blocks alone: thousands of draws of 150 classes would fill the memory.
    """
    areas = columns["areas"]
    flat = areas.reshape(len(areas), -1).astype(np.float64)
    sums = draws.means(flat, self.group_ids(columns))
    totals = np.moveaxis(sums.joined, -1, 0).reshape(-1, *areas.shape[1:])
    summary = metrics.from_areas(totals)
    means, iou = summary._asdict(), summary.iou
    out = {
      name: sums.like(np.asarray(means[name]))
      for name in miou_headlines.OF_CELLS
    }
    for i in np.flatnonzero(~np.isnan(iou[0])).tolist():
      whole = sums.like(iou[:, i])
      out[miou_headlines.class_metric(i)] = dataclasses.replace(
        whole, draws=None
      )
    return out

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return means, retention, degradations and classes: `miou_headlines`."""
    return miou_headlines.headlines(cells, reference, self._protocol)

  def published_cells(
    self, published: Mapping[str, Any]
  ) -> headlines_lib.Reference:
    """Return the printed mIoU of a baseline."""
    return miou_headlines.published_cells(published)

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return (clean mIoU, mean mIoU) by printed name."""
    return papers.marked_networks(
      self.setting.dataset, "clean_miou", "mean_miou"
    )


def reduce(
  outputs: Mapping[str, jax.Array], labels: jax.Array, *, classes: int
) -> dict[str, jax.Array]:
  """Return each picture's areas by class.

  Args:
    outputs: `classes`, class ids, integers `[B, H, W]`; -1 is no class.
    labels: masks, uint8 `[B, H, W]`; 255 does not count.
    classes: number of classes.

  Returns:
    `areas` int32 `[B, classes, 3]`, see `metrics.areas`; `outside` int32 `[B]`,
    a counted id that is no class, or -1; `classes` uint8 `[B, H, W]`.
  """
  answers = outputs["classes"].astype(jnp.int32)
  counted = labels != metrics.IGNORE
  truth = labels.astype(jnp.int32)
  inside = (answers >= _NO_CLASS) & (answers < classes)

  def areas(number: jax.Array) -> jax.Array:
    said = (answers == number) & counted
    true = truth == number
    parts = said & true, said | true, true
    return jnp.stack([p.sum((1, 2), dtype=jnp.int32) for p in parts], axis=1)

  listed = jax.lax.map(areas, jnp.arange(classes))
  wrong = jnp.where(counted & ~inside, answers, _NO_CLASS)
  furthest = jnp.argmax(jnp.abs(wrong).reshape(len(wrong), -1), axis=1)
  flat = wrong.reshape(len(wrong), -1)
  return {
    "areas": jnp.moveaxis(listed, 0, 1),
    "outside": jnp.take_along_axis(flat, furthest[:, None], axis=1)[:, 0],
    "classes": answers.astype(jnp.uint8),
  }


def _absent(areas: np.ndarray) -> str:
  """Return a text with the number of classes that no number counts; '' if none."""
  union = areas.sum(0)[:, metrics.UNION]
  absent = int((union == 0).sum())
  return (
    f"{absent} of {len(union)} classes in neither masks nor answers left out"
    if absent
    else ""
  )

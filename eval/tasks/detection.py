"""Detection under corruption: PASCAL-C, COCO-C, Cityscapes-C.

A picture keeps its size and lies on a canvas; a model is shown the canvases and
the valid sizes and gives a fixed number of detections, of which some are valid.

Cell metrics: COCO's 12 numbers as `bbox/AP`, `bbox/AP50`, ... (and `segm/...`
where the model gives masks), or `bbox/AP50` by VOC's rules for `pascal_c`. Over
the severities of a corruption: `mean_ap`. Over the benchmark: `p` (clean),
`mpc` (15 corruptions), `rpc`, and `mpc_all`, `rpc_all` (19), `mpc_validation`
(the other 4); with `segm/` before them for masks. P is AP, of VOC AP50
(Michaelis et al. 2019, section 2.3). AP has no interval: it is no mean over
independent parts.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval import predict
from eval import provenance
from eval import published
from eval import table
from eval.metrics import detection
from eval.metrics.detection import benchmark
from eval.metrics.detection import coco
from eval.tasks import Cell
from eval.tasks import Condition
from eval.tasks import classification

COMMON = benchmark.BENCHMARK
FLY = ("clean", "raw")
SIZED = True  # models are told the valid size of every canvas
KIND = "detection"  # of its models
_VOC = ("pascal_c",)
_SCOPES = {"": "benchmark", "_all": "all", "_validation": "validation"}
SHOWN = 5  # pictures of the gallery
_LEAST = 0.3  # score of what the gallery draws


def conditions(data: Any) -> list[Condition]:
  """Clean, then every corruption at every severity, as in classification."""
  return classification.conditions(data)


def groups(names: Sequence[str]) -> dict[str, str]:
  """`noise`, `blur`, `weather` or `digital` of every name."""
  return classification.groups(names)


def frames(condition: Condition, edition: str) -> int:
  """Images an example shows to the model: one."""
  del condition, edition
  return 1


def label_feature(features: Any) -> Any:
  """Where the class names are."""
  return features["objects"]["label"]


def transform(where: Mesh, edition: str, codec: str) -> predict.Transform:
  """Corrupts canvases on their devices, at full resolution."""
  if codec != FLY[1]:
    raise ValueError(
      f"data.codec={codec} cannot be made on the fly; use"
      f" data.source=prepared, or codec {FLY[1]}."
    )
  return predict.canvas_corruptor(where, edition)


def reducer(condition: Condition) -> predict.Reduce:
  """The same reduction in every condition."""
  del condition
  return reduce


def reduce(found: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
  """Detections by decreasing score, invalid ones cleared.

  Args:
    found: boxes float32 `[B, N, 4]` (x1, y1, x2, y2 in px of the canvas), scores
      float32 `[B, N]`, classes int32 `[B, N]`, valid bool `[B, N]`, and masks
      `[B, N, M, M]` where there are any.

  Returns:
    The same; an invalid detection has score 0 and class -1.
  """
  valid = found["valid"]
  score = jnp.where(valid, found["scores"], -jnp.inf)
  order = jnp.argsort(-score, axis=1, stable=True)

  def sort(x):
    index = order.reshape(*order.shape, *[1] * (x.ndim - 2))
    return jnp.take_along_axis(x, index, axis=1)

  valid = sort(valid)
  out = {
    "boxes": jnp.where(valid[..., None], sort(found["boxes"]), 0.0),
    "scores": jnp.where(valid, sort(found["scores"]), 0.0),
    "classes": jnp.where(valid, sort(found["classes"]), -1),
  }
  if "masks" in found:
    out["masks"] = sort(found["masks"])
  return out


def columns(
  batch: Any, outputs: Mapping[str, np.ndarray], condition: Condition
) -> dict[str, np.ndarray]:
  """The batch's valid rows as predictions' columns.

  `image_id` int64 `[N]`; `boxes` float32 `[N, D, 4]` (x1, y1, x2, y2 in px),
  `scores` float32 `[N, D]`, `classes` int16 `[N, D]`, -1 where there is none; and
  `masks`, one text a picture: COCO's run lengths, separated by spaces.
  """
  del condition
  rows = np.flatnonzero(batch.mask)
  out = {
    "example_id": np.array(batch.example_id, np.str_)[rows],
    "group_id": np.array(batch.group_id, np.str_)[rows],
    "frame": batch.frame[rows],
    "image_id": np.array(
      [int(batch.examples[i]["image_id"]) for i in rows], np.int64
    ),
    "boxes": outputs["boxes"][rows],
    "scores": outputs["scores"][rows],
    "classes": outputs["classes"][rows].astype(np.int16),
  }
  if "masks" in outputs:
    out["masks"] = np.array(
      [_masks(outputs, int(i), batch.size[i]) for i in rows], np.str_
    )
  return out


def truth(source: Any, workdir: pathlib.Path) -> dict[str, Any]:
  """The ground truth as a COCO dict; kept in the workdir as truth.json."""
  from robust_tfds.datasets import coco_format

  path = workdir / "truth.json"
  if not path.exists():
    names = label_feature(source.builder.info.features).names
    ids = getattr(source.builder, "CATEGORY_IDS", ())
    made = coco_format.ground_truth(source.described(("image",)), names, ids)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(made), "utf-8")
    os.replace(temporary, path)
  return read_truth(workdir)


def read_truth(workdir: pathlib.Path) -> dict[str, Any]:
  """What `truth` wrote."""
  return json.loads((workdir / "truth.json").read_text("utf-8"))


def cell_rows(
  cell: Cell, predicted: Mapping[str, np.ndarray], gt: Mapping[str, Any]
) -> list[table.Row]:
  """COCO's numbers of one cell, or VOC's AP50."""
  if cell.dataset in _VOC:
    numbers = {"bbox/AP50": _voc(predicted, gt)}
  else:
    numbers = _coco("bbox", predicted, gt)
    if "masks" in predicted:
      numbers |= _coco("segm", predicted, gt)
  return [
    table.Row(
      **vars(cell), metric=metric, value=value, n=len(predicted["image_id"])
    )
    for metric, value in numbers.items()
    if value >= 0  # -1: no object in the range
  ]


def keep(predicted: Mapping[str, np.ndarray]) -> None:
  """The summaries need the cells' rows alone."""
  del predicted


def summary_rows(
  rows: Sequence[table.Row],
  baseline: str,
  order: Sequence[str],
  kept: object = None,
) -> list[table.Row]:
  """P, mPC and rPC of every model; means of every corruption."""
  del baseline, kept
  out = []
  for label in dict.fromkeys(r.model for r in rows):
    own = [r for r in rows if r.model == label]
    for task in ("bbox", "segm"):
      out += _summaries(own, task, order)
  return out


def check_baseline(baseline: str, labels: Sequence[str]) -> None:
  """ValueError for any: rPC is relative to the model's own clean AP."""
  del labels
  if baseline:
    raise ValueError(
      f"Detection has no baseline model, got {baseline!r}: rPC is relative to"
      " the model's own clean performance. Leave config.baseline empty."
    )


def published_networks(dataset: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> (P, mPC) of box detectors."""
  rows = published.load("michaelis2019")["rows"]
  name = {"coco_c": "coco", "pascal_c": "pascal_voc"}
  wanted = name.get(dataset, dataset.removesuffix("_c"))
  return {
    r["model"]: (r["p"] / 100, r["mpc"] / 100)
    for r in rows
    if r["dataset"] == wanted and r["task"] == "bbox"
  }


def samples(
  image: np.ndarray,
  key: Callable[[Condition], jax.Array],
  wanted: Sequence[Condition],
  edition: str,
) -> dict[tuple[str, int], np.ndarray]:
  """One image under every condition, for the gallery."""
  return classification.samples(image, key, wanted, edition)


def overlays(
  image: np.ndarray,
  example_id: str,
  predicted: Mapping[str, np.ndarray],
  gt: Mapping[str, Any],
) -> list[tuple[str, tuple[float, ...], str]]:
  """A picture's boxes for the gallery.

  Args:
    image: uint8 `[H, W, 3]`; not looked at.
    example_id: its id.
    predicted: a cell's columns.
    gt: the ground truth.

  Returns:
    (`hit`, `missed` or `wrong`, (x1, y1, x2, y2), text) of every detection of at
    least 0.3 and of every object that none of them hits at IoU 0.5.
  """
  del image
  (row,) = np.flatnonzero(predicted["example_id"] == example_id)[:1]
  label = {c["id"]: i for i, c in enumerate(gt["categories"])}
  names = [c["name"] for c in gt["categories"]]
  objects = [
    (label[a["category_id"]], _corners(a["bbox"]))
    for a in gt["annotations"]
    if a["image_id"] == predicted["image_id"][row] and not a["iscrowd"]
  ]
  free, out = list(range(len(objects))), []
  for box, score, found in zip(
    predicted["boxes"][row], predicted["scores"][row], predicted["classes"][row]
  ):
    if found < 0 or score < _LEAST:
      continue
    near = [i for i in free if objects[i][0] == found]
    best = max(near, key=lambda i: _iou(box, objects[i][1]), default=None)
    kind = "wrong"
    if best is not None and _iou(box, objects[best][1]) >= 0.5:
      free.remove(best)
      kind = "hit"
    text = f"{names[int(found)]} {score:.2f}"
    out.append((kind, tuple(map(float, box)), text))
  out += [("missed", objects[i][1], names[objects[i][0]]) for i in free]
  return out


def _corners(box: Sequence[float]) -> tuple[float, ...]:
  x, y, width, height = box
  return x, y, x + width, y + height


def _iou(one: Sequence[float], two: Sequence[float]) -> float:
  width = min(one[2], two[2]) - max(one[0], two[0])
  height = min(one[3], two[3]) - max(one[1], two[1])
  both = max(width, 0.0) * max(height, 0.0)
  areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (one, two)]
  return float(both / max(sum(areas) - both, 1e-9))


def _coco(task, predicted, gt) -> dict[str, float]:
  known = [c["id"] for c in gt["categories"]]  # by label
  there = predicted["classes"] >= 0
  row, place = np.nonzero(there)
  if len(row) and predicted["classes"].max() >= len(known):
    raise ValueError(
      f"A detection has the label {predicted['classes'].max()}; the data set has"
      f" {len(known)} classes. Use a model of its label space."
    )
  category = np.array(known)[predicted["classes"][row, place]]
  box = predicted["boxes"][row, place].astype(np.float64)
  box[:, 2:] = np.clip(box[:, 2:] - box[:, :2], 0, None)
  score = predicted["scores"][row, place].astype(np.float64)
  image = predicted["image_id"][row]
  if task == "bbox":
    dt: Any = np.column_stack([image, box, score, category])
  else:
    size = {i["id"]: [i["height"], i["width"]] for i in gt["images"]}
    texts = [t.split(" ") if t else [] for t in predicted["masks"]]
    dt = [
      {
        "image_id": int(i),
        "category_id": int(c),
        "score": float(s),
        "segmentation": {"size": size[int(i)], "counts": texts[r][p]},
      }
      for i, c, s, r, p in zip(image, category, score, row, place)
    ]
  got = detection.coco_ap(
    gt,
    dt,
    task,
    image_ids=predicted["image_id"].tolist(),
    backend=coco.fastest(),
  )
  return {f"{task}/{name}": got[name] for name in coco.STATS}


def _voc(predicted, gt) -> float:
  row, place = np.nonzero(predicted["classes"] >= 0)
  box = predicted["boxes"][row, place].astype(np.float64)
  found = [
    {"image": int(i), "label": int(c), "bbox": b, "score": float(s)}
    for i, c, b, s in zip(
      predicted["image_id"][row],
      predicted["classes"][row, place],
      box,
      predicted["scores"][row, place],
    )
  ]
  return _voc_ap(gt, found, set(predicted["image_id"].tolist()))


def voc_of_results(
  gt: Mapping[str, Any], dt: Sequence[Mapping[str, Any]]
) -> float:
  """VOC AP50 of a COCO dict and a COCO results list.

  Raises:
    ValueError: as `metrics.detection.voc_ap50`, or an unknown category.
  """
  label = {c["id"]: i for i, c in enumerate(gt["categories"])}
  found = []
  for number, d in enumerate(dt):
    if d["category_id"] not in label:
      raise ValueError(
        f"Detection {number} is of category {d['category_id']!r}, which the"
        " ground truth does not have."
      )
    x, y, width, height = d["bbox"]
    corners = np.array([x, y, x + width, y + height], np.float64)
    found.append(
      {
        "image": d["image_id"],
        "label": label[d["category_id"]],
        "bbox": corners,
        "score": d["score"],
      }
    )
  return _voc_ap(gt, found, {i["id"] for i in gt["images"]})


def _voc_ap(gt, found, shown) -> float:
  """Boxes of pixels' borders become inclusive: the last pixel is inside."""
  names = [c["name"] for c in gt["categories"]]
  label = {c["id"]: i for i, c in enumerate(gt["categories"])}
  objects = [
    {
      "image": a["image_id"],
      "label": label[a["category_id"]],
      "bbox": _inclusive(a["bbox"]),
      "difficult": a.get("difficult", 0),
    }
    for a in gt["annotations"]
    if a["image_id"] in shown
  ]
  dt = [
    {**d, "bbox": (d["bbox"] - np.array([0, 0, 1, 1])).tolist()} for d in found
  ]
  return detection.voc_ap50(objects, dt, names)["mean"]


def _inclusive(box: Sequence[float]) -> list[float]:
  x, y, width, height = box
  return [x, y, x + width - 1, y + height - 1]


def _masks(outputs, row: int, size: np.ndarray) -> str:
  """Run lengths of a picture's masks, in the order of its detections."""
  from robust_tfds.datasets import rle

  height, width = (int(n) for n in size)
  texts = []
  for box, label, mask in zip(
    outputs["boxes"][row], outputs["classes"][row], outputs["masks"][row]
  ):
    if label < 0:
      break
    whole = pasted(mask, box, height, width)
    texts.append(rle.encode(whole).counts)
  return " ".join(texts)


def pasted(
  mask: np.ndarray, box: np.ndarray, height: int, width: int
) -> np.ndarray:
  """A detection's soft mask laid into its picture: bool `[height, width]`.

  Bilinear between the mask's cells, whose centres are spread over the box; a
  pixel is inside from 0.5 up.

  Args:
    mask: float `[M, M]` in [0, 1].
    box: x1, y1, x2, y2 in px.
    height: of the picture.
    width: of the picture.
  """
  out = np.zeros((height, width), bool)
  x1, y1, x2, y2 = (float(v) for v in box)
  left, top = max(int(np.floor(x1)), 0), max(int(np.floor(y1)), 0)
  right, bottom = min(int(np.ceil(x2)), width), min(int(np.ceil(y2)), height)
  if right <= left or bottom <= top:
    return out
  padded = np.pad(np.asarray(mask, np.float32), 1)
  side = mask.shape[0]

  def axis(start, end, low, high):
    at = (np.arange(low, high) + 0.5 - start) / max(end - start, 1e-6)
    at = np.clip(at * side + 0.5, 0, side + 1)
    first = np.minimum(at.astype(int), side)
    return first, at - first

  rows, down = axis(y1, y2, top, bottom)
  cols, across = axis(x1, x2, left, right)
  upper, lower = padded[rows], padded[rows + 1]
  down = down[:, None]

  def pick(line):
    return line[:, cols] * (1 - across) + line[:, cols + 1] * across

  level = pick(upper) * (1 - down) + pick(lower) * down
  out[top:bottom, left:right] = level >= 0.5
  return out


def _summaries(own, task: str, order: Sequence[str]) -> list[table.Row]:
  metric = f"{task}/AP"
  if not any(r.metric == metric for r in own):
    metric = f"{task}/AP50"
  cells: dict[str, dict[int, float]] = {}
  clean = None
  for r in own:
    if r.metric == metric and r.corruption:
      cells.setdefault(r.corruption, {})[r.severity or 0] = r.value
    elif r.metric == metric:
      clean = r.value
  if clean is None:
    return []
  prefix = "" if task == "bbox" else f"{task}/"
  whole = {
    n: [found[s] for s in range(1, 6)]
    for n, found in cells.items()
    if len(found) == 5
  }
  numbers: list[tuple[str, str, float]] = [("", "p", clean)]
  for name in order:
    if name in cells:
      mean = float(np.mean(list(cells[name].values())))
      numbers.append((name, "mean_ap", mean))
  for suffix, scope in _SCOPES.items():
    if all(n in whole for n in benchmark.SCOPES[scope]):
      found = detection.summarize(whole, clean, scope)
      numbers.append(("", f"mpc{suffix}", found["mpc"]))
      if clean and suffix != "_validation":
        numbers.append(("", f"rpc{suffix}", found["rpc"]))
  mark = provenance.fingerprint({"cells": sorted({r.fingerprint for r in own})})
  return [
    table.Row(
      model=own[0].model,
      dataset=own[0].dataset,
      config="",
      corruption=corruption,
      severity=None,
      metric=f"{prefix}{name}",
      value=value,
      seed=own[0].seed,
      fingerprint=mark,
    )
    for corruption, name, value in numbers
  ]

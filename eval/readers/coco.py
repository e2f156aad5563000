"""COCO results lists of any program: one folder per model, one file per cell.

A folder holds `clean.json` and `<corruption>_<severity>.json`, each a COCO
results list (image_id, category_id, score, bbox and/or segmentation); its name is
the model's label. A single list is of the clean pictures. The ground truth is a COCO
instances file, or `truth.json` of a workdir.

`image_id` is an image's id. A text, or `file_name` in its place, is the image's
`file_name`, its last part, or that without the extension. So is a number if it is
the id of no image.

Images without detections may be missing from a list; `[]` means no detections at
all. Files with other names are refused. Means over a condition without a file are
empty. Scores are any finite numbers; the best 100 of each image and category count,
as in COCO.

If the ground truth's images name their anchor sets (`group_id`, `frame`,
`reviewed`: `robust_tfds.building.frame_boxes.truth`), `clean.json` holds the
detections of frames, and is scored by pm-k.
"""

import collections
import hashlib
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from eval import tasks
from eval.cells.cell import Cell
from eval.metrics.detection import checks
from eval.readers import base
from eval.tasks.detections import result_lists
from eval.tasks.parts import example_checks
from robust_tfds import conditions, errors, reading
from robust_tfds.coco import rows as coco_rows
from robust_tfds.storage import paths as paths_lib

RULES = ("coco", "voc")
_FRAMES = "frame_detection"
_SHARES_PX = 1.5  # boxes that all end below this are shares of their pictures
_OUTSIDE_PX = 2.0  # boxes may reach this far out of their pictures


class CocoReader(base.Reader):
  """Reader of folders of COCO results lists."""

  kind = "a folder of COCO results lists"
  options = ("dataset", "truth", "rules", "seed", "subset")
  example = base.Example(
    {
      "truth.json": '{"images": [{"id": 1, "width": 9, "height": 9}],'
      ' "categories": [{"id": 5, "name": "cat"}], "annotations": [{"id": 1,'
      ' "image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "area": 12,'
      ' "iscrowd": 0}]}',
      "mine/clean.json": '[{"image_id": 1, "category_id": 5, "score": 0.9,'
      ' "bbox": [1, 2, 3, 4]}]',
      "mine/fog_3.json": "[]",
    },
    "mine",
    {"truth": "truth.json"},
  )

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Return whether it is a results list, or a folder of them."""
    if path.is_file() and path.suffix == ".json":
      with path.open("rb") as file:
        return bool(file.read(64).lstrip().startswith(b"["))
    if not path.is_dir():
      return False
    if any((path / name).exists() for name in ("config.json", "cells")):
      return False
    return any(name.endswith(".json") for name in paths_lib.names(path))

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """Return the cells of all folders; a file is read when its columns are needed.

    Raises:
      UserError: no ground truth, two folders of the same name, or see `files`.
    """
    options.check(self.options, self.kind)
    dataset = options.dataset or base.UNNAMED
    if options.rules is not None and options.rules not in RULES:
      raise errors.unknown_error("rules", options.rules, RULES)
    if options.truth is None:
      raise errors.UserError(
        f"--truth: missing. The detections of {paths[0]} are scored with their ground"
        " truth: name a COCO instances file."
      )
    truth = _truth(options.truth)
    task = _FRAMES if "group_id" in truth["images"][0] else "detection"
    example_checks.check_kind(dataset, tasks.get(task).set_kind)
    labels = {
      p: paths_lib.resolved(p).name.removesuffix(".json") for p in paths
    }
    base.check_labels({path: [label] for path, label in labels.items()})
    place = {
      _cell(labels[path], condition, file, options): file
      for path in paths
      for condition, file in files(path).items()
    }
    cells = list(place)
    rules = {"rules": options.rules} if options.rules else {}
    return base.Run(
      config=base.config(task, cells, **rules),
      cells=cells,
      columns=lambda cell: columns(place[cell], truth),
      truth=truth,
      class_names=[c["name"] for c in truth["categories"]],
      notes=[f"scored from results lists in {_names(paths)}"],
    )


def files(folder: epath.Path) -> dict[conditions.Condition, epath.Path]:
  """Return the files of a folder in paper order, clean first.

  A single list is of the clean pictures.

  Raises:
    UserError: no folder, no clean.json, or a file that is not named after a
      condition.
  """
  _, *corrupted = conditions.PICTURES.known_conditions
  if folder.is_file() and folder.stem not in {c.config for c in corrupted}:
    return {conditions.Condition(): folder}
  if not folder.is_dir():
    raise errors.UserError(
      f"{folder} is not a folder of COCO results lists, one per cell."
    )
  by_condition = {
    _condition(folder / name): folder / name
    for name in paths_lib.names(folder)
    if name.endswith(".json")
  }
  if conditions.Condition() not in by_condition:
    raise errors.UserError(
      f"{folder / 'clean.json'}: missing. rPC is relative to the clean performance."
    )
  return base.sort_by_paper(by_condition)


def columns(file: epath.Path, truth: Mapping[str, Any]) -> base.Columns:
  """Return a file's detections, see `eval/tasks/detections/result_lists.py`.

  Raises:
    UserError: no results list, or not one of the ground truth's images; the
      message names the file.
  """
  try:
    results = _add_image_ids(reading.json_file(file), truth)
    detections = result_lists.columns(results, truth)
    _check_box_form(detections, truth)
    return detections
  except errors.UserError as e:
    if str(e).startswith(str(file)):
      raise
    raise errors.UserError(f"{file}: {e}") from e


def _check_box_form(detections: base.Columns, truth: Mapping[str, Any]) -> None:
  """Refuse boxes that are shares of their pictures, or (x1, y1, x2, y2).

  The latter lie in their pictures, and most would not as (x, y, w, h).
  """
  box = detections.get("bbox", np.zeros((0, 4)))
  if not len(box):
    return
  sizes = {
    i["id"]: (i.get("width") or np.inf, i.get("height") or np.inf)
    for i in truth["images"]
  }
  most = (
    np.array([sizes[i] for i in detections["image_id"].tolist()]) + _OUTSIDE_PX
  )
  start, last = box[:, :2], box[:, 2:]
  ends = start + last
  if 0 < ends.max() <= _SHARES_PX:
    form = "shares of their pictures"
  elif (start < last).all() and (last <= most).all():
    form = "(x1, y1, x2, y2)" if np.mean((ends > most).any(1)) > 0.5 else ""
  else:
    form = ""
  if form:
    raise errors.UserError(
      f"bbox: its {len(box):,} boxes are {form}. Expected (x, y, width, height) in"
      " px, as in COCO's results."
    )


def _add_image_ids(results: Any, truth: Mapping[str, Any]) -> Any:
  """Replace images' names in a results list by their ids.

  Raises:
    UserError: no image has a name, or several have.
  """
  if not isinstance(results, list):
    return results
  known = {image["id"] for image in truth["images"]}
  named: dict[Any, list[int]] = collections.defaultdict(list)
  for image in truth["images"]:
    path = pathlib.PurePosixPath(str(image.get("file_name", "")))
    number = [int(path.stem)] if path.stem.isdecimal() else []
    for name in {str(path), path.name, path.stem, *number}:
      named[name].append(image["id"])
  ambiguous = not known.isdisjoint(named)  # numbers may be ids or names

  def add_id(row: Any) -> Any:
    name = row.get("image_id", row.get("file_name"))
    number = type(name) is int and name in named and not ambiguous
    if not isinstance(name, str) and not number:
      return row
    if len(ids := named.get(name, [])) != 1:
      raise errors.UserError(
        f"image {name!r}: got {len(ids)} images of the ground truth with this name,"
        " expected one, by its id, its file_name or that without the extension."
      )
    return {**row, "image_id": ids[0]}

  return [add_id(r) if isinstance(r, Mapping) else r for r in results]


def _cell(
  label: str,
  condition: conditions.Condition,
  file: epath.Path,
  options: base.Options,
) -> Cell:
  return Cell(
    model=label,
    dataset=options.dataset or base.UNNAMED,
    condition=condition,
    seed=options.seed or 0,
    fingerprint=hashlib.sha256(file.read_bytes()).hexdigest()[:12],
  )


def _condition(file: epath.Path) -> conditions.Condition:
  try:
    return conditions.PICTURES.parse(file.stem)
  except errors.UserError as e:
    raise errors.UserError(
      f"{file} is not named after a condition: expected clean.json or"
      f" <corruption>_<severity>.json, e.g. fog_3.json. {e}"
    ) from e


def _truth(file: epath.Path) -> dict[str, Any]:
  """Return the content of a COCO instances file, after checks."""
  truth = reading.json_file(file)
  with errors.prefixed(file):
    checks.check_masks(checks.ground_truth(truth))
    for part in ("images", "annotations"):
      if not truth[part]:
        raise errors.UserError(
          f"{part}: the list is empty; average precision needs objects to find."
        )
    coco_rows.Rows.from_list(truth["categories"], "Category", "id").names(
      "name"
    )
  return truth


def _names(paths: Sequence[epath.Path]) -> str:
  return ", ".join(paths_lib.resolved(p).name for p in paths)

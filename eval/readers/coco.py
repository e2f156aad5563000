"""COCO results lists of any program, a folder a model, one file a cell.

A folder holds `clean.json` and `<corruption>_<severity>.json`, each a COCO
results list (image_id, category_id, score, bbox and/or segmentation); its name is
the model's label. The ground truth is a COCO instances file, or `truth.json` of a
workdir.

A list may hold detections of fewer images than the ground truth has: there is
none on the others. Nothing detected at all is the list `[]`. Files of other names
are refused; a condition without a file leaves the means over it empty. Scores are
any finite numbers; of each image and category the best 100 count, as in COCO.

Where the ground truth's images name their sets (`group_id`, `frame`, `reviewed`:
`robust_tfds.building.frame_boxes.truth`), `clean.json` holds the detections of
frames, and is scored by pm-k.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from etils import epath

from robust_tfds import conditions, errors, reading
from robust_tfds.coco import rows as coco_rows
from robust_tfds.eval import tasks
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.metrics.detection import checks
from robust_tfds.eval.readers import base
from robust_tfds.eval.tasks.parts import known, result_lists
from robust_tfds.storage import paths as paths_lib

RULES = ("coco", "voc")
_FRAMES = "frame_detection"


class CocoReader(base.Reader):
  """Folders of the layout above."""

  kind = "a folder of COCO results lists"
  options = ("dataset", "truth", "rules", "seed", "subset")

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Folders of JSON files that are no workdir."""
    if not path.is_dir():
      return False
    if any((path / name).exists() for name in ("config.json", "cells")):
      return False
    return any(name.endswith(".json") for name in paths_lib.names(path))

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """The cells of all folders; a file is read when its columns are asked for.

    Raises:
      UserError: no ground truth, two folders of one name, or see `files`.
    """
    options.check(self.options, self.kind)
    dataset = options.dataset or base.UNNAMED
    if options.rules is not None and options.rules not in RULES:
      raise errors.unknown("rules", options.rules, RULES)
    if options.truth is None:
      raise errors.UserError(
        "Detections are scored with their ground truth: name a COCO instances"
        " file by --truth."
      )
    truth = _truth(options.truth)
    task = _FRAMES if "group_id" in truth["images"][0] else "detection"
    known.check_kind(dataset, tasks.get(task).set_kind)
    base.check_labels({path: [paths_lib.resolved(path).name] for path in paths})
    place = {
      _cell(paths_lib.resolved(path).name, condition, file, options): file
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
      notes=[f"scored from results lists in {_listed(paths)}"],
    )


def files(folder: epath.Path) -> dict[conditions.Condition, epath.Path]:
  """The files of a folder in paper order, clean first.

  Raises:
    UserError: no folder, no clean.json, or a file that is named after no
      condition.
  """
  if not folder.is_dir():
    raise errors.UserError(
      f"{folder} is no folder of COCO results lists, one a cell."
    )
  by_condition = {
    _condition(folder / name): folder / name
    for name in paths_lib.names(folder)
    if name.endswith(".json")
  }
  if conditions.Condition() not in by_condition:
    raise errors.UserError(
      f"{folder} holds no clean.json: rPC is relative to the clean performance."
    )
  order = conditions.PICTURES.conditions()
  return dict(sorted(by_condition.items(), key=lambda i: order.index(i[0])))


def columns(file: epath.Path, truth: Mapping[str, Any]) -> base.Columns:
  """A file's detections, see `eval/tasks/parts/result_lists.py`.

  Raises:
    UserError: no results list, or one that does not fit; names the file.
  """
  try:
    return result_lists.columns(reading.json_file(file), truth)
  except errors.UserError as e:
    if str(e).startswith(str(file)):
      raise
    raise errors.UserError(f"{file}: {e}") from e


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
      f"{file} is named after no condition: clean.json or"
      f" <corruption>_<severity>.json expected, e.g. fog_3.json. {e}"
    ) from e


def _truth(file: epath.Path) -> dict[str, Any]:
  """A COCO instances file, checked."""
  truth = reading.json_file(file)
  with errors.begun(file):
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


def _listed(paths: Sequence[epath.Path]) -> str:
  return ", ".join(paths_lib.resolved(p).name for p in paths)

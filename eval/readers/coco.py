"""Scores COCO-format result files that any framework made; one file a cell.

  python -m eval.readers.coco --truth=instances_val2017.json \\
      --results=my_model/ --out=/tmp/scored

The folder holds `clean.json` and `<corruption>_<severity>.json`, each a COCO
results list (image_id, category_id, score, bbox and/or segmentation); its name is
the model's label; `--results` may name several, with commas. The ground truth is
a COCO instances file, or `truth.json` of a workdir. `--rules=voc` scores AP50 by
VOC2007's rules. Writes table.csv and the reports of `eval.main`.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from absl import app
from absl import flags

from eval import reports
from eval import tasks
from eval.metrics import detection as metrics
from eval.metrics.detection import coco
from eval.results import provenance
from eval.results import table
from eval.tasks import detection
from robust_tfds import conditions as conditions_lib

_TRUTH = flags.DEFINE_string("truth", None, "COCO instances file.")
_RESULTS = flags.DEFINE_string("results", None, "Folders, with commas.")
_DET_OUT = flags.DEFINE_string(
  "out", None, "Folder for table.csv and reports/.", allow_override=True
)
_RULES = flags.DEFINE_enum("rules", "coco", ["coco", "voc"], "Whose AP.")
_NAME = flags.DEFINE_string(
  "dataset", "coco_c", "Name in the table.", allow_override=True
)


def conditions(
  folder: pathlib.Path,
) -> list[tuple[tasks.Condition, pathlib.Path]]:
  """The cells of a folder in paper order, clean first.

  Raises:
    ValueError: no clean.json, or a file that is named after no condition.
  """
  found = {}
  for path in sorted(folder.glob("*.json")):
    found[_condition(path)] = path
  if tasks.Condition() not in found:
    raise ValueError(
      f"{folder} holds no clean.json: rPC is relative to the clean performance."
    )
  order = ["", *conditions_lib.PICTURES.names("all")]
  return sorted(
    found.items(), key=lambda i: (order.index(i[0].corruption), i[0].severity)
  )


def cell_rows(
  cell: tasks.Cell, gt: Mapping[str, Any], dt: Any, rules: str = "coco"
) -> list[table.Row]:
  """Rows of one results list.

  Raises:
    ValueError: see `metrics.detection.coco_ap`.
  """
  if not isinstance(dt, list):
    raise ValueError(f"A COCO results list expected, got {type(dt).__name__}.")
  numbers: dict[str, float] = {}
  if rules == "voc":
    numbers["bbox/AP50"] = detection.voc_of_results(gt, dt)
  else:
    for kind, key in (("bbox", "bbox"), ("segm", "segmentation")):
      if all(key in d for d in dt) and (dt or kind == "bbox"):
        got = metrics.coco_ap(gt, dt, kind, backend=coco.fastest())
        numbers |= {f"{kind}/{name}": got[name] for name in coco.STATS}
  return [
    table.Row(**vars(cell), metric=k, value=v, n=len(gt["images"]))
    for k, v in numbers.items()
    if v >= 0
  ]


def rows(
  folders: Sequence[pathlib.Path],
  gt: Mapping[str, Any],
  dataset: str,
  rules: str = "coco",
) -> list[table.Row]:
  """The whole table: cells, then P, mPC and rPC where all cells are there."""
  out: list[table.Row] = []
  for folder in folders:
    for condition, path in conditions(folder):
      try:
        data = path.read_bytes()
        dt = json.loads(data)
        cell = tasks.Cell(
          model=folder.name,
          dataset=dataset,
          config=condition.config,
          corruption=condition.corruption,
          severity=condition.severity,
          fingerprint=hashlib.sha256(data).hexdigest()[:12],
        )
        out += cell_rows(cell, gt, dt, rules)
      except ValueError as e:
        raise ValueError(f"{path}: {e}") from e
  return out + detection.summary_rows(
    out, "", conditions_lib.PICTURES.names("all")
  )


def _condition(path: pathlib.Path) -> tasks.Condition:
  if path.stem == "clean":
    return tasks.Condition()
  name, _, severity = path.stem.rpartition("_")
  if name not in conditions_lib.PICTURES.names("all") or severity not in set(
    "12345"
  ):
    raise ValueError(
      f"{path} is named after no condition: clean.json or"
      " <corruption>_<severity>.json expected, e.g. fog_3.json."
    )
  return tasks.Condition(name, int(severity))


def _context(made: Sequence[table.Row], dataset: str) -> reports.Context:
  names = [
    n
    for n in conditions_lib.PICTURES.names("all")
    if n in {r.corruption for r in made}
  ]
  return reports.Context(
    task="detection",
    dataset=dataset,
    rows=made,
    corruptions=names,
    groups=detection.groups(names),
    common=detection.COMMON,
    baseline="",
    networks=detection.published_networks(dataset),
    provenance=(
      f"robust_tfds {provenance.code_version()}, scored from result files",
    ),
  )


def main(argv: Sequence[str]) -> None:
  """Scores, writes, prints; says errors in words without a traceback."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
  try:
    gt = json.loads(pathlib.Path(str(_TRUTH.value)).read_text("utf-8"))
    folders = [pathlib.Path(f) for f in str(_RESULTS.value).split(",")]
    made = rows(folders, gt, _NAME.value, _RULES.value)
    out = pathlib.Path(str(_DET_OUT.value))
    out.mkdir(parents=True, exist_ok=True)
    table.write(made, out / "table.csv")
    reports.write_all(_context(made, _NAME.value), out / "reports")
  except (ValueError, OSError, ImportError) as e:
    sys.exit(f"Error: {e}")
  print((out / "reports" / "summary.txt").read_text("utf-8"))


if __name__ == "__main__":
  flags.mark_flags_as_required(["truth", "results", "out"])
  app.run(main)

"""Scores any framework's predictions on ImageNet-Vid-Robust or YTBB-Robust.

  python -m eval.readers.frames --predictions=mine.csv --out=/tmp/scored \\
      --dataset=imagenet_vid_robust --metadata=/data/manual

Needs the set's metadata (the README of the data set says which files), neither
pictures nor an accelerator. The predictions are a CSV with a header, or an NPZ
with one array per column, one row per frame:

  model       optional; default: the file's name
  example_id  the frame's path, `val/<video>/<frame>.JPEG` or
              `<ytid>_<ms>/frame-<n>.jpg`
  top1        int, the predicted class of the set (after `eval/tasks/label_space.py`)

Every reviewed frame needs a prediction; a missing one is named, never counted as
right or wrong. Frames of no reviewed set are left out. Writes table.csv and the
reports of the task `frames`.
"""

from __future__ import annotations

import csv
import importlib
import pathlib
import sys
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
from absl import app
from absl import flags

from eval import reports
from eval import tasks
from eval.metrics import natural_labels
from eval.results import provenance
from eval.results import table
from eval.tasks import frames as task
from robust_tfds import errors
from robust_tfds.datasets import frames
from robust_tfds.datasets.sources import folders

DATASETS = ("imagenet_vid_robust", "ytbb_robust")
_REQUIRED = ("example_id", "top1")

Columns = Mapping[str, np.ndarray]


def sets(dataset: str, folder: pathlib.Path) -> list[frames.Frame]:
  """The reviewed sets of a data set, from its metadata.

  Raises:
    ValueError: an unknown data set, or broken metadata.
    FileNotFoundError: no metadata in the folder.
  """
  module = _metadata(dataset)
  files = folders.SourceFolders((folder,), module.INSTRUCTIONS)
  found = module.reviewed(files)
  frames.check(found)
  return found


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
  """The predictions of a file: `model`, `example_id` and `top1`.

  Raises:
    ValueError: another kind of file, a missing column, ids that are not whole
      numbers, or no rows.
    FileNotFoundError: no such file.
  """
  if not path.exists():
    raise FileNotFoundError(f"{path} does not exist.")
  if path.suffix == ".npz":
    with np.load(path, allow_pickle=False) as data:
      columns = {k: data[k] for k in data.files}
  elif path.suffix == ".csv":
    with path.open(newline="", encoding="utf-8") as f:
      rows = list(csv.DictReader(f))
    columns = (
      {k: np.array([r[k] for r in rows]) for k in rows[0]} if rows else {}
    )
  else:
    raise errors.unknown(
      "kind of predictions file", path.suffix, (".csv", ".npz")
    )
  absent = [c for c in _REQUIRED if c not in columns]
  if absent or not len(columns["top1"]):
    raise ValueError(
      f"{path} lacks {', '.join(absent) or 'rows'}; the schema is in"
      " eval/readers/frames.py."
    )
  try:
    whole = columns["top1"].astype(np.int64)
  except (TypeError, ValueError) as e:
    raise ValueError(f"{path}, column 'top1': {e}.") from e
  if columns["top1"].dtype.kind == "f" and (whole != columns["top1"]).any():
    raise ValueError(f"{path}, column 'top1': class ids are whole numbers.")
  default = np.full(len(whole), path.stem)
  return {
    "model": np.asarray(columns.get("model", default), np.str_),
    "example_id": np.asarray(columns["example_id"], np.str_),
    "top1": whole,
  }


def rows(
  columns: Columns, wanted: Sequence[frames.Frame], dataset: str
) -> list[table.Row]:
  """The table of all models of a file.

  Raises:
    ValueError: a frame without a prediction of a model, or with two, or a class
      that the set does not have; names it.
  """
  classes = len(_metadata(dataset).classes())
  out: list[table.Row] = []
  kept: dict[tuple[str, tasks.Condition], Columns] = {}
  for model in dict.fromkeys(columns["model"].tolist()):
    own = columns["model"] == model
    ids = [f.example_id for f in wanted]
    top1 = natural_labels.aligned(
      ids, columns["example_id"][own].tolist(), columns["top1"][own]
    )
    predicted = _predicted(wanted, top1)
    natural_labels.correct(top1, predicted["labels"], classes)  # checks the ids
    mark = provenance.fingerprint({"ids": ids, "top1": top1.tolist()})
    cell = tasks.Cell(
      model=model,
      dataset=dataset,
      config="clean",
      corruption="",
      severity=0,
      fingerprint=mark,
    )
    out += task.cell_rows(cell, predicted)
    kept[model, task.Frames()] = task.keep(predicted)
  return out + task.summary_rows(out, "", (), kept)


def _predicted(
  wanted: Sequence[frames.Frame], top1: np.ndarray
) -> dict[str, np.ndarray]:
  n = len(wanted)
  labels = np.full((n, max(len(f.labels) for f in wanted)), -1, np.int32)
  for i, frame in enumerate(wanted):
    labels[i, : len(frame.labels)] = frame.labels
  return {
    "example_id": np.array([f.example_id for f in wanted]),
    "group_id": np.array([f.group_id for f in wanted]),
    "frame": np.array([f.frame for f in wanted], np.int32),
    "labels": labels,
    "top5": top1[:, None],
    "reviewed": np.ones(n, bool),
    "frame_type": np.full(n, ""),
    "fps": np.zeros(n, np.float32),
    "linf": np.full(n, np.nan, np.float32),
  }


def _metadata(dataset: str):
  if dataset not in DATASETS:
    raise errors.unknown("set of frames", dataset, DATASETS)
  return importlib.import_module(f"robust_tfds.datasets.{dataset}.metadata")


def context(scored: Sequence[table.Row], dataset: str) -> reports.Context:
  """What the reports need to know of a scored file."""
  return reports.Context(
    task="frames",
    dataset=dataset,
    rows=scored,
    corruptions=(),
    groups={},
    common=(),
    baseline="",
    class_names=[c["name"] for c in _metadata(dataset).classes()],
    networks=task.published_networks(dataset),
    provenance=(
      f"robust_tfds {provenance.code_version()}, scored from a file",
    ),
  )


def main(argv: Sequence[str]) -> None:
  """Scores, writes, prints; says errors in words without a traceback."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
  given = flags.FLAGS
  try:
    columns = read(pathlib.Path(given.predictions))
    wanted = sets(given.dataset, pathlib.Path(given.metadata))
    scored = rows(columns, wanted, given.dataset)
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    table.write(scored, out / "table.csv")
    reports.write_all(context(scored, given.dataset), out / "reports")
  except (ValueError, OSError) as e:
    sys.exit(f"Error: {e}")
  print((out / "reports" / "summary.txt").read_text("utf-8"))


if __name__ == "__main__":
  flags.DEFINE_string("predictions", None, "A CSV or NPZ file.", required=True)
  flags.DEFINE_string(
    "metadata", None, "Folder of the metadata.", required=True
  )
  flags.DEFINE_string("out", None, "For table.csv and reports/.", required=True)
  flags.DEFINE_string("dataset", DATASETS[0], " or ".join(DATASETS))
  app.run(main)

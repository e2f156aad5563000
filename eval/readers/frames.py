"""Predictions of any program on ImageNet-Vid-Robust or YTBB-Robust.

This needs the set's metadata (see the README of the data set), but no pictures. A
CSV with a header, an NPZ with one array per column, or Parquet, one row per frame:

  model       optional; default: the file's name
  example_id  the frame's path, `val/<video>/<frame>.JPEG` or
              `<ytid>_<ms>/frame-<n>.jpg`
  top1        int, the predicted class of the set (`eval/tasks/parts/label_space`)

Every reviewed frame needs a prediction; a missing one is an error. Frames outside
the reviewed sets are left out and other columns are not read; notes name both.
"""

import importlib
import types
from collections.abc import Sequence

import numpy as np
from etils import epath

from eval.cells import provenance
from eval.cells.cell import Cell
from eval.metrics import natural_labels
from eval.readers import base
from eval.readers import csv as csv_reader
from eval.tasks.parts import class_names
from robust_tfds import conditions, errors
from robust_tfds.building import frames as frame_sets
from robust_tfds.building.sources import folders
from robust_tfds.reading import column_files
from robust_tfds.reading.column_files import ColumnFile

_REQUIRED = ("example_id", "top1")


class FramesReader(base.Reader):
  """Reader of files of predictions on frames."""

  kind = "a file of predictions on frames"
  options = ("dataset", "metadata", "seed", "columns", "separator", "classes")

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Return whether it is a table, and a set of frames is named."""
    return path.suffix in column_files.suffixes() and options.has_frames

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """Return one cell for each model; see `cells` for refusals."""
    options.check(self.options, self.kind)
    dataset = options.dataset or base.FRAME_SETS[0]
    if options.metadata is None:
      raise errors.UserError(
        f"--metadata: missing. The anchor sets of {dataset} are in its metadata: name"
        " that folder."
      )
    frames = reviewed(dataset, options.metadata)
    columns_by_cell: dict[Cell, dict[str, np.ndarray]] = {}
    labels = {}
    notes = [f"scored from {', '.join(p.name for p in paths)}"]
    for path in paths:
      file = csv_reader.open_file(path, options, _REQUIRED)
      labels[path] = csv_reader.models(file)
      base.check_labels(labels)
      classes = class_names.Classes.from_labels(dataset, options.classes)
      top1 = classes.column(file, "top1")
      columns_by_cell |= cells(file, frames, top1, dataset, options.seed or 0)
      notes += csv_reader.unread(file)
      notes += _left_out(file, frames)
    listed = list(columns_by_cell)
    return base.Run(
      config=base.config("frames", listed),
      cells=listed,
      columns=columns_by_cell.__getitem__,
      class_names=[c["name"] for c in _metadata(dataset).classes()],
      notes=notes,
    )


def reviewed(dataset: str, folder: epath.Path) -> list[frame_sets.Frame]:
  """Return the reviewed frames of a data set, from its metadata.

  Raises:
    UserError: an unknown data set.
    ValueError: broken metadata.
    FileNotFoundError: no metadata in the folder.
  """
  module = _metadata(dataset)
  files = folders.SourceFolders((folder,), module.INSTRUCTIONS)
  frames = module.reviewed(files)
  frame_sets.check(frames)
  return frames


def cells(
  file: ColumnFile,
  frames: Sequence[frame_sets.Frame],
  top1: np.ndarray,
  dataset: str,
  seed: int = 0,
) -> dict[Cell, dict[str, np.ndarray]]:
  """Return a cell for every model of a file.

  Args:
    file: ids of frames, and models.
    frames: the reviewed frames.
    top1: predicted classes, int64 `[N]`.

  Raises:
    UserError: a frame has no prediction of a model, or two; the message names it.
  """
  ids = [f.example_id for f in frames]
  column = file.texts("model")
  out = {}
  for model in csv_reader.models(file):
    rows = np.flatnonzero(column.codes == column.values.index(model))
    predicted = file.texts("example_id").array(rows)
    try:
      model_top1 = natural_labels.aligned(ids, predicted, top1[rows])
    except errors.UserError as e:
      where = f"{file.path}: {model}" if len(column.values) > 1 else file.path
      raise errors.UserError(f"{where}: {e}") from e
    columns = _cell_columns(frames, model_top1)
    mark = provenance.fingerprint({"ids": ids, "top1": model_top1.tolist()})
    out[Cell(model, dataset, conditions.Condition(), seed, mark)] = columns
  return out


def _left_out(
  file: ColumnFile, frames: Sequence[frame_sets.Frame]
) -> list[str]:
  """Return a note on frames outside the reviewed sets."""
  outside = set(file.texts("example_id").values) - {
    f.example_id for f in frames
  }
  if not outside:
    return []
  return [
    f"{len(outside)} frames of {file.path.name} are in no reviewed set and were"
    f" left out, e.g. {min(outside)}"
  ]


def _cell_columns(
  frames: Sequence[frame_sets.Frame], top1: np.ndarray
) -> dict[str, np.ndarray]:
  n = len(frames)
  labels = np.full((n, max(len(f.labels) for f in frames)), -1, np.int32)
  for i, frame in enumerate(frames):
    labels[i, : len(frame.labels)] = frame.labels
  return {
    "example_id": np.array([f.example_id for f in frames]),
    "group_id": np.array([f.group_id for f in frames]),
    "frame": np.array([f.frame for f in frames], np.int32),
    "label": labels[:, 0],
    "labels": labels,
    "top5": top1[:, None],
    "reviewed": np.ones(n, bool),
    "frame_type": np.full(n, ""),
    "fps": np.zeros(n, np.float32),
    "linf": np.full(n, np.nan, np.float32),
  }


def _metadata(dataset: str) -> types.ModuleType:
  if dataset not in base.FRAME_SETS:
    raise errors.unknown_error("set of frames", dataset, base.FRAME_SETS)
  return importlib.import_module(f"robust_tfds.datasets.{dataset}.metadata")

"""A run's folder: where everything lies, and whose it is.

config.json                                    the run's config, and `versions`
cells/<label>/<dataset>/<condition>/seed<n>/   predictions.npz, provenance.json
truth.json                                     ground truth, where a task has one
models/<label>/                                weights that the run trained
data/                                          TFDS sets, where no other is named
table.csv  timing.json  contents.json  reports/
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import ml_collections
import numpy as np

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.results import predictions
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results import table
from robust_tfds.eval.results.cell import Cell

# Of the layout and of what a cell's columns mean. 1: before the tables of
# conditions; its Cityscapes-C on the fly is not what is prepared.
VERSION = 2
# What may differ between two launches of one workdir: nothing here can change
# a number.
_RESUMABLE = (
  "batch_size",
  "data.cache_gib",
  "data.data_dir",
  "data.manual_dir",
  "reports",
)


@dataclasses.dataclass(frozen=True)
class Workdir:
  """The folder of a run, or of predictions that were scored."""

  path: pathlib.Path

  @property
  def config_path(self) -> pathlib.Path:
    """The run's settings."""
    return self.path / "config.json"

  @property
  def table_path(self) -> pathlib.Path:
    """The tidy table."""
    return self.path / "table.csv"

  @property
  def timing_path(self) -> pathlib.Path:
    """Where the run's time went."""
    return self.path / "timing.json"

  @property
  def contents_path(self) -> pathlib.Path:
    """Hashes of the files that were read, see `eval/run/contents.py`."""
    return self.path / "contents.json"

  @property
  def reports(self) -> pathlib.Path:
    """Folder of the reports."""
    return self.path / "reports"

  @property
  def data(self) -> pathlib.Path:
    """Folder of TFDS sets, where the config names none."""
    return self.path / "data"

  def model_folder(self, label: str) -> pathlib.Path:
    """Where weights lie that the run trained."""
    return self.path / "models" / label

  # The config.

  def config(self) -> ml_collections.ConfigDict:
    """The settings of the run.

    Raises:
      UserError: no workdir, one of another version, or a broken config.json.
    """
    config = ml_collections.ConfigDict(self._read_config())
    with config.unlocked():
      del config["versions"]
    return config

  def claim(self, config: ml_collections.ConfigDict) -> None:
    """Writes config.json, or checks that it is this run's.

    Raises:
      UserError: the workdir belongs to another config (names what differs) or
        to another version.
    """
    ours = json.loads(config.to_json_best_effort())
    self.check(config)
    self.path.mkdir(parents=True, exist_ok=True)
    versions = {"workdir": VERSION, "pixels": provenance.PIXELS_VERSION}
    text = json.dumps({**ours, "versions": versions}, indent=1, sort_keys=True)
    write_text(self.config_path, text + "\n")

  def check(self, config: ml_collections.ConfigDict) -> None:
    """Refuses to run here what `claim` would refuse; writes nothing."""
    if self.config_path.exists():
      ours = json.loads(config.to_json_best_effort())
      self._check_same(self._read_config(), ours)

  def _read_config(self) -> dict[str, Any]:
    if not self.config_path.exists():
      raise errors.UserError(
        f"{self.path} is no workdir: it holds no config.json."
      )
    try:
      config = json.loads(self.config_path.read_text("utf-8"))
    except ValueError as e:
      raise errors.UserError(f"{self.config_path}: no JSON: {e}.") from e
    if not isinstance(config, dict):
      raise errors.UserError(
        f"{self.config_path}: expected an object, got {type(config).__name__}."
      )
    versions = config.get("versions")
    version = versions.get("workdir") if isinstance(versions, dict) else 1
    if version != VERSION:
      raise errors.UserError(
        f"{self.path} is a workdir of version {version}; this code reads and"
        f" continues version {VERSION}. Its numbers stay in its table.csv; run"
        " again in a new --workdir, or use the robust_tfds that wrote it."
      )
    self._check_pixels(config["versions"])
    return config

  def _check_pixels(self, versions: Mapping[str, Any]) -> None:
    pixels = versions.get("pixels")
    if pixels != provenance.PIXELS_VERSION:
      raise errors.UserError(
        f"{self.path} holds cells of pixels of version {pixels!r}; this code"
        f" makes version {provenance.PIXELS_VERSION}, and a table must not mix"
        " them. Its numbers stay in its table.csv; run again in a new --workdir."
      )

  def _check_same(
    self, theirs: Mapping[str, Any], ours: Mapping[str, Any]
  ) -> None:
    differ = differences(theirs, ours)
    if differ:
      listed = "; ".join(
        f"{k}: {then!r} there, {now!r} now" for k, (then, now) in differ.items()
      )
      raise errors.UserError(
        f"{self.path} belongs to a run with another config ({listed}). Use"
        " another --workdir, or the old settings to continue that run."
      )

  # Cells.

  def cell_folder(self, cell: Cell) -> pathlib.Path:
    """Where a cell lies."""
    return predictions.folder(
      self.path / "cells",
      cell.model,
      cell.dataset,
      cell.condition.config,
      f"seed{cell.seed}",
    )

  def done(self, cell: Cell) -> bool:
    """Whether a cell is finished."""
    return predictions.done(self.cell_folder(cell))

  def note(self, cell: Cell) -> Cell:
    """What a finished cell says of itself: with its own fingerprint."""
    return Cell.of_note(predictions.provenance(self.cell_folder(cell)))

  def columns(self, cell: Cell) -> dict[str, np.ndarray]:
    """The predictions of a finished cell."""
    return predictions.read(self.cell_folder(cell))[0]

  def write_cell(self, cell: Cell, columns: predictions.Columns) -> None:
    """Writes a whole cell at once."""
    self.write_shard(cell, columns)
    self.finish_cell(cell)

  def write_shard(
    self,
    cell: Cell,
    columns: predictions.Columns,
    index: int = 0,
    count: int = 1,
  ) -> None:
    """Writes the rows of one host of `count`."""
    predictions.write_shard(self.cell_folder(cell), columns, index, count)

  def finish_cell(self, cell: Cell, count: int = 1) -> predictions.Columns:
    """Merges the shards of `count` hosts; the cell is done then."""
    return predictions.finish(self.cell_folder(cell), cell.note(), count)

  def discard_unfinished(self) -> None:
    """Removes what a killed run left half written."""
    predictions.discard_unfinished(self.path / "cells")

  def cells(self) -> list[Cell]:
    """All finished cells: by model, then in the order of the conditions."""
    notes = sorted((self.path / "cells").glob("*/*/*/seed*/provenance.json"))
    listed = [
      Cell.of_note(predictions.provenance(path.parent))
      for path in notes
      if predictions.done(path.parent)
    ]
    labels = self.labels()
    labels += sorted({c.model for c in listed} - set(labels))
    return sorted(
      listed,
      key=lambda c: (labels.index(c.model), *place(c.condition), c.seed),
    )

  def has_cells(self) -> bool:
    """Whether there is any cell, finished or not."""
    return (self.path / "cells").is_dir()

  def labels(self) -> list[str]:
    """Labels of the run's models, in the order of the config."""
    return labels_of(self.config())

  # Everything else.

  def truth(self) -> dict[str, Any] | None:
    """The ground truth that the run's cells are scored with, if it has one."""
    path = self.path / "truth.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None

  def write_truth(self, truth: Mapping[str, Any]) -> None:
    """Keeps the ground truth beside the cells."""
    write_text(self.path / "truth.json", json.dumps(truth))

  def write_table(self, rows: Sequence[table.Row]) -> None:
    """Writes table.csv whole."""
    table.write(rows, self.table_path)


def labels_of(config: ml_collections.ConfigDict) -> list[str]:
  """Labels of a config's models."""
  if "model" in config and config.model.get("name"):
    return [config.model.get("label") or config.model.name]
  return list(config.get("models", {}))


def differences(
  one: Mapping[str, Any], other: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
  """What two configs say differently and can change a number.

  Returns:
    `data.name` and so on -> both values, None where there is none.
  """
  first, second = _flat(one), _flat(other)
  return {
    k: (first.get(k), second.get(k))
    for k in sorted(first.keys() | second.keys())
    if k not in _RESUMABLE
    and not k.startswith("versions.")
    and not k.endswith(".allow_random")  # permits, and is in the fingerprint
    and first.get(k) != second.get(k)
  }


def place(condition: conditions.Condition) -> tuple[int, int]:
  """Sorts conditions: clean first, then as in the papers."""
  if condition.clean:
    return -1, 0
  names = conditions.family(condition.kind).names()
  return names.index(condition.name), condition.level


def write_text(path: pathlib.Path, text: str) -> None:
  """Writes a file whole: under a temporary name, then renamed into place."""
  temporary = path.with_name(path.name + ".tmp")
  temporary.write_text(text, "utf-8")
  os.replace(temporary, path)


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
  if not isinstance(tree, Mapping):
    return {prefix: tree}
  out: dict[str, Any] = {}
  for key, value in tree.items():
    out.update(_flat(value, f"{prefix}.{key}" if prefix else key))
  return out

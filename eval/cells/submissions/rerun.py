"""Computes cells of a submission again and holds them against what it says.

Which ones follows from the checksum of its manifest: two checkers choose the same,
and nobody can choose for them but by making the whole submission anew. The model
and the data are those that the config names, on this machine. Weights have to have
the sha256 of the facts. Predictions are equal, or, on another kind of device, equal
in all whole numbers and texts (the five classes) and in every number to `TOLERANCE`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import TypeVar

import ml_collections
import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.eval.cells import cell_facts
from robust_tfds.eval.cells import workdir as workdir_lib
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.submissions.manifest import Manifest
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.readers.base import Run
from robust_tfds.shards import Shard

TOLERANCE = 1e-3  # absolute or relative, whichever is larger
# Facts that may differ: other files may hold the same pixels.
_FREE = ("content",)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _Chosen(Shard):
  """A shard that makes the cells that it names."""

  cells: frozenset = frozenset()

  def of(self, items: Sequence[T]) -> list[T]:
    """Those that are named."""
    return [item for item in items if item in self.cells]


def rerun(
  folder: epath.Path,
  manifest: Manifest,
  run: Run,
  count: int,
) -> list[str]:
  """Computes some cells again.

  Args:
    folder: of the submission.
    manifest: that lies in it.
    run: of the submission.
    count: how many cells; all where there are fewer.

  Returns:
    What was reproduced, a line each.

  Raises:
    UserError: the model or the data is not here, or the cells come out otherwise:
      names the first and how many rows differ.
  """
  cells = chosen(manifest, run.cells, count)
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as temporary:
    made = _run(run, cells, epath.Path(temporary))
    exact = [_compare(folder, made, cell, run.columns(cell)) for cell in cells]
  names = ", ".join(f"{c.model} {c.condition.config}" for c in cells)
  same = sum(exact)
  lines = [f"{len(cells)} cells, computed again: {names}"]
  if same:
    lines.append(f"{same} of them are equal in every bit")
  if same < len(cells):
    lines.append(
      f"{len(cells) - same} of them are equal in all classes and texts, and in"
      f" every number to {TOLERANCE:g}"
    )
  return lines


def chosen(manifest: Manifest, cells: Sequence[Cell], count: int) -> list[Cell]:
  """The cells that are computed again: a rule that anybody can repeat.

  Ordered by the sha256 of the manifest's checksum and the cell's place.
  """

  def mark(cell: Cell) -> str:
    text = "/".join((manifest.checksum, *cell.place))
    return hashlib.sha256(text.encode()).hexdigest()

  return sorted(cells, key=mark)[:count]


def _run(
  run: Run,
  cells: Sequence[Cell],
  folder: epath.Path,
) -> dict[Cell, tuple[Cell, Workdir]]:
  """Makes the cells; gives each with what was made and where."""
  from robust_tfds.eval.run import plan as plan_lib
  from robust_tfds.eval.run import runner

  _check_models(run.config)
  out: dict[Cell, tuple[Cell, Workdir]] = {}
  for number, dataset in enumerate(dict.fromkeys(c.dataset for c in cells)):
    of_dataset = [c for c in cells if c.dataset == dataset]
    try:
      plan = plan_lib.make(run.settings(dataset))
      named = frozenset((c.model, c.condition) for c in of_dataset)
      place = folder / str(number)
      # What a run prints is no part of the answer.
      with contextlib.redirect_stdout(sys.stderr):
        runner.Runner(
          plan, place, shard=_Chosen(1, 2, named), report=False
        ).run()
    except FileNotFoundError as e:
      raise errors.UserError(
        f"--rerun: what config.json names is not on this machine: {e}"
      ) from e
    workdir = Workdir(place)
    made = {(c.model, c.condition): c for c in workdir.cells()}
    for cell in of_dataset:
      out[cell] = made[cell.model, cell.condition], workdir
  return out


def _check_models(config: ml_collections.ConfigDict) -> None:
  """Refuses models that cannot be run, and code that a submission names."""
  entries = config.get("models") or {"": config.get("model")}
  if not hasattr(entries, "items"):
    raise errors.UserError(
      "--rerun: these predictions are of another program: config.json names no"
      " model that could be run."
    )
  for entry in entries.values():
    name = str((entry or {}).get("name", ""))
    if not name or ":" in name:
      raise errors.UserError(
        f"--rerun: config.json names the model {name!r}, which is code of the"
        " submitter or nothing at all. Only models of robust_tfds are run: no"
        " submission says what code this machine runs."
      )


def _compare(
  folder: epath.Path,
  made: Mapping[Cell, tuple[Cell, Workdir]],
  cell: Cell,
  columns: Mapping[str, np.ndarray],
) -> bool:
  """Whether all is equal in every bit; refuses what is not reproduced."""
  again, workdir = made[cell]
  source = workdir_lib.Workdir(folder).cell_folder(cell)
  _check_facts(str(source), cell, again)
  now = workdir.columns(again)
  # A column may be younger than the submission.
  names = [name for name in columns if name in now]
  absent = [name for name in columns if name not in now]
  if absent:
    raise errors.UserError(
      f"{source}: the column {absent[0]!r} does not come out of this run."
    )
  if len(now["example_id"]) != len(columns["example_id"]):
    raise errors.UserError(
      f"{source}: {len(columns['example_id']):,} rows, but"
      f" {len(now['example_id']):,} come out of this run."
    )
  differ = np.zeros(len(now["example_id"]), bool)
  for name in names:
    differ |= _differ(columns[name], now[name])
  if differ.any():
    first = str(columns["example_id"][np.flatnonzero(differ)[0]])
    raise errors.UserError(
      f"{source}: {int(differ.sum()):,} of {len(differ):,} rows of {cell.model}"
      f" {cell.condition.config} come out otherwise, the first is {first!r}: it"
      " is not reproduced."
    )
  return all(_same(columns[name], now[name]) for name in names)


def _check_facts(source: str, cell: Cell, again: Cell) -> None:
  """Refuses other weights and other data than those of the facts."""
  assert cell.model_facts and cell.data and again.model_facts and again.data
  if cell.model_facts.weights not in (None, again.model_facts.weights):
    raise errors.UserError(
      f"{source}: the weights of {cell.model} that are here have the sha256"
      f" {again.model_facts.weights}, but the facts say {cell.model_facts.weights}."
    )
  differ = {
    name: values
    for name, values in cell_facts.differences(
      cell.data.words(), again.data.words()
    ).items()
    if name not in _FREE and values[0] is not None
  }
  if differ:
    name, (one, other) = next(iter(differ.items()))
    raise errors.UserError(
      f"{source}: the data that are here differ: {name}: {one!r} in the facts,"
      f" {other!r} here."
    )


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
  """bool `[N]`: rows that are not equal, numbers to `TOLERANCE`."""
  if one.shape != other.shape:
    return np.ones(len(one), bool)
  if one.dtype.kind == "f":
    close = np.isclose(
      one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
    )
  else:
    close = np.asarray(one == other)
  return ~close.reshape(len(one), -1).all(axis=1)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
  """Whether every bit is equal; of texts every letter."""
  if one.dtype.kind in "UTS":
    return bool((one == other).all())
  return one.dtype == other.dtype and one.tobytes() == other.tobytes()

"""Workdirs: the cells of runs, or of predictions that were scored before.

Several workdirs are read as one: the shards of a run, which have the same config
and different cells, or runs over the same data with different labels of models.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_collections
import numpy as np
from etils import epath

from eval import tasks
from eval.cells import workdir as workdir_lib
from eval.cells.cell import Cell
from eval.cells.files import config_file
from eval.cells.workdir import ReadWorkdir, Workdir
from eval.readers import base
from eval.tasks.parts import example_checks
from robust_tfds import errors

# Settings that may differ between runs that are read as one: the conditions, and
# whether their pixels, which are the same, were prepared.
_SELECTING = (
  "data.corruptions",
  "data.perturbations",
  "data.severities",
  "data.difficulties",
  "data.source",
)


class WorkdirReader(base.Reader):
  """Reader of the folders of `eval.main` and `eval.score`."""

  kind = "a workdir"
  options = ("baseline",)
  stored = True

  def fits(self, path: epath.Path, options: base.Options) -> bool:
    """Return whether it is a folder with a config."""
    return path.is_dir() and Workdir(path).config_path.exists()

  def read(
    self, paths: Sequence[epath.Path], options: base.Options
  ) -> base.Run:
    """Return the finished cells of all workdirs; none is copied.

    Raises:
      UserError: no workdir, no finished cell, runs that are not comparable, or two
        models with the same label. `columns` raises it for groups that the data
        set does not have.
    """
    options.check(self.options, self.kind)
    workdirs = [ReadWorkdir(path) for path in paths]
    configs = [workdir.config() for workdir in workdirs]
    for workdir, config in zip(workdirs, configs):
      with errors.prefixed(workdir.config_path):
        tasks.bind(config)
    for workdir, config in zip(workdirs[1:], configs[1:]):
      _check_comparable((workdirs[0], workdir), (configs[0], config))
    _check_labels(workdirs, configs)
    home = _cells(workdirs, configs)
    if not home:
      listed = ", ".join(map(str, paths))
      raise errors.UserError(f"{listed}: no finished cells yet.")
    config = configs[0].copy_and_resolve_references()
    config.unlock()
    config.baseline = _baseline(workdirs, configs, options.baseline)
    return base.Run(
      config=config,
      cells=list(home),
      columns=_columns(home),
      truth=_truth(workdirs),
      model_names=_model_names(configs),
      notes=[_note(len(home), configs)],
      home=home.__getitem__,
    )


def _check_comparable(
  workdirs: tuple[Workdir, Workdir],
  configs: tuple[ml_collections.ConfigDict, ml_collections.ConfigDict],
) -> None:
  first, second = map(_settings, configs)
  differ = {
    name: values
    for name, values in config_file.differences(first, second).items()
    if name not in _SELECTING
  }
  pixels = [w.versions()["pixels"] for w in workdirs]
  if pixels[0] != pixels[1]:
    differ["pixels of version"] = pixels[0], pixels[1]
  if differ:
    listed = "; ".join(
      f"{name}: {a!r} and {b!r}" for name, (a, b) in differ.items()
    )
    raise errors.UserError(
      f"{workdirs[0].path} and {workdirs[1].path} are not comparable ({listed})."
      " Score them separately."
    )


def _settings(config: ml_collections.ConfigDict) -> dict[str, Any]:
  """Return the settings that the numbers of any model depend on."""
  whole = config_file.plain(config)
  names = ("task", "seed", "data", "metric", "better")
  return {k: whole.get(k) for k in names}


def _cells(
  workdirs: Sequence[Workdir], configs: Sequence[ml_collections.ConfigDict]
) -> dict[Cell, Workdir]:
  """Return every cell and its workdir, in the order of the table."""
  home: dict[Cell, Workdir] = {}
  first: dict[tuple, tuple[Cell, Workdir]] = {}
  for workdir in workdirs:
    for cell in workdir.cells():
      place = cell.model, cell.dataset, cell.condition, cell.seed
      before, its_workdir = first.setdefault(place, (cell, workdir))
      if before != cell:
        raise errors.UserError(
          f"{its_workdir.path} and {workdir.path} both hold {cell.model}"
          f" {cell.condition.config}, made from different weights, data or code."
        )
      home.setdefault(cell, workdir)
  _check_one_model(home)
  labels = list(
    dict.fromkeys(
      [label for c in configs for label in workdir_lib.labels_of(c)]
      + [cell.model for cell in home]
    )
  )
  datasets = list(dict.fromkeys(c.dataset for c in home))

  def position(cell: Cell) -> tuple[int, ...]:
    return (
      datasets.index(cell.dataset),
      labels.index(cell.model),
      *workdir_lib.sort_key(cell.condition),
      cell.seed,
    )

  return {cell: home[cell] for cell in sorted(home, key=position)}


def _columns(
  home: Mapping[Cell, Workdir],
) -> Callable[[Cell], dict[str, np.ndarray]]:
  """Return a function of a cell's columns that checks the groups."""
  checked: set[tuple[str, str]] = set()

  def columns(cell: Cell) -> dict[str, np.ndarray]:
    workdir = home[cell]
    out = workdir.columns(cell)
    key = cell.dataset, workdir.note(cell).examples.sha256
    if key not in checked:
      example_checks.check_groups(
        str(workdir.cell_folder(cell)), cell.dataset, out
      )
      checked.add(key)
    return out

  return columns


def _check_one_model(home: Mapping[Cell, Workdir]) -> None:
  """Refuse shards whose cells of one label are of different models."""
  first: dict[str, Cell] = {}
  for cell, workdir in home.items():
    if not cell.of_model:  # predictions of another program
      continue
    before = first.setdefault(cell.model, cell)
    if before.of_model != cell.of_model:
      raise errors.UserError(
        f"{home[before].path} and {workdir.path} both hold cells of"
        f" {cell.model}, e.g. {before.condition.config} and"
        f" {cell.condition.config}, made from different weights, preprocessing or"
        " code. They are not shards of one run: score them separately."
      )


def _check_labels(
  workdirs: Sequence[Workdir], configs: Sequence[ml_collections.ConfigDict]
) -> None:
  """Refuse a label in two workdirs that are not shards of one run."""
  for second, config in enumerate(configs):
    for first, before in enumerate(configs[:second]):
      if config_file.differences(
        config_file.plain(before), config_file.plain(config)
      ):
        pair = workdirs[first], workdirs[second]
        base.check_labels({w.path: w.labels() for w in pair})


def _baseline(
  workdirs: Sequence[Workdir],
  configs: Sequence[ml_collections.ConfigDict],
  override: str | None,
) -> str:
  if override is not None:
    return override
  names = {c.get("baseline", ""): w.path for w, c in zip(workdirs, configs)}
  if len(names) > 1:
    listed = ", ".join(f"{path}: {name!r}" for name, path in names.items())
    raise errors.UserError(
      f"The runs have different baselines ({listed}): choose one by --baseline."
    )
  return next(iter(names))


def _truth(workdirs: Sequence[Workdir]) -> dict[str, Any] | None:
  truths = [(w, t) for w in workdirs if (t := w.truth()) is not None]
  for workdir, truth in truths[1:]:
    if truth != truths[0][1]:
      raise errors.UserError(
        f"{truths[0][0].path} and {workdir.path} have different ground truth"
        " (truth.json). Score them separately."
      )
  return truths[0][1] if truths else None


def _model_names(
  configs: Sequence[ml_collections.ConfigDict],
) -> Mapping[str, str]:
  """Return label -> the model's name in `models`; only runs have it."""
  return {
    label: model["name"]
    for config in configs
    for label, model in workdir_lib.models_of(config).items()
    if "name" in model
  }


def _note(finished: int, configs: Sequence[ml_collections.ConfigDict]) -> str:
  """Return how many of the planned cells are finished; shards count once."""
  texts = {c.to_json_best_effort(): c for c in configs}
  planned = sum(
    len(tasks.bind(c).conditions()) * len(workdir_lib.labels_of(c))
    for c in texts.values()
  )
  return f"scored again from {finished} of {planned} cells"

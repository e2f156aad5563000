"""Writes a run as a submission.

A submission gets the run's cells, config and ground truth, the recomputed table,
and last `submission.json`. Predictions stay as they are in the run. The note of a
cell gets the facts that were unknown when it was written.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from etils import epath

from eval.cells import cell_facts, table
from eval.cells.cell import Cell
from eval.cells.cell_facts import ModelFacts
from eval.cells.files import config_file
from eval.cells.files import note as note_lib
from eval.cells.workdir import Workdir
from eval.compare import runs as runs_lib
from eval.compare.sides import Side
from eval.readers.base import Run
from eval.submissions import files as files_lib
from eval.submissions import manifest as manifest_lib
from robust_tfds import errors
from robust_tfds.storage import disk, paths


def export(
  runs: Sequence[epath.Path],
  out: epath.Path,
  trained_on: Mapping[str, str],
  corruptions_seen: Mapping[str, Sequence[str]],
) -> str:
  """Write a submission into a new folder.

  Args:
    runs: a workdir, a submission, or the shards of one run.
    out: the new folder.
    trained_on: label -> the training data in words, of models whose facts do not
      say it.
    corruptions_seen: label -> names of the conditions that the model was trained
      on, of models whose facts do not say it.

  Returns:
    What was written, in words.

  Raises:
    UserError: no run, several runs, a model with unknown training data, or a
      folder that is not empty. Nothing is left behind.
  """
  out = epath.Path(out)
  run = runs_lib.read_one([str(run) for run in runs])
  _check_out(out)
  models = _model_facts(run, trained_on, corruptions_seen)
  try:
    missing = _write_weights(run, out, models)
    manifest = _write(run, out, models)
  except BaseException:
    disk.remove(out)
    raise
  size = sum(file.size for file in manifest.files.values())
  return (
    f"{out}: a submission of {', '.join(models)}: {manifest.cells} cells,"
    f" {len(manifest.files)} files, {size / 1e6:,.1f} MB.\n"
    f"{_missing_note(missing)}Check it: robust-tfds board --check={out}"
  )


def _missing_note(labels: Sequence[str]) -> str:
  return (
    f"The weights of {', '.join(labels)}, which the run trained, are not in its"
    " folder models/. --rerun trains again, and gets these weights only on a"
    " machine like yours.\n"
    if labels
    else ""
  )


def _check_out(out: epath.Path) -> None:
  if disk.exists(out) and (not out.is_dir() or paths.names(out)):
    raise errors.UserError(
      f"--out={out} is not empty. Name a new folder for the submission."
    )


def _model_facts(
  run: Run,
  trained_on: Mapping[str, str],
  corruptions_seen: Mapping[str, Sequence[str]],
) -> dict[str, ModelFacts]:
  """Return label -> facts of the model, with those that the user gives."""
  first: dict[str, Cell] = {}
  for cell in run.cells:
    first.setdefault(cell.model, cell)
  for label in (*trained_on, *corruptions_seen):
    if label not in first:
      raise errors.unknown_error(f"model of {run.folders[0]}", label, first)
  out = {}
  for label, cell in first.items():
    facts = Side.from_run(run, cell.dataset, label).model_facts
    given: dict[str, Any] = {"trained_on": trained_on.get(label, "").strip()}
    if label in corruptions_seen:
      given["corruptions_seen"] = cell_facts.conditions_seen(
        corruptions_seen[label], "--corruptions_seen"
      )
    out[label] = _completed(label, facts, given)
  return out


def _completed(
  label: str, facts: ModelFacts, user_facts: Mapping[str, Any]
) -> ModelFacts:
  """Return a model's facts with those of the user.

  Raises:
    UserError: they contradict the run's, or the training data stays unknown.
  """
  for name, value in user_facts.items():
    recorded = getattr(facts, name)
    if recorded not in (None, "", value) and value != "":
      raise errors.UserError(
        f"--{name}: got {value!r} for {label}, but the run recorded {recorded!r}."
      )
  new = {k: v for k, v in user_facts.items() if v != ""}
  facts = facts.model_copy(update=new)
  if not facts.trained_on:
    raise errors.UserError(
      f"The training data of the model {label!r} are unknown, and a submission has"
      f" to state them: export again with --trained_on='{label}=ImageNet-1k,"
      " training split' (your words), or set config.model.trained_on in the run."
    )
  return facts


def _write(
  run: Run, out: epath.Path, models: Mapping[str, ModelFacts]
) -> manifest_lib.Manifest:
  home = run.home
  assert home is not None  # a workdir has one
  versions = home(run.cells[0]).versions()
  target = Workdir(out)
  with disk.writing(out):
    out.mkdir(parents=True, exist_ok=True)
  config = run.config.copy_and_resolve_references().unlock()
  if "own" in config.data:  # where the submitter's data lay
    del config.data.own
  config_file.write(target.config_path, config, pixels=versions["pixels"])
  if run.truth is not None:
    target.write_truth(run.truth)
  data = {}
  for cell in _cells(run, models):
    source = home(cell)
    split = source.note(cell).split.name
    target.write_cell(cell, source.columns(cell), split)
    assert cell.data is not None
    data[cell.data.hash] = cell.data
  (written,) = runs_lib.read([str(out)])
  table.write(written.rows(), target.table_path)
  manifest = manifest_lib.make(
    run.task_name,
    len(run.cells),
    models,
    data,
    {name: _file(out / name) for name in files_lib.below(out)},
  )
  manifest_lib.write(out, manifest)
  return manifest


def _write_weights(
  run: Run, out: epath.Path, models: Mapping[str, ModelFacts]
) -> list[str]:
  """Write the weights that the run trained; return the labels without a file."""
  from eval.run.model import weights
  from models import weights_file

  first = {cell.model: cell for cell in reversed(run.cells)}
  home = run.home
  assert home is not None  # a workdir has one
  missing = []
  for label in [label for label in run.trained if label in models]:
    workdir, sha256 = home(first[label]), models[label].weights
    variables = weights.read(workdir, label, sha256)
    if variables is None:
      missing.append(label)
    else:
      weights_file.write(weights.path(Workdir(out), label), variables)
  return missing


def _cells(run: Run, models: Mapping[str, ModelFacts]) -> Iterator[Cell]:
  """Yield the cells with facts of their data and models."""
  home = run.home
  assert home is not None  # a workdir has one
  for dataset in run.datasets:
    for label in run.labels(dataset):
      side = Side.from_run(run, dataset, label)
      for cell in side.cells.values():
        data = side.data_facts(cell)
        if data.examples is None:
          split = home(cell).note(cell).split
          data = data.model_copy(update={"examples": split.examples})
        yield dataclasses.replace(cell, data=data, model_facts=models[label])


def _file(path: epath.Path) -> note_lib.File:
  return note_lib.File(
    size=paths.state(path).size, sha256=note_lib.file_sha256(path)
  )

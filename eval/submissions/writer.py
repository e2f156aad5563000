"""Writes a run as a submission.

Its cells, its config, its ground truth and its table, recomputed; `submission.json`
last. Predictions are what they are in the run; a cell's note gets the facts that
were not known when it was written.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

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
from eval.submissions import layout
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
    out: where; nothing is there yet.
    trained_on: label -> the training data in words, of models whose facts do not
      say it.
    corruptions_seen: label -> names of the conditions that the model was trained
      on, of models whose facts do not say it.

  Returns:
    What was written, in words.

  Raises:
    UserError: no run, several runs, a model whose training data nobody says, or
      something at `out`; nothing is left there then.
  """
  out = epath.Path(out)
  run = runs_lib.read_one([str(run) for run in runs])
  _check_out(out)
  models = _models(run, trained_on, corruptions_seen)
  try:
    absent = _write_weights(run, out, models)
    manifest = _write(run, out, models)
  except BaseException:
    disk.remove(out)
    raise
  size = sum(file.size for file in manifest.files.values())
  return (
    f"{out}: a submission of {', '.join(models)}: {manifest.cells} cells,"
    f" {len(manifest.files)} files, {size / 1e6:,.1f} MB.\n"
    f"{_without_weights(absent)}Check it: robust-tfds board --check={out}"
  )


def _without_weights(labels: Sequence[str]) -> str:
  """What follows where trained weights do not lie in the run."""
  return (
    f"The weights of {', '.join(labels)}, which the run trained, are not in its"
    " folder models/: --rerun trains anew, and gets these on a machine like yours"
    " alone.\n"
    if labels
    else ""
  )


def _check_out(out: epath.Path) -> None:
  if disk.exists(out) and (not out.is_dir() or paths.names(out)):
    raise errors.UserError(
      f"--out={out}: something is there. Name a new folder for the submission."
    )


def _models(
  run: Run,
  trained_on: Mapping[str, str],
  corruptions_seen: Mapping[str, Sequence[str]],
) -> dict[str, ModelFacts]:
  """Label -> facts, with what the user says."""
  first: dict[str, Cell] = {}
  for cell in run.cells:
    first.setdefault(cell.model, cell)
  for label in (*trained_on, *corruptions_seen):
    if label not in first:
      raise errors.unknown_error(f"model of {run.folders[0]}", label, first)
  return {
    label: _with_training(
      label,
      Side.from_run(run, cell.dataset, label).model_facts,
      trained_on.get(label, "").strip(),
      corruptions_seen.get(label),
    )
    for label, cell in first.items()
  }


def _with_training(
  label: str, facts: ModelFacts, trained_on: str, seen: Sequence[str] | None
) -> ModelFacts:
  known = {
    "trained_on": facts.trained_on or None,
    "corruptions_seen": facts.corruptions_seen,
  }
  given = {
    "trained_on": trained_on or None,
    "corruptions_seen": None
    if seen is None
    else cell_facts.conditions_seen(seen, "--corruptions_seen"),
  }
  for name, value in known.items():
    if None not in (value, given[name]) and value != given[name]:
      raise errors.UserError(
        f"--{name} says {given[name]!r} of {label}, but the run says {value!r}."
      )
  both = {k: v if v is not None else given[k] for k, v in known.items()}
  if not both["trained_on"]:
    raise errors.UserError(
      f"Nobody says what the model {label!r} was trained on, and a submission has"
      f" to: export again with --trained_on='{label}=ImageNet-1k,"
      " training split' (your words), or name config.model.trained_on in the run."
    )
  return facts.model_copy(update=both)


def _write(
  run: Run, out: epath.Path, models: Mapping[str, ModelFacts]
) -> manifest_lib.Manifest:
  home = run.home
  assert home is not None  # of workdirs
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
    {name: _file(out / name) for name in layout.files_of(out)},
  )
  manifest_lib.write(out, manifest)
  return manifest


def _write_weights(
  run: Run, out: epath.Path, models: Mapping[str, ModelFacts]
) -> list[str]:
  """Write the weights that the run trained and return whose are not there."""
  from eval.run.model import weights
  from models import weights_file

  first = {cell.model: cell for cell in reversed(run.cells)}
  home = run.home
  assert home is not None  # of workdirs
  absent = []
  for label in [label for label in run.trained if label in models]:
    workdir, sha256 = home(first[label]), models[label].weights
    variables = weights.read(workdir, label, sha256)
    if variables is None:
      absent.append(label)
    else:
      weights_file.write(weights.path(Workdir(out), label), variables)
  return absent


def _cells(run: Run, models: Mapping[str, ModelFacts]) -> Iterator[Cell]:
  """The cells with facts of their data and models."""
  for dataset in run.datasets:
    for label in run.labels(dataset):
      yield from _with_facts(Side.from_run(run, dataset, label), models[label])


def _with_facts(side: Side, model_facts: ModelFacts) -> Iterator[Cell]:
  home = side.run.home
  assert home is not None  # of workdirs
  for cell in side.cells.values():
    data = side.data_facts(cell)
    if data.examples is None:
      split = home(cell).note(cell).split
      data = data.model_copy(update={"examples": split.examples})
    yield dataclasses.replace(cell, data=data, model_facts=model_facts)


def _file(path: epath.Path) -> note_lib.File:
  return note_lib.File(
    size=paths.state(path).size, sha256=note_lib.file_sha256(path)
  )

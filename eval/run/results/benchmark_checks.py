"""Checks of another program's predictions before they are scored.

Without `--dataset` the numbers are plain means and belong to no benchmark. With it,
kind, classes, examples and labels must fit all that is known of the set, as for a
submission (`eval/tasks/parts/example_checks.py`). `--subset` chooses fewer examples,
as in a run, and every row says so.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from eval.cells.cell_facts import DataFacts
from eval.readers import base
from eval.run import subsets
from eval.tasks.headlines import baselines, stored_numbers
from eval.tasks.parts import example_checks
from robust_tfds import datasets, errors

# The codec of the pixels that another program's models saw, for the notes.
_UNKNOWN = "unknown"


def checked(run: base.Run, options: base.Options, source: str) -> base.Run:
  """Return the run with the chosen data set and subset in its config.

  Its notes say what could not be verified.

  Raises:
    UserError: something does not fit the named set, a baseline or subset is named
      without a set, or the set's name is a misspelling of ours.
  """
  if options.dataset is None:
    _check_unnamed(run, options)
    return run
  example_checks.check_name(options.dataset)
  for dataset in run.datasets:
    run.task(dataset).check_baseline(run.labels(dataset))
  config = run.config.copy_and_resolve_references().unlock()
  (ids, labels), notes = _examples(run), [*run.notes]
  if options.subset:
    config.data.subset = _subset(options, ids, source)
  if run.task_name != "frames" and ids:  # their sets come of the metadata
    facts = DataFacts(
      dataset=options.dataset, subset=config.data.get("subset", "")
    )
    held = example_checks.check_examples(source, facts, 0, ids)
    by_id = example_checks.check_labels(source, options.dataset, ids, labels)
    unverified = [held.unverified, "" if by_id else "labels: no id tells them"]
    notes += [f"not verified: {words}" for words in unverified if words]
  if datasets.published_codec(options.dataset):
    config.data.codec = _UNKNOWN
  _check_classes(run, options.dataset, source)
  return dataclasses.replace(run, config=config.lock(), notes=notes)


def _check_unnamed(run: base.Run, options: base.Options) -> None:
  baseline = options.baseline or ""
  if baseline and not baselines.model_label(baseline):
    run.task(run.datasets[0]).check_baseline(run.labels())
    raise errors.UserError(
      f"--baseline={baseline}: its numbers belong to one data set. Name the set of"
      " these predictions by --dataset."
    )
  if options.subset:
    raise errors.UserError(
      f"--subset={options.subset} chooses examples of a data set: name it by"
      " --dataset."
    )


def _examples(run: base.Run) -> tuple[list[str], np.ndarray]:
  """Return ids and labels of the examples; none if there are only numbers."""
  if run.truth is not None:
    images = run.truth["images"]
    return [str(i.get("file_name", i["id"])) for i in images], np.zeros(0, int)
  columns = run.columns(run.cells[0])
  if stored_numbers.holds_numbers(columns):
    return [], np.zeros(0, int)
  none = np.zeros(0, int)  # class maps have no label
  return columns["example_id"].tolist(), columns.get("label", none)


def _subset(options: base.Options, ids: Sequence[str], source: str) -> str:
  """Return the name of the subset, whose examples must be exactly these."""
  chosen = subsets.read(options.subset or "", "--subset")
  places = chosen.places(ids, source)
  if len(places) != len(ids):
    strange = min(set(range(len(ids))) - set(places.tolist()))
    raise errors.UserError(
      f"{source}: {len(ids) - len(places):,} of {len(ids):,} examples are not in"
      f" --subset={options.subset}, e.g. {ids[strange]!r}."
    )
  return chosen.name


def _check_classes(run: base.Run, dataset: str, source: str) -> None:
  """Refuse ground truth whose classes are not the set's."""
  expected = datasets.classes(dataset)
  if run.truth is None or not expected:
    return
  got = len(run.truth["categories"])
  if got != expected:
    raise errors.UserError(
      f"{source}: the ground truth has {got} classes, but {dataset} has"
      f" {expected}."
    )

"""The table of a run's cells, as `eval.main` and `eval.score` write it."""

from __future__ import annotations

from robust_tfds.eval import tasks
from robust_tfds.eval.readers import base
from robust_tfds.eval.results import table


def rows(predictions: base.Predictions) -> list[table.Row]:
  """All rows, recomputed from the predictions.

  Args:
    predictions: the cells of one run.

  Raises:
    UserError: cells that the task cannot score.
  """
  datasets = dict.fromkeys(c.dataset for c in predictions.cells)
  return [row for name in datasets for row in _of_dataset(predictions, name)]


def _of_dataset(predictions: base.Predictions, dataset: str) -> list[table.Row]:
  config = predictions.config.copy_and_resolve_references()
  with config.unlocked():
    config.data.name = dataset
  cells = [c for c in predictions.cells if c.dataset == dataset]
  task = tasks.bind(config)
  task.check_baseline(list(dict.fromkeys(c.model for c in cells)))
  return task.score(
    ((cell, predictions.columns(cell)) for cell in cells), predictions.truth
  ).rows

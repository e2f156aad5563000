"""The table of a run's cells, as `eval.main` and `eval.score` write it."""

from __future__ import annotations

from robust_tfds.eval.cells import table
from robust_tfds.eval.readers import base


def rows(predictions: base.Predictions) -> list[table.Row]:
  """All rows, recomputed from the predictions.

  Args:
    predictions: the cells of one run.

  Raises:
    UserError: cells that the task cannot score.
  """
  scored = (predictions.score(dataset)[1] for dataset in predictions.datasets)
  return [row for of_dataset in scored for row in of_dataset.rows]

"""Cells of numbers that somebody else measured, one row a metric.

example_id  str      the metric, e.g. `bbox/AP`
group_id    str      the same
frame       int32    0
value       float64  a fraction in [0, 1]; -1 where it is not defined
"""

from collections.abc import Mapping

import numpy as np

Columns = Mapping[str, np.ndarray]


def columns(numbers: Mapping[str, float]) -> dict[str, np.ndarray]:
  """Metric -> value as columns."""
  names = np.array(list(numbers), np.str_)
  return {
    "example_id": names,
    "group_id": names,
    "frame": np.zeros(len(names), np.int32),
    "value": np.array(list(numbers.values()), np.float64),
  }


def is_one(columns_of_cell: Columns) -> bool:
  """Whether a cell's columns are numbers."""
  return "value" in columns_of_cell


def numbers(columns_of_cell: Columns) -> dict[str, float]:
  """Metric -> value, the opposite of `columns`; sorted by the metric's name."""
  names, values = columns_of_cell["example_id"], columns_of_cell["value"]
  return dict(zip(names.tolist(), values.tolist()))

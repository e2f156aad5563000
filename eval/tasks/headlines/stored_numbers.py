"""Cells of numbers that another program measured, one row per metric.

example_id  str      the metric, e.g. `bbox/AP`
group_id    str      the same
frame       int32    0
value       float64  a fraction in [0, 1]; -1 if undefined
"""

from collections.abc import Mapping

import numpy as np

Columns = Mapping[str, np.ndarray]


def columns(numbers: Mapping[str, float]) -> dict[str, np.ndarray]:
  """Return numbers by metric as columns."""
  names = np.array(list(numbers), np.str_)
  return {
    "example_id": names,
    "group_id": names,
    "frame": np.zeros(len(names), np.int32),
    "value": np.array(list(numbers.values()), np.float64),
  }


def holds_numbers(columns_of_cell: Columns) -> bool:
  """Return whether a cell's columns are numbers."""
  return "value" in columns_of_cell


def numbers(columns_of_cell: Columns) -> dict[str, float]:
  """Return numbers by metric, the inverse of `columns`; sorted by metric."""
  names, values = columns_of_cell["example_id"], columns_of_cell["value"]
  return dict(zip(names.tolist(), values.tolist()))

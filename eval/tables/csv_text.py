"""CSVs that are safe in spreadsheets."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from eval.cells import formulas


def text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
  """Return a CSV.

  Args:
    header: names of the columns.
    rows: None and nan are empty cells, floats have the shortest text that reads
      back as the same float, lists and the like are JSON. Text that a spreadsheet
      takes for a formula is marked, see `eval/cells/formulas.py`.

  >>> print(text(["a", "b"], [[None, 0.1], ["=1+1", True]]), end="")
  a,b
  ,0.1
  '=1+1,True
  """
  out = io.StringIO()
  writer = csv.writer(out, lineterminator="\n")
  writer.writerow([_cell(name) for name in header])
  writer.writerows([[_cell(value) for value in row] for row in rows])
  return out.getvalue()


def _cell(value: Any) -> str:
  if value is None:
    return ""
  if isinstance(value, float):
    return "" if math.isnan(value) else repr(float(value))
  if isinstance(value, int):
    return str(value)  # the sign of a negative one begins no formula
  if isinstance(value, (list, dict, tuple)):
    value = json.dumps(value, sort_keys=True)
  return formulas.neutral(str(value))

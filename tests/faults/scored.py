"""Valid predictions, and the numbers that a score of them must print."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from tests import shared_data
from tests.faults import commands

HEADER = ("corruption", "severity", "example_id", "label", "top1")
NAMES = ("fog", "snow")
EXAMPLES = 10
CLASSES = 7
Rows = list[list[Any]]


def rows(names: Sequence[str] = NAMES, examples: int = EXAMPLES) -> Rows:
  """Of ten, 5 are wrong clean and at severity 1, 6 at 2 and 3, 7 at 4 and 5."""
  cells = [("", 0)] + [(n, s) for n in names for s in range(1, 6)]
  return [
    [n, s, f"x{i}", i % CLASSES, (i + (i % 10 < 5 + s // 2)) % CLASSES]
    for n, s in cells
    for i in range(examples)
  ]


def text(rows: Iterable[Sequence[Any]], header: Sequence[str] = HEADER) -> str:
  """The rows as CSV."""
  lines = [",".join(header), *(",".join(map(str, r)) for r in rows)]
  return "\n".join(lines) + "\n"


def score(folder: pathlib.Path, *predictions: pathlib.Path, **flags: Any):
  """Scores by the command; the table's rows as dicts."""
  out = folder / "out"
  commands.run(
    "eval.score",
    *(f"--predictions={p}" for p in predictions),
    f"--out={out}",
    *(f"--{name}={value}" for name, value in flags.items()),
  )
  return table(out)


def table(out: pathlib.Path) -> list[dict[str, str]]:
  """The rows of a folder's table."""
  return shared_data.lines(out / "table.csv")


def value(rows: Iterable[dict[str, str]], metric: str, **at: str) -> float:
  """The one number of a metric; KeyError where there is none or several."""
  (row,) = [
    r
    for r in rows
    if r["metric"] == metric and all(r[k] == v for k, v in at.items())
  ]
  return float(row["value"])


def right(rows: list[dict[str, str]]) -> bool:
  """Whether the table is that of `rows()`, whole."""
  for name, level in [("clean", 0), *((n, s) for n in NAMES for s in range(6))]:
    if name != "clean" and not level:
      continue
    config = name if not level else f"{name}_{level}"
    (row,) = [
      r for r in rows if r["config"] == config and r["metric"] == "error"
    ]
    assert int(row["n"]) == EXAMPLES, row
    assert abs(float(row["value"]) - (5 + level // 2) / 10) < 1e-9, row
  return True

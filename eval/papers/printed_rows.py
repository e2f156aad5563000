"""The printed numbers as stored in the papers' folders, one row a number.

A folder is a paper: `paper.json` lists its tables in order (place in the paper,
data sets, source), each table is a TSV file with a line for each printed line.
A line's text columns are `dataset`, `network`, `training`, `model` (our name of
the network, or the results file's), `condition` and `note`; every other column
holds numbers. Its head is a metric, with `:name` if it belongs to one condition
(or `condition` names it), and its unit: `%`, `/1109` for a count out of 1109,
`=1-` for an error that is printed as an accuracy; none for a plain number. A
cell is `67.5`, with an interval `67.5 [64.7, 70.3]`, or empty. Doubts about
them are in `doubts.tsv` (`doubt`). If `model` is a results file's name,
`networks` of `paper.json` states our name for a network in its standard
training, and the published checkpoint.
"""

from __future__ import annotations

import dataclasses
import decimal
import functools
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from robust_tfds import errors, reading

FOLDER = pathlib.Path(__file__).parent
DOUBTS = "doubts"
USED = (
  "value",
  "lo",
  "hi",
)  # columns of a doubt: the numbers that are used instead
# Kinds of doubts that do not concern the number itself.
_BESIDE = frozenset({"accuracy", "interval"})
_TEXTS = ("dataset", "network", "training", "model", "condition", "note")
_ENDS = ("lo", "hi")
_HEAD = re.compile(
  r"(?P<metric>[^:%]+?)(:(?P<name>[^%/]+))?(?P<unit>%|/[0-9]+|=1-)?"
)
_CELL = re.compile(r"(?P<value>\S+)( \[(?P<lo>\S+), (?P<hi>\S+)\])?")


# Table, line, metric, condition: unique for every number of a paper.
Place = tuple[str, int, str, str]


@dataclasses.dataclass(frozen=True)
class PrintedRow:
  """A number that a paper prints.

  Attributes:
    paper: folder of the paper.
    table: file of the table.
    line: line of the table, from 1.
    where: the table's name in the paper.
    source: paper, table, and where they were read from, in words.
    datasets: data sets of the number; a clean error may belong to two at once.
    network: name as printed.
    training: how it was trained, if the table distinguishes networks by it.
    model: our name for the network, or its raw results; or ''.
    metric: our name for the metric.
    name: our name for the condition; '' for a mean and for clean data.
    value: the number; a fraction if it is printed in percent or as a count.
    lo, hi: its printed interval, or None.
    text: the value as it is printed.
    digit: weight of its last printed digit; 0 if it is exact.
    whole: total of a count, else 0.
    note: further remarks of the table.
    listed: whether the table lists networks under one protocol.
    doubt: contradiction with other numbers, in words, or ''.
    marked: whether the number itself is doubtful, not its interval or what it
      implies.
    better: value, lo and hi that are used in place of the printed ones, if the
      doubt's kind requires it: `doubt_kinds.tsv`.
  """

  paper: str
  table: str
  line: int
  where: str
  source: str
  datasets: tuple[str, ...]
  network: str
  training: str
  model: str
  metric: str
  name: str
  value: float
  lo: float | None
  hi: float | None
  text: str
  digit: float
  whole: int
  note: str
  listed: bool
  doubt: str = ""
  marked: bool = False
  better: tuple[float, float | None, float | None] | None = None

  @property
  def used(self) -> PrintedRow:
    """The number that figures, means and lines use: printed, or recomputed."""
    if self.better is None:
      return self
    value, lo, hi = self.better
    return dataclasses.replace(self, value=value, lo=lo, hi=hi)

  @property
  def label(self) -> str:
    """The network, with its training if the table distinguishes networks by it."""
    return ", ".join(filter(None, (self.network, self.training)))


def names() -> tuple[str, ...]:
  """Return the papers' folders."""
  return tuple(sorted(p.parent.name for p in FOLDER.glob("*/paper.json")))


@functools.cache
def facts(paper: str) -> Mapping[str, Any]:
  """Return a paper's `paper.json`.

  Raises:
    UserError: the paper is unknown.
  """
  if paper not in names():
    raise errors.UserError(f"Unknown paper {paper!r}; known: {names()}.")
  return reading.json_file(FOLDER / paper / "paper.json")


@functools.cache
def paper_rows(paper: str) -> tuple[PrintedRow, ...]:
  """Return all numbers of a paper, tables in the order of `paper.json`."""
  doubts: dict[Place, list[dict[str, str]]] = {}
  first: dict[str, Mapping[str, str]] = {}
  for line in lines(paper, DOUBTS):
    about = first.setdefault(line["doubt"], line)
    words = {"words": about["words"], "kind": about["kind"]}
    doubts.setdefault(place_of(line), []).append({**line, **words})
  return tuple(
    _doubted(row, doubts.get(place(row), ()))
    for table in facts(paper)["tables"]
    for row in _table_rows(paper, table)
  )


def _doubted(
  row: PrintedRow, doubts: Sequence[Mapping[str, str]]
) -> PrintedRow:
  """Return a number with its doubts, and the number that is used in its place."""
  ends = {k: float(d[k]) for d in doubts for k in USED if d[k]}
  if ends:
    value, lo, hi = (ends.get(k, getattr(row, k)) for k in USED)
    row = dataclasses.replace(row, better=(value, lo, hi))
  words = "; ".join(d["words"] for d in doubts)
  marked = any(d["kind"] not in _BESIDE for d in doubts)
  return dataclasses.replace(row, doubt=words, marked=marked)


def place(row: PrintedRow) -> Place:
  """Return the place of a number in its paper's folder."""
  return row.table, row.line, row.metric, row.name


def place_of(line: Mapping[str, str]) -> Place:
  """Return the place of the number of a line in `doubts.tsv`."""
  return line["table"], int(line["line"]), line["metric"], line["name"]


def lines(paper: str, file: str) -> Iterator[dict[str, str]]:
  """Yield the lines of a TSV table by the names of its header.

  Missing cells at a line's end are empty.
  """
  header: list[str] = []
  for line in reading.line_list(FOLDER / paper / f"{file}.tsv"):
    cells = line.split("\t")
    if header:
      cells += [""] * (len(header) - len(cells))
      yield dict(zip(header, cells, strict=True))
    else:
      header = cells


def _table_rows(paper: str, table: str) -> Iterator[PrintedRow]:
  table_facts = facts(paper)["tables"][table]
  words = f"{facts(paper)['paper']}, {table_facts['where']}"
  if table_facts.get("source"):
    words += f" ({table_facts['source']})"
  for position, line in enumerate(lines(paper, table), 1):
    texts = {key: line.pop(key, "") for key in _TEXTS}
    own = texts.pop("dataset")
    condition = texts.pop("condition")
    row_facts: dict[str, Any] = {
      "paper": paper,
      "table": table,
      "line": position,
      "where": table_facts["where"],
      "source": words,
      "listed": bool(table_facts.get("networks")),
      **texts,
    }
    for head, cell in line.items():
      if cell:
        number = _number(head, cell)
        number["name"] = number["name"] or condition
        sets = (own,) if own else _datasets(table_facts, number["metric"])
        yield PrintedRow(datasets=sets, **row_facts, **number)


def _datasets(of_table: Mapping[str, Any], metric: str) -> tuple[str, ...]:
  """Return the data sets of a table that a metric belongs to."""
  metrics = of_table.get("metrics", {})
  return tuple(
    d
    for d in of_table.get("datasets", ())
    if metric in metrics.get(d, (metric,))
  )


def _number(head: str, cell: str) -> dict[str, Any]:
  """Parse a number from a column's head and a cell."""
  column, printed = _HEAD.fullmatch(head), _CELL.fullmatch(cell)
  if column is None or printed is None:
    raise errors.UserError(f"No number: {cell!r} under {head!r}.")
  unit = column["unit"] or ""
  count = unit.startswith("/")
  whole = 100 if unit == "%" else int(unit[1:]) if count else 1
  places = decimal.Decimal(printed["value"]).as_tuple().exponent
  ends = {
    k: _fraction(printed[k], whole) if printed[k] else None for k in _ENDS
  }
  return {
    "metric": column["metric"],
    "name": column["name"] or "",
    "value": _fraction(printed["value"], whole, rest=unit == "=1-"),
    **ends,
    "text": printed["value"],
    "digit": 0.0 if count else 10.0 ** int(places) / whole,
    "whole": whole if count else 0,
  }


def _fraction(text: str, divisor: int, *, rest: bool = False) -> float:
  share = decimal.Decimal(text) / divisor
  return float(1 - share if rest else share)

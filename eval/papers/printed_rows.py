"""The printed numbers as they lie in the papers' folders, one row a number.

A folder is a paper: `paper.json` says its tables in their order (where it stands
in the paper, of which data sets, the source), each table is a TSV file with a
line for each line in print. A line's text columns are `dataset`, `network`,
`training`, `model` (our name of the network, or the results file's), `condition`
and `note`; every other column is of numbers. Its head is a metric, with `:name`
where it is of one condition (or `condition` names it), and its unit: `%`, or
`/1109` for a count of so many; none is a plain number. A cell is `67.5`, with an
interval `67.5 [64.7, 70.3]`, or empty. What is doubtful of them stands in
`doubts.tsv` (`doubt`). Where `model` is a results file's name, `networks` of
`paper.json` says our name of a network in its standard training, and the
published checkpoint.
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
USED = ("value", "lo", "hi")  # of a line of doubts: what is used instead
# Kinds of doubts that are not of the number itself.
_BESIDE = frozenset({"accuracy", "interval"})
_TEXTS = ("dataset", "network", "training", "model", "condition", "note")
_ENDS = ("lo", "hi")
_HEAD = re.compile(
  r"(?P<metric>[^:%]+?)(:(?P<name>[^%/]+))?(?P<unit>%|/[0-9]+)?"
)
_CELL = re.compile(r"(?P<value>\S+)( \[(?P<lo>\S+), (?P<hi>\S+)\])?")


# Table, line, metric, condition: of every number of a paper another.
Place = tuple[str, int, str, str]


@dataclasses.dataclass(frozen=True)
class PrintedRow:
  """A number that a paper prints.

  Attributes:
    paper: its folder.
    table: its file.
    line: of the table, from 1.
    where: the table's name in the paper.
    source: paper, table, and where they were read from, in words.
    datasets: whose number it is; a clean error may be of two sets at once.
    network: as printed.
    training: how it was trained, where the table tells networks apart by it.
    model: our name of the network, or of its raw results; or empty.
    metric: our name of it.
    name: of the condition, in our words; empty for a mean and for clean data.
    value: a fraction where it is printed in percent or as a count.
    lo, hi: its printed interval, or None.
    text: the value as it is printed.
    digit: weight of its last printed digit; 0 where it is exact.
    whole: how many a count is of, else 0.
    note: what the table says besides.
    listed: whether the table lists networks under one protocol.
    doubt: what does not fit the other numbers, in words, or empty.
    marked: whether that is the number itself, not its interval or what it implies.
    better: value, lo and hi that are used in place of the printed ones, where
      the doubt's kind says so: `doubt_kinds.tsv`.
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
    """The network, and its training where the table tells them apart by it."""
    return ", ".join(filter(None, (self.network, self.training)))


def names() -> tuple[str, ...]:
  """The papers' folders."""
  return tuple(sorted(p.parent.name for p in FOLDER.glob("*/paper.json")))


@functools.cache
def facts(paper: str) -> Mapping[str, Any]:
  """A paper's `paper.json`.

  Raises:
    UserError: no such paper.
  """
  if paper not in names():
    raise errors.UserError(f"Unknown paper {paper!r}; known: {names()}.")
  return reading.json_file(FOLDER / paper / "paper.json")


@functools.cache
def of_paper(paper: str) -> tuple[PrintedRow, ...]:
  """All numbers of a paper, tables in the order of `paper.json`."""
  doubts: dict[Place, list[dict[str, str]]] = {}
  first: dict[str, Mapping[str, str]] = {}
  for line in lines(paper, DOUBTS):
    about = first.setdefault(line["doubt"], line)
    said = {"words": about["words"], "kind": about["kind"]}
    doubts.setdefault(place_of(line), []).append({**line, **said})
  return tuple(
    _doubted(row, doubts.get(place(row), ()))
    for table in facts(paper)["tables"]
    for row in _of_table(paper, table)
  )


def _doubted(
  row: PrintedRow, doubts: Sequence[Mapping[str, str]]
) -> PrintedRow:
  """A number with what its doubts say, and what is used in its place."""
  ends = {k: float(d[k]) for d in doubts for k in USED if d[k]}
  if ends:
    value, lo, hi = (ends.get(k, getattr(row, k)) for k in USED)
    row = dataclasses.replace(row, better=(value, lo, hi))
  words = "; ".join(d["words"] for d in doubts)
  marked = any(d["kind"] not in _BESIDE for d in doubts)
  return dataclasses.replace(row, doubt=words, marked=marked)


def place(row: PrintedRow) -> Place:
  """Where a number stands in its paper's folder."""
  return row.table, row.line, row.metric, row.name


def place_of(line: Mapping[str, str]) -> Place:
  """Where the number of a line of `doubts.tsv` stands."""
  return line["table"], int(line["line"]), line["metric"], line["name"]


def lines(paper: str, file: str) -> Iterator[dict[str, str]]:
  """The lines of a table of tabs by the names of its header.

  Cells that are missing at a line's end are empty.
  """
  header: list[str] = []
  for line in reading.line_list(FOLDER / paper / f"{file}.tsv"):
    cells = line.split("\t")
    if header:
      cells += [""] * (len(header) - len(cells))
      yield dict(zip(header, cells, strict=True))
    else:
      header = cells


def _of_table(paper: str, table: str) -> Iterator[PrintedRow]:
  of_table = facts(paper)["tables"][table]
  words = f"{facts(paper)['paper']}, {of_table['where']}"
  if of_table.get("source"):
    words += f" ({of_table['source']})"
  for position, line in enumerate(lines(paper, table), 1):
    texts = {key: line.pop(key, "") for key in _TEXTS}
    own = texts.pop("dataset")
    condition = texts.pop("condition")
    of_line: dict[str, Any] = {
      "paper": paper,
      "table": table,
      "line": position,
      "where": of_table["where"],
      "source": words,
      "listed": bool(of_table.get("networks")),
      **texts,
    }
    for head, cell in line.items():
      if cell:
        number = _number(head, cell)
        number["name"] = number["name"] or condition
        sets = (own,) if own else _datasets(of_table, number["metric"])
        yield PrintedRow(datasets=sets, **of_line, **number)


def _datasets(of_table: Mapping[str, Any], metric: str) -> tuple[str, ...]:
  """The data sets of a table that a metric belongs to."""
  metrics = of_table.get("metrics", {})
  return tuple(
    d
    for d in of_table.get("datasets", ())
    if metric in metrics.get(d, (metric,))
  )


def _number(head: str, cell: str) -> dict[str, Any]:
  """What a column's head and a cell say of a number."""
  column, printed = _HEAD.fullmatch(head), _CELL.fullmatch(cell)
  if column is None or printed is None:
    raise errors.UserError(f"No number: {cell!r} under {head!r}.")
  unit = column["unit"] or ""
  whole = 100 if unit == "%" else int(unit[1:] or 1) if unit else 1
  count = unit.startswith("/")
  places = decimal.Decimal(printed["value"]).as_tuple().exponent
  ends = {
    k: _fraction(printed[k], whole) if printed[k] else None for k in _ENDS
  }
  return {
    "metric": column["metric"],
    "name": column["name"] or "",
    "value": _fraction(printed["value"], whole),
    **ends,
    "text": printed["value"],
    "digit": 0.0 if count else 10.0 ** int(places) / whole,
    "whole": whole if count else 0,
  }


def _fraction(text: str, whole: int) -> float:
  return float(decimal.Decimal(text) / whole)

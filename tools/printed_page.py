"""Write docs/evidence/PRINTED_NUMBERS.md: what the papers print, and what is doubtful.

  python -m tools.printed_page

All of it follows from `eval/papers`.
"""

import pathlib
from collections.abc import Iterator

from eval import papers
from eval.papers import doubt as doubt_lib
from eval.papers.protocols import PROTOCOLS

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "evidence" / "PRINTED_NUMBERS.md"
_HEAD = """\
# Printed numbers of the papers

Made by `python -m tools.printed_page` from `eval/papers`. It has a folder for each paper,
and a TSV file for each table as printed. In a clone (`from eval import papers`),
`papers.rows("imagenet_c")` gives the numbers of a data set or paper as rows: network,
training, metric, condition, value, interval, source. `papers.doubts()` gives the
contradictions below, `papers.protocol("imagenet_c")` the data behind the numbers. A
number that several tables print counts in each of them.
"""
_PROTOCOLS = """
## What the numbers are of

Printed numbers are ranked with a run's only where these are the facts of its data.
Where the last column says something, no run's pixels are the paper's.

| data set | paper | data | pixels |
|---|---|---|---|
"""
_DOUBTS = """
## Doubts

Printed numbers that do not fit other printed numbers, or their raw results. They are
stored as they are printed (`papers.rows`). Which number figures, means, lines and
boards use is one rule a kind of doubt (`eval/papers/doubt_kinds.tsv`); whatever shows
one says so. Tables that redraw a printed one show it as it is printed, with a dagger.

| kind | used | why |
|---|---|---|
"""


def main() -> None:
  """Write the page."""
  FILE.write_text(text(), "utf-8")


def text() -> str:
  """Return the page."""
  parts = [_HEAD, *_tables(), _PROTOCOLS, *_protocols(), _DOUBTS]
  kinds = doubt_lib.kinds().items()
  parts += [f"| {kind} | {used} | {why} |\n" for kind, (used, why) in kinds]
  return "".join([*parts, *_doubts()])


def _tables() -> Iterator[str]:
  for paper in papers.names():
    yield f"\n## {papers.source(paper)}\n\n"
    yield "| file | where | numbers | data sets |\n|---|---|---:|---|\n"
    tables: dict[str, list[papers.PrintedRow]] = {}
    for row in papers.rows(paper):
      tables.setdefault(row.table, []).append(row)
    for table, rows in tables.items():
      sets = dict.fromkeys(d for r in rows for d in r.datasets)
      where = rows[0].source.partition(", ")[2]
      names = ", ".join(sets)
      yield f"| `{paper}/{table}.tsv` | {where} | {len(rows):,} | {names} |\n"


def _protocols() -> Iterator[str]:
  for dataset, protocol in PROTOCOLS.items():
    data = protocol.words().removesuffix(f", {protocol.apart}")
    yield f"| {dataset} | {protocol.paper} | {data} | {protocol.apart} |\n"


def _doubts() -> Iterator[str]:
  for paper in papers.names():
    yield f"\n### {papers.source(paper)}\n\n"
    heads = ("where", "of", "data set", "numbers", "kind", "why")
    yield f"| {' | '.join(heads)} |\n|---|---|---|---:|---|---|\n"
    for doubt in papers.doubts(paper):
      of = doubt.what or "all"
      sets = ", ".join(doubt.rows[0].datasets)
      why = doubt.words
      cells = doubt.where, of, sets, str(len(doubt.rows)), doubt.kind, why
      yield f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
  main()

"""Write docs/evidence/COVERAGE.md: the command that computes each number of the papers.

  python -m tools.coverage_page

From docs/evidence/coverage.tsv, a line for each table, figure or sentence with a number
of
the papers. Its columns: `paper` (a folder of `eval/papers`), `place`, `what`;
`rows` (the files there that hold its numbers, `table1`, or some of their lines,
`section5_2:2,7-10`), `command` (several with ` && `), `data` that it needs, `status`
(one of `STATUSES`) and `why`, or what else there is to know. Who makes something
computable changes its line.
"""

import collections
import csv
import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

from eval import papers
from eval.papers import printed_rows

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "evidence" / "COVERAGE.md"
TABLE = FILE.with_name("coverage.tsv")
STATUSES = {
  "computed": "the command makes it here from raw results, other printed"
  " numbers, embedded data or our own code",
  "needs data": "the command makes it with data or weights that may not be"
  " shipped; `--plan` in place of `--workdir=…` names what is missing",
  "printed only": "the number is stored and shown as printed; the line says why"
  " nobody can make it anew",
  "cannot": "there is no command; the line says why",
}
_HEAD = """\
# From every number of the papers to a command

Made by `python -m tools.coverage_page` from `docs/evidence/coverage.tsv`. It has a line
for each table, figure or sentence with a number. Runs go to `/runs/…`, data lie in
`/data/manual`, weights in `/weights`. *Numbers* counts the printed ones that
`eval/papers` holds, and how many contradict others ([which](PRINTED_NUMBERS.md)).
`python -m tools.claims NAME` needs a clone. `tests/coverage_page_test.py` runs every
command, with `--plan` or on embedded data.

"""
_COLUMNS = ("place", "what", "numbers", "command", "data", "status")


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of docs/evidence/coverage.tsv; the module's docstring says its columns."""

  paper: str
  place: str
  what: str
  rows: str
  command: str
  data: str
  status: str
  why: str

  @property
  def commands(self) -> list[str]:
    """The commands in their order."""
    return [c for c in self.command.split(" && ") if c]

  def held(self) -> Iterator[tuple[str, int]]:
    """Yield the (file, line from 1) pairs of its numbers in `eval/papers`."""
    for part in self.rows.split():
      file, _, chosen = part.partition(":")
      if chosen:
        yield from ((file, number) for number in _range(chosen))
      else:
        count = sum(1 for _ in printed_rows.lines(self.paper, file))
        yield from ((file, number + 1) for number in range(count))


def _range(chosen: str) -> Iterator[int]:
  """Return `2,7-10` as 2, 7, 8, 9, 10."""
  for part in chosen.split(","):
    first, _, last = part.partition("-")
    yield from range(int(first), int(last or first) + 1)


def lines() -> list[Line]:
  """Return all lines, in the order of the papers' pages."""
  with TABLE.open(encoding="utf-8", newline="") as file:
    listed = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [Line(**line) for line in listed]


def main() -> None:
  """Write the page."""
  FILE.write_text(text(lines()), "utf-8")


def text(listed: Sequence[Line]) -> str:
  """Return the page."""
  parts = [_HEAD, *_counts(listed)]
  for paper in dict.fromkeys(line.paper for line in listed):
    parts += [f"\n## {papers.source(paper)}\n\n", _row(_COLUMNS)]
    parts.append(_row(["---"] * len(_COLUMNS)))
    parts += [_row(_cells(line)) for line in listed if line.paper == paper]
  return "".join(parts)


def _counts(listed: Sequence[Line]) -> Iterator[str]:
  counts = collections.Counter(line.status for line in listed)
  yield _row(("status", "lines", "it says"))
  yield _row(("---", "---:", "---"))
  for status, words in STATUSES.items():
    yield _row((status, str(counts[status]), words))
  yield _row(("all", str(counts.total()), ""))


def _cells(line: Line) -> tuple[str, ...]:
  commands = "<br>".join(f"`{command}`" for command in line.commands)
  why = f"{line.status}: {line.why}" if line.why else line.status
  return line.place, line.what, _numbers(line), commands, line.data, why


def _numbers(line: Line) -> str:
  """Return the number of its printed numbers, and of the doubtful ones."""
  held = set(line.held())
  rows = [r for r in papers.rows(line.paper) if (r.table, r.line) in held]
  doubtful = sum(bool(row.doubt) for row in rows)
  if not rows:
    return ""
  return f"{len(rows):,}" + (f", {doubtful:,} doubtful" if doubtful else "")


def _row(cells: Sequence[str]) -> str:
  return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
  main()

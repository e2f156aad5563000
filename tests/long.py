"""Runs the slow tests in pieces: all of them take hours on two cores.

  python -m tests.long --piece=3/12
  python -m tests.long --piece=3/12 --list

The slow tests (the campaign of bad inputs is among them, a test a door) are laid
out in their order and cut into n pieces of about the same time, by the seconds in
`tests/seconds.tsv`; a test that it does not know counts as the median. A piece
prints what pytest prints, its twenty slowest tests, and ends with pytest's status.
`--record` writes the seconds of the tests that passed back into the file, and drops
the lines of tests that are no longer there, which every run names.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_TABLE = _ROOT / "tests" / "seconds.tsv"
_HEAD = "test\tseconds\tmarked by"
LISTED, MARKED = "this list", "its file"


class Row(NamedTuple):
  """A slow test.

  Attributes:
    seconds: time that it took on two quiet cores.
    marked_by: what makes it slow: `LISTED` or `MARKED`.
  """

  seconds: float
  marked_by: str = MARKED


def table() -> dict[str, Row]:
  """Return test -> its row, as committed."""
  lines = _TABLE.read_text("utf-8").splitlines()[1:]
  rows = (line.split("\t") for line in lines)
  return {name: Row(float(seconds), by) for name, seconds, by in rows}


def piece(
  tests: Sequence[str], known: Mapping[str, Row], index: int, count: int
) -> list[str]:
  """The tests of one of `count` pieces, in order.

  Every test is in one piece: that in which the middle of its time lies.

  Args:
    tests: their ids, in order.
    known: the table's rows, of some of them.
    index: from 1 to `count`.
    count: how many pieces there are.
  """
  usual = Row(statistics.median([row.seconds for row in known.values()] or [1]))
  times = [known.get(test, usual).seconds for test in tests]
  whole, before, chosen = sum(times), 0.0, []
  for test, its in zip(tests, times):
    place = int((before + its / 2) / whole * count) if whole else 0
    if min(place, count - 1) == index - 1:
      chosen.append(test)
    before += its
  return chosen


def slow_tests() -> list[str]:
  """List the ids of slow tests, and of contracts that are not in their table."""
  done = subprocess.run(
    [*_PYTEST, "-n", "0", "--collect-only", "-q"],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    check=False,
  )
  tests = [line for line in done.stdout.splitlines() if "::" in line]
  if done.returncode or not tests:
    raise SystemExit(f"The tests cannot be collected:\n{done.stdout[-3000:]}")
  return tests


_PYTEST = (
  sys.executable,
  "-m",
  "pytest",
  "-m",
  "slow or contract",
  "-p",
  "no:cacheprovider",
)


def run(tests: Sequence[str], record: bool = False) -> int:
  """Runs tests in two processes; returns pytest's status."""
  with tempfile.TemporaryDirectory() as folder:
    listed = pathlib.Path(folder, "tests.txt")
    listed.write_text("\n".join(tests))
    report = pathlib.Path(folder, "report.xml")
    done = subprocess.run(
      [*_PYTEST, "-v", "--durations=20", f"--junit-xml={report}", f"@{listed}"],
      cwd=_ROOT,
      check=False,
    )
    if record and report.exists():
      _record(tests, report.read_text("utf-8"))
  return done.returncode


def _record(tests: Sequence[str], report: str) -> None:
  """Write the seconds of tests that passed to the file; drop stale lines."""
  known = table()
  for test in stale(slow_tests(), known):
    del known[test]
  ids = {_case(test): test for test in tests}
  for case in xml.etree.ElementTree.fromstring(report).iter("testcase"):
    name = ids.get((case.get("classname", ""), case.get("name", "")))
    if name and not list(case):
      by = known[name].marked_by if name in known else MARKED
      known[name] = Row(float(case.get("time", 0)), by)
  rows = [f"{name}\t{s:.1f}\t{by}" for name, (s, by) in sorted(known.items())]
  _TABLE.write_text("\n".join([_HEAD, *rows]) + "\n", "utf-8")


def stale(tests: Sequence[str], known: Mapping[str, Row]) -> list[str]:
  """Return the tests of the table that are not slow tests any more."""
  return sorted(known.keys() - set(tests))


def _case(test: str) -> tuple[str, str]:
  """Class and name in a JUnit report: of `a/b_test.py::C::test`, `a.b_test.C`.

  >>> _case("tests/a_test.py::C::test_b")
  ('tests.a_test.C', 'test_b')
  """
  path, *classes, name = test.split("::")
  module = path.removesuffix(".py").replace("/", ".")
  return ".".join([module, *classes]), name


def main() -> int:
  """Runs or lists the piece that the arguments say."""
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("--piece", default="1/1", help="i/n, i from 1 to n")
  parser.add_argument("--list", action="store_true", help="run nothing")
  parser.add_argument("--record", action="store_true", help="keep the seconds")
  args = parser.parse_args()
  index, _, count = args.piece.partition("/")
  if not (
    index.isdigit() and count.isdigit() and 1 <= int(index) <= int(count)
  ):
    parser.error(f"--piece={args.piece}: expected i/n with i from 1 to n")
  known, every = table(), slow_tests()
  for test in stale(every, known):
    print(f"{_TABLE.name}: no slow test is {test}; --record drops the line.")
  tests = piece(every, known, int(index), int(count))
  print(f"piece {args.piece}: {len(tests)} slow tests", flush=True)
  if args.list or not tests:
    print("\n".join(tests))
    return 0
  start = time.monotonic()
  status = run(tests, args.record)
  print(
    f"piece {args.piece}: status {status}, {time.monotonic() - start:.0f} s"
  )
  return status


if __name__ == "__main__":
  sys.exit(main())

"""Runs the slow tests in pieces: all of them take hours on two cores.

  python -m tests.long --piece=3/12
  python -m tests.long --piece=3/12 --list

The slow tests (the campaign of bad inputs is among them, a test a door) are laid
out in their order and cut into n pieces of about the same time, by the seconds in
`tests/long.tsv`; a test that it does not know counts as the median. A piece prints
what pytest prints, its twenty slowest tests, and ends with pytest's status.
`--record` writes the seconds of the tests that passed back into the file.
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

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_SECONDS = _ROOT / "tests" / "long.tsv"
_HEAD = "test\tseconds"


def seconds() -> dict[str, float]:
  """Test -> seconds that it took on two quiet cores."""
  lines = _SECONDS.read_text("utf-8").splitlines()[1:]
  return {name: float(s) for name, s in (line.split("\t") for line in lines)}


def piece(
  tests: Sequence[str], known: Mapping[str, float], index: int, count: int
) -> list[str]:
  """The tests of one of `count` pieces, in order.

  Every test is in one piece: that in which the middle of its time lies.

  Args:
    tests: their ids, in order.
    known: seconds of some of them.
    index: from 1 to `count`.
    count: how many pieces there are.
  """
  usual = statistics.median(known.values()) if known else 1.0
  times = [known.get(test, usual) for test in tests]
  whole, before, chosen = sum(times), 0.0, []
  for test, its in zip(tests, times):
    place = int((before + its / 2) / whole * count) if whole else 0
    if min(place, count - 1) == index - 1:
      chosen.append(test)
    before += its
  return chosen


def slow_tests() -> list[str]:
  """Ids of all slow tests, as pytest collects them."""
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
  "slow",
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
  """Writes the seconds of tests that passed to the file."""
  known = seconds()
  ids = {_case(test): test for test in tests}
  for case in xml.etree.ElementTree.fromstring(report).iter("testcase"):
    name = ids.get((case.get("classname", ""), case.get("name", "")))
    if name and not list(case):
      known[name] = float(case.get("time", 0))
  rows = [f"{name}\t{known[name]:.1f}" for name in sorted(known)]
  _SECONDS.write_text("\n".join([_HEAD, *rows]) + "\n", "utf-8")


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
  tests = piece(slow_tests(), seconds(), int(index), int(count))
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

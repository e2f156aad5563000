"""Throws bad and odd inputs at every public door and counts what becomes of them.

  python -m tests.faults.report                       all cases
  python -m tests.faults.report --part=8 coco videos  an 8th of two doors
  python -m tests.faults.report --kind=nested         all of a kind

Prints each fault, then the counts by door; ends with 1 where there is a fault.
"""

import argparse
import collections
import os
import sys
from collections.abc import Sequence

from tests import conftest  # noqa: F401  where compiled programs are kept
from tests.faults import campaign
from tests.faults.case import Class, Outcome


def table(outcomes: Sequence[Outcome]) -> str:
  """Counts by door and class, as Markdown."""
  counts = collections.Counter((o.door, o.result) for o in outcomes)
  head = ["door", *(c.value for c in Class), "cases"]
  lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
  doors = list(dict.fromkeys(o.door for o in outcomes))
  for door in sorted(doors):
    row = [counts[door, c] for c in Class]
    lines.append(f"| {' | '.join(map(str, [door, *row, sum(row)]))} |")
  whole = [sum(counts[d, c] for d in doors) for c in Class]
  lines.append(f"| {' | '.join(map(str, ['all', *whole, sum(whole)]))} |")
  return "\n".join(lines)


def run(
  doors: Sequence[str], part: int = 1, kind: str = "", jobs: int = 2
) -> list[Outcome]:
  """Outcomes of some doors' cases, by door.

  Args:
    doors: their names.
    part: 1 for all; n: every n-th of those that need no run of a model.
    kind: what a case's kind must hold.
    jobs: cases at a time.
  """
  campaign.warm()
  chosen = []
  for door in doors:
    cases = campaign.cases(door)
    if part > 1:
      cases = [c for c in cases if not c.slow][::part]
    chosen += [(door, case) for case in cases if kind in case.kind]
  outcomes = []
  for outcome in campaign.run(chosen, jobs):
    outcomes.append(outcome)
    if not outcome.good:
      print(line(outcome), flush=True)
  return sorted(outcomes, key=lambda o: (o.door, o.kind))


def line(outcome: Outcome) -> str:
  """A fault in one line."""
  text = " ".join(outcome.text.split())
  text = text if len(text) < 300 else f"{text[:300]}..."
  return f"{outcome.result.value}: {outcome.door}: {outcome.kind}: {text}"


def main() -> None:
  """Runs what the arguments say."""
  parser = argparse.ArgumentParser()
  parser.add_argument("doors", nargs="*")
  parser.add_argument("--part", type=int, default=1)
  parser.add_argument("--kind", default="")
  parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
  args = parser.parse_args()
  outcomes = run(
    args.doors or campaign.doors(), args.part, args.kind, args.jobs
  )
  print(table(outcomes))
  sys.exit(not all(o.good for o in outcomes))


if __name__ == "__main__":
  main()

"""The campaign: what becomes of every bad or odd input, and the frame itself.

All of it is `-m slow`; `python -m tests.faults.report` prints the counts.
"""

import pathlib
import signal
import subprocess
import sys
import zlib

import pytest
from absl.testing import parameterized

from robust_tfds import errors
from tests.faults import campaign, mutations, report
from tests.faults.case import Case, Class, Outcome, Refused, judge

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_PART = 100  # of the fast tests


def _run(*args: str) -> None:
  """The report in a process of its own: this one may have JAX's threads."""
  done = subprocess.run(
    [sys.executable, "-m", "tests.faults.report", *args],
    cwd=_ROOT,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
    check=False,
  )
  print(done.stdout)
  if done.returncode:
    raise AssertionError(f"{args} ended with {done.returncode}:\n{done.stdout}")


class CampaignTest(parameterized.TestCase):
  def test_a_part_of_every_door(self):
    _run(f"--part={_PART}")

  @parameterized.parameters(*campaign.doors())
  @pytest.mark.slow
  def test_all_of(self, door):
    _run(door)


def _raises(error):
  def act(folder):
    raise error

  return act


def _kill(folder):
  signal.raise_signal(signal.SIGKILL)


class FrameTest(parameterized.TestCase):
  @parameterized.parameters(
    (_raises(errors.UserError("a.csv: label")), Class.REFUSED),
    (_raises(Refused("a.csv: LABEL")), Class.REFUSED),
    (_raises(errors.UserError("label")), Class.UNNAMED),
    (_raises(errors.UserError("a.csv: label: KeyError")), Class.UNNAMED),
    (_raises(ValueError("a.csv: label")), Class.TRACEBACK),
    (lambda folder: 5, Class.SILENT),
  )
  def test_what_must_be_refused(self, act, expected):
    case = Case("kind", act, ("a.csv", "label|top1"))
    self.assertEqual(judge(case, pathlib.Path())[0], expected)

  @parameterized.parameters(
    (lambda folder: 5, Class.RIGHT),
    (lambda folder: 6, Class.SILENT),
    (lambda folder: None, Class.SILENT),
    (_raises(errors.UserError("a.csv")), Class.OVERREFUSED),
  )
  def test_what_must_be_right(self, act, expected):
    case = Case("kind", act, right=lambda x: x + 1 == 6)
    self.assertEqual(judge(case, pathlib.Path())[0], expected)

  def test_crashes_and_hangs_are_seen_from_outside(self):
    cases = [
      Case("killed", _kill),
      Case("hung", lambda folder: signal.pause(), seconds=0.5),
      Case("greedy", lambda folder: bytearray(2 << 30), gib=1),
      Case("good", lambda folder: 5, right=lambda x: x == 5),
    ]
    found = {
      o.kind: o.result for o in campaign.run([("door", c) for c in cases])
    }
    expected = (Class.CRASH, Class.CRASH, Class.TRACEBACK, Class.RIGHT)
    self.assertEqual(tuple(found[c.kind] for c in cases), expected)

  def test_counts(self):
    outcomes = [
      Outcome("a", "x", Class.REFUSED, ""),
      Outcome("a", "y", Class.SILENT, ""),
      Outcome("b", "x", Class.RIGHT, ""),
    ]
    lines = report.table(outcomes).splitlines()
    self.assertEqual(lines[2], "| a | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 2 |")
    self.assertEqual(lines[-1], "| all | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 3 |")

  def test_mutations_are_the_same_every_time_and_differ(self):
    data = bytes(range(200))
    made = mutations.mutated(data, 5)
    self.assertLen(set(made), 5)
    self.assertNotIn(data, made)
    self.assertEqual(zlib.crc32(b"".join(made)), 1522346408)  # in every process

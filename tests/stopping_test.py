"""A program that is stopped: what it keeps, says and ends with."""

import pathlib
import signal
import subprocess
import sys
import time

import pytest
from absl.testing import parameterized

from tests import quick

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# Says `ready`, then does something for a long time.
_PROGRAM = """
import hashlib, sys, time
from robust_tfds import stopping

def keep():
  {keep}

def wait():
  print("ready", flush=True)
  {wait}

stopping.listen()
try:
  {body}
except KeyboardInterrupt:
  print("cleared up", flush=True)
  stopping.end()
"""
_SLEEP = "time.sleep(60)"
# Outside of Python, as a compiler is.
_STUCK = "hashlib.pbkdf2_hmac('sha1', b'', b'', 10**9)"
_TOLD = "with stopping.telling(lambda: 'two are made'): wait()"
_KEPT = "with stopping.at_stop(keep), stopping.at_stop(lambda: None): wait()"


class StoppingTest(parameterized.TestCase):
  def _stopped(self, number: int, again: bool = False, **program: str):
    program = {"keep": "return 'a half is kept'", "wait": _SLEEP, **program}
    started = subprocess.Popen(
      [sys.executable, "-c", _PROGRAM.format(**program)],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    self.addCleanup(started.kill)
    self.assertEqual(started.stdout.readline(), "ready\n")
    began = time.monotonic()
    started.send_signal(number)
    if again:
      time.sleep(0.5)
      started.send_signal(number)
    out, err = started.communicate(timeout=60)
    self.assertLess(time.monotonic() - began, 10)  # 3 on a machine of its own
    self.assertEqual(started.returncode, 128 + number)
    return out, err

  @quick.cases(
    [(signal.SIGTERM, _STUCK)],
    [(signal.SIGINT, _SLEEP), (signal.SIGTERM, _SLEEP)],
  )
  def test_what_is_kept_is_said(self, number, wait):
    self.assertEqual(
      self._stopped(number, body=_KEPT, wait=wait),
      ("", "stopped; a half is kept; the same command goes on\n"),
    )

  @quick.cases(
    [(signal.SIGINT, _TOLD, " two are made;")],
    [(signal.SIGTERM, _TOLD, " two are made;"), (signal.SIGINT, "wait()", "")],
  )
  def test_who_keeps_nothing_clears_up(self, number, body, words):
    self.assertEqual(
      self._stopped(number, body=body),
      ("cleared up\n", f"stopped;{words} the same command goes on\n"),
    )

  @parameterized.parameters(
    {"body": _KEPT, "keep": _SLEEP}, {"body": "wait()", "wait": _STUCK}
  )
  @pytest.mark.slow
  def test_nothing_takes_longer(self, **program):
    _, err = self._stopped(signal.SIGTERM, **program)
    self.assertEqual(err, "stopped; the same command goes on\n")

  @pytest.mark.slow
  def test_the_second_one_ends_at_once(self):
    _, err = self._stopped(signal.SIGINT, True, body=_KEPT, keep=_SLEEP)
    self.assertEqual(err, "")

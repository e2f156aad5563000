"""Runs of seconds on digits, made once for all cases and copied."""

import os
import pathlib
import shutil
from typing import Any

from robust_tfds.storage import locks
from tests.faults import commands, scored

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / "tests" / "eval" / "tiny_config.py"
CELL = "cells/digits_cnn/digits_c/brightness_3/seed0"
OTHER = "cells/digits_cnn/digits_c/brightness_1/seed0"
_NUMBERS = ("model", "config", "metric", "value", "lo", "hi", "n")


def made(folder: pathlib.Path) -> pathlib.Path:
  """The finished run; the first case makes it, the others wait.

  Args:
    folder: a case's own, in the campaign's.
  """
  root = folder.parents[1]
  place = root / "finished_run"
  with locks.exclusive(root / "finished_run.lock", "a run is being made"):
    if not place.exists():
      unfinished = root / "unfinished_run"
      run(unfinished)
      os.rename(unfinished, place)
  return place


def run(
  workdir: pathlib.Path, config: pathlib.Path = CONFIG, *flags: str
) -> str:
  """Starts or continues a run."""
  return commands.run(
    "eval.main",
    f"--config={config}",
    f"--workdir={workdir}",
    *flags,
  )


def copy(folder: pathlib.Path) -> pathlib.Path:
  """A workdir of the case's own; its data stay where they were made."""
  place = folder / "run"
  leave = shutil.ignore_patterns("data")
  shutil.copytree(made(folder), place, ignore=leave, symlinks=True)
  return place


def numbers(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
  """A table less its fingerprints, in order."""
  return sorted(tuple(r[k] for k in _NUMBERS) for r in rows)


def same(folder: pathlib.Path, rows: Any) -> bool:
  """Whether a table is that of the finished run."""
  want = numbers(scored.table(made(folder)))
  got = numbers(rows)
  assert got == want, [r for r in got if r not in want][:2]
  return True

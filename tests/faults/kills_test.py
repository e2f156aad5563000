"""Commands that are killed, or whose disk fails, end as if nothing had been.

SIGKILL at operations that write (see filesystem.py) and at moments of time; a
disk that is full, fails once, writes half or becomes read-only. After each the
same command ends well and its result is byte for byte that of a run that nothing
happened to. To add a command: a row of `_PROGRAMS`.
"""

import functools
import pathlib
import random
import re
import shutil
import signal
import tempfile
from collections.abc import Sequence

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath
from PIL import Image

import models
from configs import video_p
from eval import tasks
from eval.cells.cell import Cell
from eval.cells.workdir import Workdir
from eval.run import spec as spec_lib
from models import weights_file
from tests.eval.readers import csv_test
from tests.faults import filesystem, kills

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_DISK = ("full", "io_error", "short", "read_only")


def _run(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  return [
    f"--config={_ROOT / 'tests' / 'eval' / 'tiny_config.py'}",
    f"--workdir={out}",
    f"--config.data.data_dir={shared / 'data'}",
    "--config.data.corruptions=brightness",
    "--config.data.severities=(1,)",
    "--config.data.limit=0",  # 359 digits: two blocks of at most 1 MiB
    "--config.batch_size=16",
  ]


def _masks(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  return [
    f"--config={_ROOT / 'tests' / 'eval' / 'tiny_segmentation.py'}",
    f"--workdir={out}",
    f"--config.data.data_dir={shared / 'data'}",
  ]


def _predictions(shared: pathlib.Path) -> None:
  rows = csv_test.rows_of(("fog",))
  csv_test.write(rows, shared / "predictions.csv")


def _score(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  return [
    f"--predictions={shared / 'predictions.csv'}",
    "--dataset=mine_c",
    "--baseline=",
    f"--out={out}",
  ]


def _videos(shared: pathlib.Path) -> None:
  """Two finished runs of videos."""
  rng = np.random.default_rng(0)
  config = video_p.get_config("ucf101_p,r3d_18").unlock()
  config.data.perturbations, config.data.severities = "jpeg", (1,)
  spec = spec_lib.from_config(config)
  ids = np.array([f"v{i}" for i in range(20)])
  for name in ("first", "second"):
    workdir = Workdir(shared / name)
    workdir.claim(spec.written)
    for condition in tasks.bind(spec.written).conditions():
      top5 = np.tile(np.arange(5), (20, 1))
      top5[:, 0] = rng.integers(0, 2, 20)
      columns = {
        "example_id": ids,
        "group_id": ids,
        "frame": np.zeros(20, np.int32),
        "label": np.zeros(20, np.int32),
        "top5": top5.astype(np.int32),
        "score": np.ones((20, 5), np.float32),
      }
      workdir.write_cell(Cell("r3d_18", "ucf101_p", condition), columns)


def _compare(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  return [str(shared / "first"), str(shared / "second"), f"--out={out}"]


def _pictures(shared: pathlib.Path) -> None:
  rng = np.random.default_rng(0)
  (shared / "in").mkdir()
  for i in range(3):
    levels = rng.integers(0, 256, (24, 32, 3)).astype(np.uint8)
    Image.fromarray(levels).save(shared / "in" / f"{i}.png")


def _corrupt(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  names = "--corruption=contrast,brightness"
  return [str(shared / "in"), str(out), names, "--severity=1"]


def _build(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  return ["digits_c", "--config=clean", "--limit=8", f"--data_dir={out}"]


def _models(shared: pathlib.Path) -> None:
  """A network of digits, and a list whose second line is broken."""
  weights = epath.Path(shared / "weights.npz")
  weights_file.write(weights, models.get("digits_bn").init(jax.random.key(0)))
  lines = [f"digits_bn,{weights},a", "digits_bn", f"digits_bn,{weights},b"]
  (shared / "models.csv").write_text("\n".join(lines))


def _suite(shared: pathlib.Path, out: pathlib.Path) -> list[str]:
  return [
    f"--models={shared / 'models.csv'}",
    f"--data_dir={shared / 'data'}",
    "--sets=digits_c,imagenet_c,digits_c+bn",
    "--limit=4",
    "--timm_csv",
    f"--out={out}",
  ]


def _nothing(shared: pathlib.Path) -> None:
  """For commands that read nothing, or what they make there themselves."""


# Stages of a run -> the operations that write in it.
_STAGES = {
  "in a block": r"^(open|write) \S+/parts/",
  "at the end of a part": r"^(fsync|replace) \S+/parts/",
  "in the assembly": r" \S+/(cells|examples)/",
  "parts are removed": r"^(remove|unlink|rmdir) \S+/parts",
  "at the last write": r" \S+/\.?(table\.csv|timing\.json)",
}
_CELLS = ("table.csv", "config.json", "cells/**/*", "examples/*")
_PROGRAMS = {
  p.name: p
  for p in (
    kills.Program("run", "eval.main", _run, _nothing, _CELLS),
    kills.Program("masks", "eval.main", _masks, _nothing, _CELLS),
    kills.Program(
      "score", "eval.score", _score, _predictions, (*_CELLS, "reports/*")
    ),
    kills.Program(
      "suite",
      "eval.suite",
      _suite,
      _models,
      ("suite.csv", "index.html", "timm/*", "*/*/cells/**/*"),
    ),
    kills.Program("compare", "eval.compare", _compare, _videos, ("*",)),
    kills.Program(
      "corrupt_folder",
      "robust_tfds.corrupt_folder",
      _corrupt,
      _pictures,
      ("*/*/*",),
    ),
    kills.Program(
      "build",
      "robust_tfds.build",
      _build,
      _nothing,
      ("**/*record-*", "**/features.json"),
      # TFDS's own note in .config/ is shared by builds that go on.
      ("**/incomplete.??????_*",),
    ),
  )
}


class _Reference:
  """What a program does when nothing happens to it."""

  def __init__(self, program: kills.Program):
    self.program = program
    self.folder = pathlib.Path(tempfile.mkdtemp(prefix=program.name))
    self.shared = self.folder / "shared"
    self.shared.mkdir()
    program.prepare(self.shared)
    first, second, third = (
      self.folder / name / "run" for name in ("first", "second", "third")
    )
    kills.timed(program, self.shared, first)
    self.result = kills.result(program, first)
    ended = kills.run(program, self.shared, second)
    assert kills.result(program, second) == self.result, "not the same twice"
    self.operations = ended.operations
    # When what it compiles is there.
    self.seconds = kills.timed(program, self.shared, third)

  def spread(self, count: int, pattern: str = "") -> list[int]:
    """Numbers of `count` operations that match, from the first to the last.

    Of equal ones in a row the first stands for all.
    """
    before = [None, *self.operations]
    places = [
      i
      for i, operation in enumerate(self.operations, 1)
      if operation != before[i - 1] and re.search(pattern, operation)
    ]
    assert places, self.operations
    picked = np.linspace(0, len(places) - 1, min(count, len(places)))
    return [places[int(i)] for i in picked]


@functools.cache
def _reference(name: str) -> _Reference:
  return _Reference(_PROGRAMS[name])


@pytest.mark.slow
class KillsTest(parameterized.TestCase):
  def _folder(self) -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(dir=self.create_tempdir())) / "run"

  def _run(self, reference: _Reference, folder, *fault, **options):
    program, shared = reference.program, reference.shared
    return kills.run(program, shared, folder, *fault, **options)

  def _ends_well(self, reference: _Reference, folder: pathlib.Path) -> None:
    """The same command again ends as if nothing had been."""
    ended = self._run(reference, folder)
    self.assertEqual(ended.code, 0, ended.said)
    self.assertEqual(kills.result(reference.program, folder), reference.result)
    shutil.rmtree(folder.parent)

  def _killed_at(self, reference: _Reference, places: Sequence[int]) -> None:
    for i, at in enumerate(places):
      fault = filesystem.Fault(("kill", "kill_half")[i % 2], at)
      folder = self._folder()
      with self.subTest(operation=reference.operations[at - 1]):
        ended = self._run(reference, folder, fault)
        self.assertEqual(ended.code, -9, ended.said)
        self._ends_well(reference, folder)

  # Together with the moments below more than fifty kills.
  @parameterized.parameters(
    ("run", 16),
    ("masks", 8),
    ("score", 12),
    ("compare", 6),
    ("corrupt_folder", 8),
    ("build", 8),
  )
  def test_killed_at_an_operation(self, name, count):
    self._killed_at(_reference(name), _reference(name).spread(count))

  @parameterized.parameters(*_STAGES)
  def test_a_run_is_killed_in_a_stage(self, stage):
    reference = _reference("run")
    self._killed_at(reference, reference.spread(4, _STAGES[stage]))

  @parameterized.parameters(
    ("run", 6),
    ("suite", 3),
    ("score", 3),
    ("compare", 2),
    ("corrupt_folder", 3),
    ("build", 4),
  )
  def test_killed_at_a_moment(self, name, count):
    reference = _reference(name)
    rng = random.Random(0)
    for _ in range(count):
      seconds = rng.uniform(0.2, 1) * reference.seconds
      folder = self._folder()
      with self.subTest(name, seconds=seconds):
        self._run(reference, folder, seconds=seconds)
        self._ends_well(reference, folder)

  @parameterized.product(
    name=("run", "build", "corrupt_folder"),
    number=(signal.SIGINT, signal.SIGTERM),
    share=(0.2, 0.5, 0.7, 0.9),
  )
  def test_a_command_is_stopped(self, name, number, share):
    reference, folder = _reference(name), self._folder()
    seconds = share * reference.seconds
    ended = self._run(reference, folder, seconds=seconds, number=number)
    self.assertIn(ended.code, (0, 128 + number))  # 0: it was faster
    if ended.code:
      self.assertNotIn("Traceback", ended.said)
      self.assertRegex(
        ended.said.splitlines()[-1],
        "^stopped; ([0-9] of .* pictures kept.*; )?the same command goes on$",
      )
    self._ends_well(reference, folder)

  def test_killed_again_and_again(self):
    reference, folder = _reference("run"), self._folder()
    rng = random.Random(1)
    for _ in range(8):
      at = rng.randrange(1, len(reference.operations) // 3)
      self._run(reference, folder, filesystem.Fault("kill", at))
    self._ends_well(reference, folder)

  @parameterized.parameters(
    ("run", 12),
    ("score", 12),
    ("compare", 8),
    ("corrupt_folder", 8),
    ("build", 8),
  )
  def test_a_failing_disk(self, name, count):
    reference = _reference(name)
    for i, at in enumerate(reference.spread(count)):
      kind, folder = _DISK[i % len(_DISK)], self._folder()
      with self.subTest(fault=kind, operation=reference.operations[at - 1]):
        ended = self._run(reference, folder, filesystem.Fault(kind, at))
        if ended.code:  # what need not succeed may fail: removing what is left
          self.assertEqual(ended.code, 1, ended.said)
          self.assertNotIn("Traceback", ended.said)
          self.assertIn(str(folder), ended.refusal)
          self.assertRegex(ended.refusal, "No space|Input/output|Read-only")
        self._ends_well(reference, folder)

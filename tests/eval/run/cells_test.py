"""Batches in, cells on disk out: one decode, whatever is stopped or fails."""

import collections
import hashlib
import io
import pathlib
import threading
import time
from collections.abc import Mapping
from unittest import mock

import jax
import numpy as np
from absl.testing import parameterized

from eval import tasks
from eval.cells.cell import Cell
from eval.cells.files import parts
from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run.execution import cells as cells_lib
from eval.run.execution import one_pass, progress, timing
from eval.run.model import load as load_lib
from eval.tasks import base
from robust_tfds import conditions, devices, errors, hosts
from robust_tfds.storage import disk
from tests.eval.pipeline import stored_examples

_CONDITIONS = [conditions.PICTURES.parse(n) for n in ("clean", "fog_2")]
COUNT, BATCH = 37, 2  # more batches than are in flight, and than are timed
PICTURE = 2 * 3 * 3  # bytes
_THREADS = ("write", "fetch", "compile ahead", "assemble", "blocks")


class Outputs:
  """Of a device that answers at once."""

  def __init__(self, values: Mapping[str, np.ndarray]):
    self._values = values

  def block_until_ready(self) -> None:
    pass

  def fetch(self) -> dict[str, np.ndarray]:
    return dict(self._values)


class Predictor:
  """Predicts the class that the picture's level says, plus `off`."""

  def __init__(self, off: int = 0, broken: int = -1):
    self._off, self._broken = off, broken
    self.calls = 0

  def __call__(self, images, labels, reduce, sizes, count=None):
    if isinstance(images, jax.ShapeDtypeStruct):
      return Outputs({})
    self.calls += 1
    level = np.asarray(images)[:, 0, 0, 0].astype(np.int32)
    top = ((level + self._off) % 3)[:, None]
    return Outputs(
      {
        "top5": np.pad(top, [(0, 0), (0, 4)], constant_values=-1),
        "score": np.ones((len(level), 5), np.float32),
        "finite": level != self._broken,
      }
    )

  def give_up(self):
    pass


class MakerTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    self.stages = timing.Stages()
    self.stream = io.StringIO()
    # Read as they are: prepared sets are corrupted already.
    setting = base.Setting("digits_c", "cifar10", "raw", fly=False)
    self.task = tasks.get("classification")(setting)
    self.mesh = devices.mesh(jax.local_devices()[:1])

  def _source(self, sides=(2,)) -> inputs.Source:
    examples = [
      stored_examples.example(i, sides[i % len(sides)]) for i in range(COUNT)
    ]
    builder = stored_examples.Builder(examples, any_size=len(sides) > 1)
    return inputs.Source(builder, "test", batch_size=BATCH)

  def _cells(self, labels) -> list[Cell]:
    return [
      Cell(label, "digits_c", condition, 0, "f")
      for label in labels
      for condition in _CONDITIONS
    ]

  def make(
    self,
    source: inputs.Source | None = None,
    workdir: Workdir | None = None,
    block_rows: int = 100,
    **predictors,
  ) -> list[Cell]:
    """What a run does with one source: cells that are finished stay."""
    source, workdir = source or self._source(), workdir or self.workdir
    loaded = {
      label: load_lib.LoadedModel(predictor, None, "", "float32")
      for label, predictor in predictors.items()
    }
    cells = self._cells(predictors)
    lacking = [cell for cell in cells if not workdir.done(cell)]
    setup = one_pass.Setup(
      self.task,
      loaded,
      self.mesh,
      hosts.Host(),
      self.stages,
      progress.Progress(
        len(cells),
        0,
        collections.Counter(c.condition.config for c in lacking * COUNT),
        stream=self.stream,
      ),
      block_rows * PICTURE,
    )
    with cells_lib.CellMaker(setup, workdir, self._finish) as maker:
      maker.run(cells, lacking, source)
    return cells

  def _finish(self, cell: Cell, columns) -> str:
    error = (columns["top5"][:, 0] != columns["label"]).mean()
    return f"{cell.model} error {error:.3f}"

  def hashes(self, workdir: Workdir | None = None) -> dict[str, str]:
    """What a run leaves: path -> sha256; nothing that is not finished."""
    root = pathlib.Path((workdir or self.workdir).path)
    self.assertFalse((root / parts.FOLDER).exists())
    return {
      p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
      for p in root.glob("**/*")
      if p.is_file()
    }

  def reference(self) -> dict[str, str]:
    workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    self.make(workdir=workdir, a=Predictor(), b=Predictor(1))
    return self.hashes(workdir)

  def _names(self) -> list[str]:
    """Of the parts that are there."""
    folder = pathlib.Path(self.workdir.path) / parts.FOLDER
    return sorted(p.name for p in folder.glob("*/*"))


class CellMakerTest(MakerTest):
  def test_every_model_has_its_cells_of_the_valid_rows(self):
    right, wrong = Predictor(), Predictor(off=1)
    source = self._source()
    cells = self.make(source, right=right, wrong=wrong)
    for cell in cells:
      columns = self.workdir.columns(cell)
      self.assertEqual(
        columns["example_id"].tolist(),
        sorted(f"example_{i}" for i in range(COUNT)),
      )
      same = columns["top5"][:, 0] == columns["label"]
      self.assertEqual(set(same.tolist()), {cell.model == "right"})
      self.assertEqual(Cell.from_note(self.workdir.note(cell)), cell)
    steps = -(-COUNT // BATCH)
    self.assertEqual(right.calls, steps * len(_CONDITIONS))
    self.assertEqual(wrong.calls, steps * len(_CONDITIONS))
    self.assertEqual(source.builder.reads, COUNT)
    self.assertEqual(source.decoded, COUNT)
    self.assertIn(
      "fog_2: right error 0.000, wrong error 1.000", self.stream.getvalue()
    )

  def test_a_few_steps_are_timed(self):
    self.make(a=Predictor())
    took = self.stages.summary({})
    self.assertContainsSubset(
      {"compile_s", "corrupt_s", "infer a_s", "read_s", "wall_s", "write_s"},
      took,
    )
    # Padding is computed too.
    self.assertEqual(self.stages.images, len(_CONDITIONS) * (COUNT + 1))

  @parameterized.parameters(1, 2, 3, 8, 36, 37)
  def test_any_size_of_blocks_gives_the_same_bytes(self, rows):
    want = self.reference()
    source = self._source()
    self.make(source, block_rows=rows, a=Predictor(), b=Predictor(1))
    self.assertEqual(self.hashes(), want)
    self.assertEqual(source.decoded, COUNT)

  def test_pictures_of_any_size_each_once(self):
    source = self._source(sides=(2, 300, 5))
    (cell, *_) = self.make(source, a=Predictor(), block_rows=10)
    columns = self.workdir.columns(cell)
    np.testing.assert_array_equal(columns["top5"][:, 0], columns["label"])
    self.assertLen(columns["label"], COUNT)
    self.assertEqual(source.decoded, COUNT)

  def test_finished_cells_are_not_made_again(self):
    predictor = Predictor()
    self.make(a=predictor)
    want, calls = self.hashes(), predictor.calls
    source = self._source()
    self.make(source, a=predictor)
    self.assertEqual((predictor.calls, source.decoded), (calls, 0))
    self.assertEqual(self.hashes(), want)

  def test_examples_of_one_id_make_no_cell(self):
    source = self._source()
    source.builder._examples[3] = source.builder._examples[4]
    with self.assertRaisesRegex(
      errors.UserError, "predictions of 36 different examples, but .* has 37"
    ):
      self.make(source, a=Predictor())
    self.assertFalse(self.workdir.has_cells())

  def test_no_thread_is_left(self):
    self.make(a=Predictor(), block_rows=4)
    with self.assertRaises(errors.UserError):
      self.make(b=Predictor(broken=30), block_rows=4)
    left = {t.name for t in threading.enumerate()}
    self.assertNoCommonElements(left, _THREADS)


class FaultTest(MakerTest):
  def _goes_on(self, lost: int = COUNT) -> None:
    """The same command again ends as if nothing had been.

    Args:
      lost: most rows that may be read again.
    """
    left = {t.name for t in threading.enumerate()}
    self.assertNoCommonElements(left, _THREADS)
    open_files = pathlib.Path("/proc/self/fd").iterdir()
    names = [str(p.readlink()) for p in open_files if p.is_symlink()]
    root = str(self.workdir.path)
    self.assertEmpty([n for n in names if n.startswith(root)])
    source = self._source()
    self.make(source, block_rows=4, a=Predictor(), b=Predictor(1))
    self.assertEqual(self.hashes(), self.reference())
    self.assertLessEqual(source.decoded, lost)

  def test_logits_that_are_not_finite_name_the_example(self):
    with self.assertRaisesRegex(
      errors.UserError,
      "b gave NaN or infinite logits on 1 examples of clean, .* 'example_30'",
    ):
      self.make(block_rows=4, a=Predictor(), b=Predictor(1, broken=30))
    self.assertFalse(self.workdir.has_cells())
    self.assertIn(
      "rows-000000000-000000004-00000-host-0-of-1.npz", self._names()
    )
    self._goes_on(lost=COUNT - 30 + 4 * 4)

  def test_a_broken_source(self):
    source = self._source()
    source.builder._examples[30] = {
      **source.builder._examples[30],
      "image": np.zeros((5, 5, 3), np.uint8),
    }
    with self.assertRaisesRegex(errors.UserError, "'example_30' has shape"):
      self.make(source, block_rows=4, a=Predictor(), b=Predictor(1))
    self._goes_on()

  def test_nothing_is_left_of_a_first_block_that_fails(self):
    with self.assertRaisesRegex(errors.UserError, "NaN"):
      self.make(block_rows=4, a=Predictor(broken=2))
    self.assertFalse((self.workdir.path / parts.FOLDER).exists())

  @parameterized.parameters(1, 3, 100)
  def test_a_fetch_that_fails_while_all_room_is_taken(self, rows):
    # The reader waits for room, the devices' side for the reader.
    def fail(*_) -> None:
      time.sleep(0.3)  # until everybody waits
      raise errors.UserError("a column is broken")

    with mock.patch.object(self.task, "columns", fail):
      with self.assertRaisesRegex(errors.UserError, "a column is broken"):
        self.make(block_rows=rows, a=Predictor(), b=Predictor(1))
    self._goes_on()

  def test_a_disk_that_fails_while_a_part_is_written(self):
    calls = []
    original = parts._write_columns

    def fail(*args):
      calls.append(1)
      if len(calls) > 2 * (1 + 4):  # examples and cells
        time.sleep(0.1)
        raise disk.DiskError("parts: could not be written: No space left")
      return original(*args)

    with mock.patch.object(parts, "_write_columns", fail):
      with self.assertRaisesRegex(disk.DiskError, "No space left"):
        self.make(block_rows=4, a=Predictor(), b=Predictor(1))
    self.assertLen(self._names(), 2)
    self._goes_on(lost=COUNT - 8)

  @parameterized.parameters(0, 1, 3)
  def test_a_cell_that_cannot_be_written(self, after):
    calls = []
    original = Workdir.write_cell

    def fail(*args):
      calls.append(1)
      if len(calls) > after:
        raise disk.DiskError("cells: could not be written: No space left")
      return original(*args)

    with mock.patch.object(Workdir, "write_cell", fail):
      with self.assertRaisesRegex(disk.DiskError, "No space left"):
        self.make(block_rows=4, a=Predictor(), b=Predictor(1))
    self._goes_on(lost=0)

  def test_a_finished_cell_that_cannot_be_measured(self):
    with mock.patch.object(self, "_finish", side_effect=ValueError("x")):
      with self.assertRaisesRegex(ValueError, "x"):
        self.make(block_rows=4, a=Predictor(), b=Predictor(1))
    self._goes_on(lost=0)

  def test_killed_before_the_parts_were_removed(self):
    with mock.patch.object(parts.Parts, "remove"):
      self.make(block_rows=4, a=Predictor(), b=Predictor(1))
    self.assertLen(self._names(), 10)
    self._goes_on(lost=0)

  @parameterized.parameters(range(5))
  def test_interrupted_wherever_it_is(self, number):
    """Ctrl-C comes in the thread that gives batches to the devices."""
    calls = []

    def interrupt(*_) -> bool:
      calls.append(1)
      if len(calls) > 5 * number:
        raise KeyboardInterrupt
      return True

    with mock.patch.object(one_pass.Pass, "_wait_for_room", interrupt):
      with self.assertRaises(KeyboardInterrupt):
        self.make(block_rows=4, a=Predictor(), b=Predictor(1))
    self._goes_on()

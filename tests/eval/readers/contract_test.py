"""The contract of readers, over every file of their folder."""

import dataclasses
import pathlib
import shutil

import numpy as np
from absl.testing import parameterized
from etils import epath

from eval import readers, tasks
from eval.cells import table
from eval.readers import base, frames
from robust_tfds import conditions, errors
from tests import in_folder
from tests.datasets import natural_videos

_NAMES = [name for name in readers.names() if not readers.get(name).stored]
_PATHS = ("truth", "metadata", "classes")  # options that name files


def _write_frames(folder: pathlib.Path) -> tuple[str, dict[str, str]]:
  """Write metadata of frames and predictions on them."""
  natural_videos.vid(folder / "metadata")
  listed = frames.reviewed(
    "imagenet_vid_robust", epath.Path(folder / "metadata")
  )
  rows = [f"{frame.example_id},4\n" for frame in listed]
  (folder / "mine.csv").write_text("".join(["example_id,top1\n", *rows]))
  return "mine.csv", {"metadata": "metadata"}


def _write(
  reader: base.Reader, folder: pathlib.Path
) -> tuple[epath.Path, base.Options]:
  """Write a reader's example; return its path and the options that it needs."""
  folder.mkdir()
  if reader.example is None:
    path, options = _write_frames(folder)
  else:
    path, options = reader.example.path, dict(reader.example.options)
    for name, text in reader.example.files.items():
      (folder / name).parent.mkdir(parents=True, exist_ok=True)
      (folder / name).write_text(text, "utf-8")
  for name in _PATHS:
    if name in options:
      options[name] = epath.Path(folder / options[name])
  return epath.Path(folder / path), base.Options(**options)


class ContractTest(in_folder.TestCase):
  """What every reader does with its example, and with damaged copies of it."""

  def _case(self, name: str) -> tuple[base.Reader, epath.Path, base.Options]:
    reader = readers.get(name)
    return reader, *_write(reader, self.root / "one")

  def _rows(self, reader, path, options) -> list[table.Row]:
    return reader.read([path], options).rows()

  @parameterized.parameters(*_NAMES)
  def test_it_is_documented_and_has_an_example(self, name):
    reader = readers.get(name)
    self.assertRegex(reader.kind, "^an? ")
    if name != "frames":  # whose metadata are archives
      self.assertIsNotNone(reader.example, f"state `example` of {name}")

  @parameterized.parameters(*_NAMES)
  def test_its_files_are_found_and_no_others(self, name):
    reader, path, options = self._case(name)
    self.assertTrue(reader.fits(path, options))
    found = readers.choose([path], readers.AUTO, options)
    self.assertIs(type(found), type(reader))
    (self.root / "notes.txt").write_text("No predictions.")
    (self.root / "empty").mkdir()
    for other in ("notes.txt", "empty"):
      self.assertFalse(reader.fits(epath.Path(self.root / other), options))

  @parameterized.parameters(*_NAMES)
  def test_cells(self, name):
    reader, path, options = self._case(name)
    run = reader.read([path], options)
    self.assertNotEmpty(run.cells)
    self.assertLen(set(run.cells), len(run.cells))
    self.assertIn(run.task_name, tasks.names())
    family = tasks.get(run.task_name).family
    order = family.conditions() if run.task_name != "frames" else []
    for dataset in run.datasets:
      for label in run.labels(dataset):
        listed = [c.condition for c in run.cells_of(dataset, label)]
        if order:
          self.assertEqual(listed, sorted(listed, key=order.index))
        self.assertIn(conditions.Condition(), listed)
    for cell in run.cells:
      columns = run.columns(cell)
      self.assertTrue(all(isinstance(c, np.ndarray) for c in columns.values()))

  @parameterized.parameters(*_NAMES)
  def test_table(self, name):
    reader, path, options = self._case(name)
    run = reader.read([path], options)
    rows = run.rows()
    for cell in run.cells:
      mine = [
        r
        for r in rows
        if (r.model, r.config) == (cell.model, cell.condition.config)
      ]
      self.assertTrue(any(r.has_value for r in mine), cell)
    again = self._rows(reader, path, options)
    self.assertEqual(table.dumps(again), table.dumps(rows))

  @parameterized.parameters(*_NAMES)
  def test_options_that_mean_nothing_are_refused(self, name):
    reader, path, options = self._case(name)
    values = {"seed": 3, "rules": "coco", "subset": "x", "separator": ","}
    values |= {"baseline": "", "columns": "top1=x"}
    for option in values.keys() - {*reader.options}:
      said = dataclasses.replace(options, **{option: values[option]})
      with self.assertRaisesRegex(errors.UserError, f"--{option}=.*no meaning"):
        reader.read([path], said)
    if "seed" in reader.options:
      run = reader.read([path], dataclasses.replace(options, seed=3))
      self.assertEqual({cell.seed for cell in run.cells}, {3})

  @parameterized.parameters(*_NAMES)
  def test_a_model_in_two_files_is_refused(self, name):
    reader, path, options = self._case(name)
    other, _ = _write(reader, self.root / "other")
    with self.assertRaisesRegex(
      errors.UserError, "is in .*one.* and in .*othe"
    ):
      reader.read([path, other], options)

  @parameterized.parameters(*_NAMES)
  def test_damaged_files_are_refused_or_scored(self, name):
    """A refusal is a `UserError`; any other exception is a bug."""
    reader, path, options = self._case(name)
    below = sorted(pathlib.Path(path).rglob("*")) or [path]
    files = [file for file in below if file.is_file()]
    for file in files:
      whole = file.read_bytes()
      half = len(whole) // 2
      for damage, content in {
        "empty": b"",
        "half": whole[:half],
        "no text": b"\xff\xfe\x00" + whole,
        "a hole": whole[:half] + b"?" * 8 + whole[half + 8 :],
      }.items():
        file.write_bytes(content)
        with self.subTest(f"{file.name}: {damage}"):
          try:
            rows = self._rows(reader, path, options)
          except errors.UserError as e:
            self.assertIn(file.name, str(e))
          else:
            self.assertNotEmpty(rows)
            self.assertNotIn(damage, ("empty", "no text"))
      file.write_bytes(whole)
    for file in files:
      file.unlink()
    shutil.rmtree(path, ignore_errors=True)
    with self.assertRaises((errors.UserError, FileNotFoundError)):
      self._rows(reader, path, options)

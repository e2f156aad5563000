"""The note of a finished cell: what it says and what it refuses."""

import dataclasses
import hashlib
import json

import numpy as np
from absl.testing import parameterized

from eval.cells.cell import Cell
from eval.cells.cell_facts import ModelFacts
from eval.cells.files import note as note_lib
from robust_tfds import conditions, errors
from tests import in_folder

_CELL = Cell("m", "d", conditions.Condition("fog", 3), 7, "f")


class NoteTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    (self.root / "x.npz").write_bytes(b"columns")
    split = note_lib.split_of("test", np.array(["a", "a", "b"]))
    self.file = note_lib.File.of(b"columns")
    self.note = note_lib.make(
      _CELL.note(), split, {"x.npz": self.file}, note_lib.File.of(b"ids")
    )
    self.path = self.root / note_lib.FILE
    self.path.write_text(self.note.dumps())

  def _refuses(self, message: str) -> None:
    with self.assertRaisesRegex(errors.UserError, f"^{self.path}: {message}"):
      note_lib.read(self.root)

  def test_says_whose_and_of_what(self):
    note = note_lib.read(self.root)
    self.assertEqual(note, self.note)
    self.assertEqual(Cell.of_note(note), _CELL)
    self.assertEqual((note.split.rows, note.split.examples), (3, 2))
    self.assertEqual(note.files["x.npz"].size, 7)
    self.assertEqual(note.examples.size, 3)

  @parameterized.parameters(
    {"without": ("of_model", "without_output", "data", "by")},
    {"without": ("random",)},
    {"of_model": "", "random": False},
    {"without_output": 0, "data": None},
  )
  def test_notes_of_earlier_code_have_other_fields(self, without=(), **fields):
    content = {**json.loads(self.path.read_text()), **fields}
    content = {k: v for k, v in content.items() if k not in without}
    del content["checksum"], content["split"]["labels"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    self.path.write_text(json.dumps(content))
    self.assertEqual(note_lib.read(self.root).model, "m")

  def test_an_unknown_value_within_a_fact_stays(self):
    by = ModelFacts(weights="w", preprocessing={"crop": None})
    cell = dataclasses.replace(_CELL, model_facts=by)
    note = note_lib.make(cell.note(), self.note.split, {}, self.file)
    self.path.write_text(note.dumps())
    read = note_lib.read(self.root)
    self.assertEqual(read.model_facts, by)
    self.assertEqual(read.model_facts.hash, by.hash)

  def test_the_ids_are_told_apart(self):
    ids = [["ab", "c"], ["a", "bc"], ["ab", "c", "d"], ["c", "ab"]]
    marks = {note_lib.split_of("", np.array(i)).ids for i in ids}
    self.assertLen(marks, len(ids))

  @parameterized.parameters(
    ("", "the file is empty"),
    ("{", "line 1"),
    ("[]", ""),
    ("null", ""),
    ('{"model": "m"}', "version: got None, expected 2"),
    ('{"version": 1}', "version: got 1, expected 2"),
    ('{"version": 2}', "model: missing"),
  )
  def test_other_json(self, text, message):
    self.path.write_text(text)
    self._refuses(message)

  @parameterized.parameters(
    ({"severity": "3"}, "severity: got '3', expected a valid integer"),
    ({"severity": 4}, "checksum"),
    ({"model": "n"}, "checksum"),
    ({"more": 1}, "more"),
    ({"split": {}}, "split.name: missing"),
  )
  def test_changed_fields(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    self._refuses(message)

  def test_no_note(self):
    self.path.unlink()
    self._refuses("")

  @parameterized.parameters(b"", b"column", b"Columns", None)
  def test_changed_files(self, data):
    path = self.root / "x.npz"
    path.unlink()
    if data is not None:
      path.write_bytes(data)
    with self.assertRaisesRegex(errors.UserError, f"^{path}: "):
      note_lib.read_file(path, self.file)

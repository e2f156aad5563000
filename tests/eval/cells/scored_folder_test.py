"""The folder of a score: whole or not at all, replaced, never a run's."""

import json

from eval.cells.files import scored_folder
from tests import fake_bucket, in_folder


class ScoredFolderTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.root / "out"

  def _write(self, **files) -> None:
    with scored_folder.replacing(self.folder, [self.root / "in"]) as folder:
      for name, text in files.items():
        (folder / name).write_text(text)

  def _names(self) -> set[str]:
    return {p.name for p in self.folder.iterdir()}

  def test_replaces_its_own_files_alone(self):
    self._write(table="1", tables="1")
    self.assertEqual(self._names(), {"table", "tables", "scored.json"})
    note = json.loads((self.folder / "scored.json").read_text())
    self.assertEqual(note["predictions"], [str(self.root / "in")])
    (self.folder / "notes.txt").write_text("a user's")
    self._write(table="2")
    self.assertEqual(self._names(), {"table", "notes.txt", "scored.json"})
    self.assertEqual((self.folder / "table").read_text(), "2")

  def test_in_a_bucket(self):
    """The same; half of a score is no workdir, and is replaced."""
    self.folder = fake_bucket.create(self) / "out"
    files = {"cells": "1", "config.json": "{}", "table.csv": "1"}
    self._write(**files)
    self.assertEqual(self._names(), {*files, "scored.json"})
    for step, name in (
      ("copy", "*unfinished/table.csv"),
      ("copied", "*/cells"),
    ):
      with self.assertRaises(fake_bucket.Killed):
        with fake_bucket.fault(step, name, fake_bucket.Killed()):
          self._write(**files)
      self.assertNotIn("config.json", self._names())
      self._write(**files)
      self.assertEqual(self._names(), {*files, "scored.json"})

  def test_what_no_score_wrote_stays(self):
    self.folder.mkdir()
    (self.folder / "table").write_text("a user's")
    with self.assertRaisesRegex(ValueError, "holds table, which no eval.score"):
      self._write(table="1")
    self.assertEqual((self.folder / "table").read_text(), "a user's")
    self.assertEqual(self._names(), {"table"})

  def test_not_inside_of_what_is_scored(self):
    self.folder = self.root / "in" / "reports"
    with self.assertRaisesRegex(ValueError, "lies in .*in, which is scored"):
      self._write(table="1")
    self.assertFalse(self.folder.exists())

  def test_a_failure_leaves_what_found_on_disk(self):
    self._write(table="1")
    with self.assertRaises(KeyError):
      with scored_folder.replacing(self.folder, []) as folder:
        (folder / "table").write_text("2")
        raise KeyError("broken")
    self.assertEqual((self.folder / "table").read_text(), "1")
    self.assertEqual([p.name for p in self.root.iterdir()], ["out"])
    self.assertEqual(self._names(), {"table", "scored.json"})

  def test_a_failure_leaves_no_folder_that_was_not_there(self):
    with self.assertRaises(KeyError):
      with scored_folder.replacing(self.folder, []):
        raise KeyError("broken")
    self.assertEmpty(list(self.root.iterdir()))

  def test_two_at_once_are_refused(self):
    with scored_folder.replacing(self.folder, []) as folder:
      (folder / "table").write_text("1")
      with self.assertRaisesRegex(
        ValueError, "another run is writing .*process"
      ):
        self._write(table="2")
    self.assertEqual((self.folder / "table").read_text(), "1")

  def test_a_damaged_note_is_refused(self):
    self._write(table="1")
    for text in ("", '{"written": ["table"]}', '{"predictions": []}'):
      (self.folder / "scored.json").write_text(text)
      with self.assertRaisesRegex(ValueError, "scored.json: .*another --out"):
        self._write(table="2")
      self.assertEqual((self.folder / "table").read_text(), "1")

  def test_refusals(self):
    self.folder.mkdir()
    (self.folder / "cells").mkdir()
    with self.assertRaisesRegex(ValueError, "out is the workdir of a run"):
      self._write()
    (self.folder / "cells").rmdir()
    (self.folder / "config.json").write_text("{}")
    with self.assertRaisesRegex(ValueError, "out is the workdir of a run"):
      self._write()
    self.folder = self.folder / "config.json"
    with self.assertRaisesRegex(ValueError, "config.json is a file"):
      self._write()
    self.folder = self.root / "in"
    with self.assertRaisesRegex(ValueError, "in is what is scored"):
      self._write()

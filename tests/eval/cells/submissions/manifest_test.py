"""submission.json: what is written is read, anything else is refused."""

import json

from absl.testing import parameterized

from eval.cells.files import note
from eval.submissions import manifest as manifest_lib
from robust_tfds import errors
from tests import in_folder
from tests.eval.cells.submissions import small
from tests.eval.compare import small_runs


class ManifestTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    data = small_runs.data_facts()
    self.manifest = manifest_lib.make(
      "classification",
      3,
      {"a": small_runs.model_facts("a")},
      {data.hash: data},
      {"table.csv": note.File.of(b"x")},
    )
    manifest_lib.write(self.root, self.manifest)
    self.path = self.root / manifest_lib.FILE

  def test_round_trip(self):
    self.assertEqual(manifest_lib.read(self.root), self.manifest)
    self.assertEqual(
      json.loads(self.path.read_text())["files"]["table.csv"]["size"], 1
    )

  @parameterized.parameters(
    ({"cells": 4}, "checksum"),
    ({"cells": "3"}, "cells: got '3'"),
    ({"cells": 0}, "cells: got 0"),
    ({"models": {}}, "models"),
    ({"files": {"a": 1}}, "files.a"),
    ({"more": 1}, "more: got 1"),
    ({"task": ""}, "task"),
    ({"version": 9}, "version: got 9, this code reads 1"),
  )
  def test_a_changed_field_is_named(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    with self.assertRaisesRegex(errors.UserError, f"^{self.path}: {message}"):
      manifest_lib.read(self.root)

  def test_a_text_that_would_print_lines_of_an_answer(self):
    self.manifest.models["a"] = small_runs.model_facts("a", trained_on="x\n- y")
    with self.assertRaisesRegex(
      errors.UserError, "trained_on: got .* one line"
    ):
      manifest_lib.write(self.root, self.manifest)
    content = json.loads(self.path.read_text())
    content["models"]["a"]["trained_on"] = "x\x1b[2K"
    self.path.write_text(json.dumps(small.with_checksum(content)))
    with self.assertRaisesRegex(
      errors.UserError, "trained_on: got .* one line"
    ):
      manifest_lib.read(self.root)

  def test_facts_that_earlier_code_did_not_know(self):
    content = json.loads(self.path.read_text())
    del content["models"]["a"]["corruptions_seen"]
    self.path.write_text(json.dumps(small.with_checksum(content)))
    read = manifest_lib.read(self.root)
    self.assertIsNone(read.models["a"].corruptions_seen)

  def test_one_of_a_hundred_mebibytes_is_not_opened(self):
    with self.path.open("r+b") as file:
      file.truncate(100 << 20)
    with self.assertRaisesRegex(errors.UserError, "the limit is 67,108,864"):
      manifest_lib.read(self.root)

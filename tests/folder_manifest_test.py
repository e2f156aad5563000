"""The table to fill in, from the folder to the score."""

import contextlib
import csv
import pathlib

import numpy as np
import pytest
from absl.testing import parameterized
from PIL import Image

from eval.cells import table
from eval.compare import runs, scores
from eval.compare.boards import build
from eval.readers import base
from eval.run.results import rescore
from robust_tfds import corrupt_folder, errors
from tests import in_folder, pages, tiny_files
from tests.eval.report.reports import without_pictures
from tests.own import made


class FolderManifestTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.source, self.target = self.root / "in", self.root / "out"
    self.manifest = self.root / "todo.csv"

  def _pictures(self, *names) -> None:
    for i, name in enumerate(names):
      path = self.source / name
      path.parent.mkdir(parents=True, exist_ok=True)
      pixels = np.random.default_rng(i).integers(0, 255, (40, 33, 3), np.uint8)
      form = "JPEG" if name.endswith(".jpg") else "PNG"
      path.write_bytes(tiny_files.encoded(pixels, form))

  def _run(self, **options) -> tuple[int, list[str]]:
    options = {"names": ["contrast"], "severities": [1, 2], **options}
    return corrupt_folder.run(
      self.source, self.target, manifest=self.manifest, quiet=True, **options
    )

  def _rows(self) -> list[dict[str, str]]:
    with open(self.manifest, newline="", encoding="utf-8") as file:
      return list(csv.DictReader(file))

  def _fill(self, answer, **options) -> list[table.Row]:
    rows = self._rows()
    with open(self.manifest, "w", newline="", encoding="utf-8") as file:
      out = csv.DictWriter(file, rows[0])
      out.writeheader()
      out.writerows({**row, "top1": answer(row)} for row in rows)
    out = self.root / "scored"
    rescore.score([self.manifest], out, base.Options(**options))
    return table.read(out / "table.csv")

  def test_filled_in_it_is_scored(self):
    self._pictures("ca,t/a b.jpg", "ca,t/a b.png", "dog/x.jpg", "dog/é.png")
    self.assertEqual(self._run(keep_names=True), (12, []))
    rows = self._rows()
    self.assertLen(rows, 12)
    for row in rows:  # lossless, also the clean ones, under the names that were
      with Image.open(row["path"]) as picture:
        self.assertEqual((picture.format, row["codec"]), ("PNG", "png"))
      self.assertEqual(
        row["path"].split("/")[-2:], row["example_id"].split("/")
      )
    clean = [r["path"] for r in rows if r["corruption"] == "clean"]
    for path in clean:
      original = self.source / pathlib.Path(path).relative_to(
        self.target / "clean" / "0"
      )
      np.testing.assert_array_equal(
        np.asarray(Image.open(path)), np.asarray(Image.open(original))
      )
    asked = {"0": lambda r: r["label"], "1": lambda r: "dog", "2": lambda r: ""}
    with without_pictures.written():
      scored = self._fill(lambda row: asked[row["severity"]](row))
    errors_of = {
      r.config: r.value for r in table.select(scored, metric="error")
    }
    self.assertEqual(errors_of, {"clean": 0.0, "contrast_1": 0.5})

  @pytest.mark.slow
  def test_it_stands_beside_a_run_of_the_same_draws(self):
    self._pictures("cat/x.png", "dog/y.png")
    for name, geometry in (("whole", "none"), ("cropped", "imagenet")):
      made.evaluate(
        made.Seen(2),
        f"folder:{self.source}",
        conditions="contrast",
        severities=(1, 2),
        geometry=geometry,
        workdir=self.root / name,
      )
    self.assertEqual(self._run(), (6, []))
    of_set = self.manifest.read_text()
    with without_pictures.written():
      rows = self._fill(lambda row: "cat", facts=self.root / "whole")
    said = {r.config: r.value for r in table.select(rows, metric="error")}
    self.assertEqual(
      said, {c: 0.5 for c in ("clean", "contrast_1", "contrast_2")}
    )
    runs_ = runs.read([str(self.root / f) for f in ("whole", "scored")])
    (board,) = build.boards(scores.of_runs(runs_))
    self.assertEqual({e.label for e in board.entries}, {"Seen", "todo"})
    for change, folder, words in (
      (
        ("in, seed 0", "mine, seed 0"),
        "whole",
        "draws is 'mine, seed 0', and 'in, ",
      ),
      (("in, seed 0", "in, seed 1"), "whole", "draws is 'in, seed 1'.*--seed"),
      (("", ""), "cropped", "edition is 'any', and"),
    ):
      self.manifest.write_text(of_set.replace(*change))
      with self.assertRaisesRegex(errors.UserError, words):
        self._fill(lambda row: "cat", facts=self.root / folder)

  def test_the_loop_of_the_docs(self):
    self._pictures("cat/x.jpg", "dog/y.jpg")
    self._run()
    blocks = pages.sections("YOUR_MODEL.md")["Without an adapter: a table"]
    (block,) = (text for language, text in blocks if language == "python")
    with contextlib.chdir(self.root):
      exec(block, {"predict": lambda path: path.split("/")[-2]})
    with without_pictures.written():
      rescore.score([self.root / "done.csv"], self.root / "s", base.Options())
    rows = table.read(self.root / "s" / "table.csv")
    of_cells = table.select(rows, metric="error")
    self.assertEqual([r.value for r in of_cells], [0.0, 0.0, 0.0])

  def test_pictures_without_classes(self):
    self._pictures("a.jpg", "b/c.jpg")
    self._run(file_format="jpeg")
    rows = self._rows()
    self.assertEqual({r["label"] for r in rows}, {""})
    self.assertEqual({r["codec"] for r in rows}, {"jpeg85"})
    self.assertTrue(rows[0]["path"].endswith("/clean/0/a.jpg"))

  def test_what_was_left_out_has_no_row(self):
    self._pictures("a/x.png", "b/y.png")
    (self.source / "b" / "z.png").write_bytes(b"no picture")
    self.assertLen(self._run()[1], 1)
    self.assertLen(self._rows(), 6)

  def test_predictions_are_never_written_over(self):
    self._pictures("a/x.png", "b/y.png")
    self.manifest.write_text("mine")
    with self.assertRaisesRegex(
      errors.UserError, "todo.csv: something is there"
    ):
      self._run()
    self.assertEqual(self.manifest.read_text(), "mine")
    self.manifest = self.root / "none" / "todo.csv"
    with self.assertRaisesRegex(errors.UserError, "there is no folder .*none"):
      self._run()
    self.assertFalse(self.target.exists())

  @parameterized.parameters("a\nb.png", "a\x85.png")
  def test_names_that_no_table_holds(self, name):
    self._pictures(name)
    with self.assertRaisesRegex(errors.UserError, "has control characters"):
      self._run()

  def test_names_are_kept_in_a_folder_of_one_format(self):
    self._pictures("a/x.jpg")
    self._run(keep_names=True)
    self.manifest = self.root / "second.csv"
    with self.assertRaisesRegex(errors.UserError, "'keep_names': 'png'"):
      self._run(keep_names=True, file_format="jpeg")

"""Corrupted folders: their work, manifests, overviews."""

import contextlib
import csv
import pathlib
from unittest import mock

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from PIL import Image

from eval.cells import table
from eval.compare import runs, scores
from eval.compare.boards import build
from eval.readers import base
from eval.run.results import rescore
from robust_tfds import (
  corrupt_folder,
  errors,
  folder_overview,
  folder_work,
  stopping,
)
from tests import in_folder, in_process, pages, tiny_files
from tests.eval.report.reports import without_pictures
from tests.user_data import made
from tools import grey_pictures


class FolderWorkTest(parameterized.TestCase):
  """How a folder of pictures is worked on: few are held at a time."""

  def setUp(self):
    super().setUp()
    base = pathlib.Path(self.create_tempdir().full_path)
    self.source, self.target = base / "in", base / "out"
    self.source.mkdir()

  def _run(self, **options):
    options = {"names": ["contrast"], "severities": [2], **options}
    return corrupt_folder.run(self.source, self.target, quiet=True, **options)

  def test_few_pictures_are_held(self):
    for i in range(60):
      Image.new("RGB", (40, 33)).save(self.source / f"{i:02}.png")
    read, alive = folder_work.read, []

    def counted(path, **options):
      saved = len(list(self.target.rglob("*.png")))
      alive.append(len(alive) + 1 - saved)
      return read(path, **options)

    with mock.patch.object(folder_work, "read", counted):
      self.assertEqual(self._run(workers=2), (60, []))
    self.assertLessEqual(max(alive), 3)  # those in the hands of two threads

  def test_who_stops_it_is_told_what_there_is(self):
    for i in range(3):
      Image.new("RGB", (40, 33)).save(self.source / f"{i}.png")
    self._run(severities=[1])
    results = [np.zeros((33, 40, 3), np.uint8), KeyboardInterrupt]
    with (
      mock.patch.object(stopping, "_told", []) as told,
      mock.patch(
        "robust_tfds.corruptions.image.corrupt_in_canvas", side_effect=results
      ),
      self.assertRaises(KeyboardInterrupt),
    ):
      self._run(severities=[1, 2])
    (said,) = [words() for words in told]
    # What waits to be written is given up.
    self.assertRegex(said, "^[34] of 6 files of 3 pictures kept$")
    rest = 6 - int(said[0])
    self.assertEqual(self._run(severities=[1, 2]), (rest, []))

  def test_a_result_that_its_format_cannot_hold_is_named(self):
    Image.new("RGB", (40, 33)).save(self.source / "x.png")
    with mock.patch.object(
      folder_work, "_encoded", side_effect=ValueError("too large")
    ):
      written, failed = self._run()
    self.assertEqual(written, 0)
    self.assertRegex(failed[0], "x.png: cannot be stored as png: too large")

  def test_too_little_memory_is_said_of_the_picture(self):
    Image.new("RGB", (40, 33)).save(self.source / "x.png")
    with mock.patch(
      "robust_tfds.corruptions.image.corrupt_in_canvas",
      side_effect=MemoryError(),
    ):
      _, failed = self._run()
    self.assertRegex(failed[0], "x.png: contrast of 40 x 33 px needs more mem")

  def test_transparency_of_16_bit_grey(self):
    values = np.zeros((3, 4), np.uint16)
    Image.fromarray(values).save(self.source / "x.png", transparency=0)
    with self.assertRaisesRegex(errors.UserError, "x.png: has transparency"):
      folder_work.read(self.source / "x.png")


class FolderManifestTest(in_folder.TestCase):
  """The table to fill in, from the folder to the score."""

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
    (board,) = build.boards(scores.score_runs(runs_))
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


class FolderOverviewTest(parameterized.TestCase):
  """`overview.png`: which pictures and conditions it shows, and where."""

  @parameterized.parameters(
    # Few conditions are all shown, of many one of each corruption: 8 a band.
    (["contrast", "brightness"], [1, 3], ["contrast/1", "brightness/3"]),
    (["contrast", "brightness"], [1, 2, 3, 4, 5], ["contrast/3"]),
  )
  def test_pictures_by_conditions(self, names, severities, shown):
    base = pathlib.Path(self.create_tempdir().full_path)
    (base / "in").mkdir()
    for i in range(5):
      picture = Image.fromarray(tiny_files.noise(240, 320) // (i + 1))
      picture.save(base / f"in/{i}.png")
    corrupt_folder.run(
      base / "in", base / "out", names=names, severities=severities, quiet=True
    )
    sheet = np.asarray(Image.open(base / "out" / folder_overview.NAME))
    drawn = 1 + (4 if len(severities) == 2 else 2)
    self.assertEqual(sheet.shape, (16 + 3 * 124, drawn * 164, 3))
    tiles = [
      sheet[16 + 124 * row :][:120, 164 * column :][:, :160]
      for row in range(3)
      for column in range(drawn)
    ]
    means = [tile.mean() for tile in tiles]
    for place in shown:
      for file in sorted((base / "out" / place).iterdir()):
        if file.stem in "012":
          wanted = np.asarray(Image.open(file)).mean()
          self.assertLess(np.abs(np.array(means) - wanted).min(), 2)

  def test_several_classes(self):
    base = pathlib.Path(self.create_tempdir().full_path)
    for i, name in enumerate(("a/0", "a/1", "a/deep/2", "b/3", "b/4")):
      (base / "in" / name).parent.mkdir(parents=True, exist_ok=True)
      level = np.full((120, 160, 3), 40 * i + 20, np.uint8)
      Image.fromarray(level).save(base / f"in/{name}.png")
    corrupt_folder.run(
      base / "in", base / "out", names=["contrast"], severities=[1], quiet=True
    )
    sheet = np.asarray(Image.open(base / "out" / folder_overview.NAME))
    levels = [int(sheet[16 + 124 * row + 60, 80, 0]) for row in range(3)]
    self.assertEqual(levels, [20, 140, 60])  # a/0, b/3, then a/1

  def test_what_was_left_out(self):
    base = pathlib.Path(self.create_tempdir().full_path)
    (base / "in").mkdir()
    (base / "in/a.png").write_bytes(b"no picture")
    options = {"names": ["contrast", "fog"], "severities": [1], "quiet": True}
    corrupt_folder.run(base / "in", base / "out", **options)
    self.assertFalse((base / "out" / folder_overview.NAME).exists())
    Image.fromarray(tiny_files.noise(240, 320)).save(base / "in/b.png")
    (base / "out/fog/1").mkdir(parents=True)
    (base / "out/fog/1/b.png").write_text("somebody's")
    corrupt_folder.run(base / "in", base / "out", **options)
    sheet = np.asarray(Image.open(base / "out" / folder_overview.NAME))
    clean, contrast, fog = np.split(sheet[16:136], 3, 1)
    self.assertLen(sheet, 16 + 124)  # one row
    self.assertGreater(clean.std(), 10)
    self.assertGreater(contrast.std(), 1)
    self.assertEqual(fog[60, 80:160].tolist(), [[208] * 3] * 80)
    self.assertLess(fog[:20, :80].min(), 50)  # words


class GreyPicturesTest(absltest.TestCase):
  """Grey pictures of a folder are counted."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_both_kinds_in_folders_of_folders(self):
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (8, 9, 3), np.uint8)
    almost = np.repeat(colour[..., :1], 3, axis=2)
    one_off = almost.copy()
    one_off[3, 4, 2] ^= 1
    (self.folder / "inner").mkdir()
    for name, pixels in (
      ("a.png", colour),
      ("b.PNG", one_off),
      ("inner/c.jpg", colour[..., 0]),
      ("inner/d.png", almost),
    ):
      Image.fromarray(pixels).save(self.folder / name)
    (self.folder / "notes.txt").write_text("no picture")
    counts = grey_pictures.count(str(self.folder))
    words = "2 of 4 pictures are grey, 50.0 %: 1 of one channel, 1 of three"
    self.assertIn(words, grey_pictures.words(counts))

  def test_no_pictures(self):
    with self.assertRaisesRegex(errors.UserError, "there are no pictures"):
      grey_pictures.count(str(self.folder))

  def test_no_folder(self):
    done = in_process.program("tools.grey_pictures")
    self.assertEqual(done.returncode, 1)
    self.assertIn("name a folder", done.stderr)

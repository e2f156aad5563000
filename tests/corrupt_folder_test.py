"""`corrupt_folder`: tree, modes, resume, refusals."""

import json
import os
import pathlib
import time
from unittest import mock

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import corrupt_folder, corruptions, errors
from robust_tfds.corruptions import canvas, frost_pictures, image
from robust_tfds.reading import limits
from robust_tfds.storage import cache, paths
from tests import fake_bucket, frost_folder, in_process, tiny_files


def _picture(mode="RGB", size=(40, 33)) -> Image.Image:
  levels = tiny_files.noise(*size[::-1])
  if mode == "I;16":
    deep = levels[..., 0].astype(np.uint16) * 257
    return Image.fromarray(deep)
  return Image.fromarray(levels).convert(mode)


class CorruptFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    base = pathlib.Path(self.create_tempdir().full_path)
    self.source, self.target = base / "in", base / "out"
    self.source.mkdir()

  def _run(self, **options):
    options = {"names": ["contrast"], "severities": [2], **options}
    return corrupt_folder.run(self.source, self.target, quiet=True, **options)

  def test_keeps_the_tree_and_equals_the_library(self):
    (self.source / "a").mkdir()
    _picture().save(self.source / "a" / "x.png")
    _picture(size=(64, 90)).save(self.source / "y.bmp")
    written, failed = self._run(names=["gaussian_noise", "contrast"])
    self.assertEqual((written, failed), (4, []))
    got = np.asarray(Image.open(self.target / "gaussian_noise/2/a/x.png"))
    key = corruptions.example_key(0, "folder", "gaussian_noise", 2, "a/x.png")
    want = corruptions.corrupt(
      np.asarray(_picture()), "gaussian_noise", 2, edition="any", key=key
    )
    np.testing.assert_array_equal(got, np.asarray(want))
    self.assertTrue((self.target / "contrast/2/y.png").exists())

  def test_continues_and_never_overwrites(self):
    _picture().save(self.source / "x.png")
    _picture(size=(50, 50)).save(self.source / "y.png")
    kept = self.target / "contrast" / "2" / "x.png"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    self.assertEqual(self._run()[0], 1)
    self.assertEqual(kept.read_text(), "mine")
    self.assertEqual(self._run()[0], 0)

  def test_from_a_bucket_into_a_bucket(self):
    (self.source / "a").mkdir()
    _picture().save(self.source / "a/x.png")
    _picture(size=(64, 90)).save(self.source / "y.bmp")
    (self.source / "notes.txt").write_text("no picture")
    self.assertEqual(self._run(names=["brightness"]), (2, []))
    local = {
      path.relative_to(self.target).as_posix(): path.read_bytes()
      for path in self.target.rglob("*")
      if path.is_file()
    }
    bucket = fake_bucket.create(self)
    self.source = fake_bucket.upload(self.source, bucket / "in")
    self.target = bucket / "out"
    with fake_bucket.fault("write", "*/y.png", OSError("no quota")):
      with self.assertRaisesRegex(errors.UserError, "y.png: .* no quota"):
        self._run(names=["brightness"])
    self.assertEmpty(self._run(names=["brightness"])[1])
    self.assertEqual(self._run(names=["brightness"]), (0, []))
    there = fake_bucket.keys(self.target)
    self.assertEqual(there, {n: len(data) for n, data in local.items()})
    for name, data in local.items():
      self.assertEqual((self.target / name).read_bytes(), data)

  @parameterized.parameters("L", "P", "1", "I;16", "CMYK")
  def test_modes(self, mode):
    extension = "tif" if mode == "CMYK" else "png"
    _picture(mode).save(self.source / f"x.{extension}")
    self.assertEqual(self._run(), (1, []))
    out = Image.open(self.target / "contrast" / "2" / "x.png")
    self.assertEqual((out.mode, out.size), ("RGB", (40, 33)))

  @parameterized.parameters("LA", "RGBA")
  def test_transparency_is_refused_unless_dropped(self, mode):
    picture = _picture(mode)
    picture.putalpha(100)
    picture.save(self.source / "x.png")
    written, failed = self._run()
    self.assertEqual(written, 0)
    self.assertRegex(failed[0], "x.png: has transparency; use --drop_alpha")
    self.assertEqual(self._run(drop_alpha=True), (1, []))

  def test_broken_pictures_are_named_and_the_others_done(self):
    _picture().save(self.source / "x.png")
    (self.source / "y.png").write_bytes(b"not a picture")
    data = (self.source / "x.png").read_bytes()
    (self.source / "z.png").write_bytes(data[: len(data) // 2])
    written, failed = self._run()
    self.assertEqual(written, 1)
    self.assertLen(failed, 2)
    self.assertRegex(failed[0], "y.png")

  def test_jpeg_results(self):
    _picture().save(self.source / "x.png")
    self._run(file_format="jpeg")
    out = Image.open(self.target / "contrast" / "2" / "x.jpg")
    self.assertEqual(out.format, "JPEG")

  def test_refusals(self):
    with self.assertRaisesRegex(FileNotFoundError, "No pictures"):
      self._run()
    _picture().save(self.source / "x.png")
    with self.assertRaisesRegex(ValueError, "Did you mean 'contrast'"):
      self._run(names=["contrst"])
    with self.assertRaisesRegex(ValueError, "must be 1-5"):
      self._run(severities=[7])
    with self.assertRaisesRegex(errors.UserError, "A seed is .* got -1"):
      self._run(seed=-1)
    with self.assertRaisesRegex(ValueError, "inside one another"):
      corrupt_folder.run(
        self.source, self.source / "o", names=["fog"], severities=[1]
      )

  def test_names_are_kept_where_they_would_clash(self):
    for name in ("cat.png", "minivan.png", "minivan.webp"):
      _picture().save(self.source / name)
    done = in_process.run(
      corrupt_folder,
      str(self.source),
      str(self.target),
      "--corruption=contrast",
      "--severity=1",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("minivan.png and minivan.webp in ", done.stdout)
    self.assertIn("would be one file: names are kept: every", done.stdout)
    written = sorted(p.name for p in (self.target / "contrast/1").iterdir())
    self.assertEqual(written, ["cat.png", "minivan.png", "minivan.webp"])

  def test_what_is_corrupted_is_looked_at_before_frost(self):
    lacks = mock.patch.object(frost_pictures, "folder", side_effect=self.fail)
    self.enterContext(lacks)
    junk = self.source.with_name("a.txt")
    junk.write_text("none")
    for place, said in (
      (self.source, "No pictures"),
      (junk, "a.txt cannot be read"),
      (junk.with_name("nowhere"), "no such folder"),
    ):
      done = in_process.run(corrupt_folder, str(place), str(self.target))
      self.assertRegex(done.stderr, f"^Error: .*{said}")
      self.assertFalse(self.target.exists())

  def test_frost_pictures_are_taken_from_an_archive(self):
    kept, drawn = self.target / "cache", frost_folder.drawn()
    sums = {p.name: paths.sha256(p) for p in drawn.iterdir()}
    with (
      mock.patch.dict(frost_pictures.SHA256, sums),
      mock.patch.dict(os.environ, {cache.VARIABLE: str(kept)}),
    ):
      done = in_process.run(corrupt_folder, f"--get_frost={drawn}")
    self.assertEqual(done.stdout, f"frost pictures: {kept / 'frost'}\n")
    both = in_process.run(corrupt_folder, f"--get_frost={drawn}", "in", "out")
    self.assertCountEqual(os.listdir(kept / "frost"), sums)
    self.assertIn("leave out IN and OUT", both.stderr)

  def test_progress_in_a_log_is_a_few_lines(self):
    for number in range(25):
      _picture().save(self.source / f"{number}.png")
    code, text = self._command()
    self.assertEqual(code, 0)
    self.assertNotIn("\r", text)
    self.assertEqual(text.count("ETA"), 10)
    self.assertIn("25 pictures x 1 condition: 25 files written", text)

  def _command(self, *flags):
    """Runs the command; returns its exit status and all that it printed."""
    done = in_process.run(
      corrupt_folder,
      *("--corruption=contrast", "--severity=2", *flags),
      *("--", str(self.source), str(self.target)),
    )
    return done.returncode, done.stdout + done.stderr

  def test_a_bad_picture_is_named_and_skipped_on_request(self):
    _picture().save(self.source / "x.png")
    (self.source / "y.png").write_bytes(b"<html>")
    (self.source / "z.txt").write_text("")
    code, text = self._command()
    self.assertEqual(code, 1)
    self.assertRegex(text, "1 left out:\n.*y.png cannot be read as an image")
    self.assertIn("use --skip_errors", text)
    self.assertIn("files of other types were passed by: 1 .txt", text)
    self.assertTrue((self.target / "contrast/2/x.png").exists())
    code, text = self._command("--skip_errors")
    self.assertEqual(code, 0)
    self.assertRegex(text, "1 left out:\n.*y.png cannot be read as an image")
    self.assertNotIn("Traceback", text)

  @parameterized.parameters(
    (["--severity=²"], "takes numbers 1-5"),
    (["--severity="], "Nothing to do"),
    (["--workers=0"], "expected at least 1"),
  )
  def test_flags_that_make_no_sense(self, flags, text):
    _picture().save(self.source / "x.png")
    code, printed = self._command(*flags)
    self.assertEqual(code, 1)
    self.assertRegex(printed, text)
    self.assertNotIn("Traceback", printed)

  def test_names(self):
    for name in ("-dash", "line\nbreak", "日本", "a b", "x.y"):
      _picture().save(self.source / f"{name}.png")
    self.assertEqual(self._run(), (5, []))
    self.assertTrue((self.target / "contrast/2/line\nbreak.png").exists())
    long_name = "n" * 250 + ".png"
    _picture().save(self.source / long_name)
    self.assertEqual(self._run(), (1, []))

  def test_links_are_followed(self):
    elsewhere = self.source.parent / "elsewhere"
    elsewhere.mkdir()
    _picture().save(elsewhere / "x.png")
    os.symlink(elsewhere / "x.png", self.source / "a.png")
    os.symlink(elsewhere, self.source / "folder")
    os.symlink(elsewhere / "gone.png", self.source / "b.png")
    written, failed = self._run()
    self.assertEqual(written, 2)
    self.assertTrue((self.target / "contrast/2/folder/x.png").exists())
    self.assertRegex(failed[0], "b.png: cannot be read: No such file")

  @parameterized.parameters(True, False)
  def test_photographs_are_turned_upright(self, ignored):
    exif = Image.Exif()
    exif[274] = 6
    _picture().save(self.source / "x.jpg", exif=exif)
    self._run(ignore_orientation=ignored)
    out = Image.open(self.target / "contrast" / "2" / "x.png")
    self.assertEqual(out.size, (40, 33) if ignored else (33, 40))

  def test_notes(self):
    exif = Image.Exif()
    exif[274] = 3
    _picture().save(self.source / "x.jpg", exif=exif)
    _picture().save(
      self.source / "y.gif",
      save_all=True,
      append_images=[_picture().rotate(90)],
    )
    (self.source / ".z.png").touch()
    code, text = self._command()
    self.assertEqual(code, 0, text)
    self.assertRegex(text, "1 pictures turned upright.*x.jpg")
    self.assertRegex(text, "1 pictures have more frames.*y.gif")
    self.assertIn("1 hidden files or folders were passed by", text)
    os.utime(self.source / "x.jpg", (time.time() + 99,) * 2)
    _, text = self._command()
    self.assertRegex(text, "1 pictures are newer than results of theirs.*x.jpg")

  def test_other_settings_in_one_folder(self):
    _picture().save(self.source / "x.png")
    self._run()
    self._run(names=["brightness"])
    for other in ({"seed": 1}, {"ignore_orientation": True}):
      with self.assertRaisesRegex(
        errors.UserError,
        r"out: it holds results of \{.*'seed': 0.*this run has",
      ):
        self._run(names=["fog"], **other)
    record = self.target / ".corrupt_folder.json"
    self.assertEqual(json.loads(record.read_text())["seed"], 0)
    record.write_text("{")
    with self.assertRaisesRegex(errors.UserError, "corrupt_folder.json.*JSON"):
      self._run()

  def test_odd_sizes(self):
    sizes = ((1, 1), (1, 90), (90, 1))
    for i, size in enumerate(sizes):
      _picture(size=size).save(self.source / f"{i}.png")
    written, failed = self._run(names=["gaussian_noise", "zoom_blur"])
    self.assertEqual((written, failed), (2 * len(sizes), []))
    for i, size in enumerate(sizes):
      out = Image.open(self.target / f"zoom_blur/2/{i}.png")
      self.assertEqual(out.size, size)

  def test_a_picture_too_large_to_corrupt(self):
    Image.new("RGB", (30_000, 1)).save(self.source / "a.png")
    _picture().save(self.source / "b.png")
    written, failed = self._run()
    self.assertEqual(written, 1)
    self.assertRegex(failed[0], "in/a.png: .*canvas.*ROBUST_TFDS_LIMITS")
    with mock.patch.object(limits, "PICTURE_PIXELS", 99):
      _, failed = self._run(names=["fog"])
    self.assertRegex(failed[1], r"in/b.png: 1,320 pixels \(40 x 33\)")

  def test_a_full_disk(self):
    _picture().save(self.source / "x.png")
    full = OSError(28, "No space left on device")
    write = pathlib.Path.write_bytes
    with mock.patch.object(pathlib.Path, "write_bytes", autospec=True) as fake:
      fake.side_effect = lambda path, data: (
        write(path, data) if path.name == "0" else (_ for _ in ()).throw(full)
      )
      with self.assertRaisesRegex(
        errors.UserError, "x.png: cannot be written: No space left"
      ):
        self._run()
    self.assertEqual(list(self.target.rglob("*.png")), [])
    self.assertEqual(self._run(), (1, []))

  def test_folders(self):
    _picture().save(self.source / "x.png")
    inside = self.source.parent / "link"
    os.symlink(self.source, inside)
    for target in (self.source, self.source.parent, inside, inside / "deep"):
      with self.assertRaisesRegex(ValueError, "inside one another"):
        corrupt_folder.run(
          self.source, target, names=["fog"], severities=[1], quiet=True
        )
    self.target.write_text("a file")
    with self.assertRaisesRegex(
      errors.UserError, "out: a file, expected a fol"
    ):
      self._run()
    with self.assertRaisesRegex(FileNotFoundError, "gone.png: no such folder"):
      corrupt_folder.run(
        self.source / "gone.png", self.target, names=["fog"], severities=[1]
      )

  def test_one_picture_is_as_in_its_folder(self):
    _picture().save(self.source / "x.png")
    _picture(size=(64, 90)).save(self.source / "y.png")
    self._run(names=["gaussian_noise"])
    whole, self.target = self.target, self.source / "beside"
    os.symlink(self.source / "y.png", self.source.parent / "link.png")
    for name in ("y.png", "../link.png"):
      written, failed = corrupt_folder.run(
        self.source / name,
        self.target,
        names=["gaussian_noise"],
        severities=[2],
        quiet=True,
      )
      self.assertEqual((written, failed), (1, []))
    made = self.target / "gaussian_noise/2"
    self.assertCountEqual(os.listdir(made), ["y.png", "link.png"])
    self.assertEqual(
      (made / "y.png").read_bytes(),
      (whole / "gaussian_noise/2/y.png").read_bytes(),
    )
    with self.assertRaisesRegex(errors.UserError, "expected a folder of pict"):
      corrupt_folder.run(
        self.source / "x.png",
        self.target,
        names=["fog"],
        severities=[1],
        manifest=self.source / "m.csv",
      )

  def test_many_sizes_share_their_programs(self):
    # Before canvases were chosen for the folder: 8 of them, a copy for each size.
    for i in range(40):
      size = 20 + 11 * i, 350 - 7 * i
      Image.new("RGB", size, (i, 90, 200)).save(self.source / f"{i}.png")
    corrupt = image.corrupt_in_canvas
    with mock.patch.object(
      image, corrupt.__name__, side_effect=corrupt
    ) as fake:
      self.assertEqual(self._run(names=["contrast"]), (40, []))
    canvases = {call.args[1] for call in fake.call_args_list}
    self.assertBetween(len(canvases), 1, canvas.MOST)
    for i in (0, 17, 39):
      picture = np.asarray(Image.open(self.source / f"{i}.png"))
      key = corruptions.example_key(0, "folder", "contrast", 2, f"{i}.png")
      alone = corruptions.corrupt_batch(
        picture[None], "contrast", 2, edition="any", keys=key[None]
      )[0]
      got = np.asarray(Image.open(self.target / f"contrast/2/{i}.png"))
      np.testing.assert_array_equal(got, np.asarray(alone))

  def test_counts_and_an_overview_at_the_end(self):
    _picture(size=(320, 240)).save(self.source / "x.png")
    _picture().save(self.source / "y.png")
    (self.source / "z.png").write_bytes(b"<html>")
    (self.source / "notes.txt").touch()
    self.assertEqual(self._run()[0], 2)
    sheet = self.target / "overview.png"
    before = np.asarray(Image.open(sheet))
    code, text = self._command(
      "--skip_errors", "--corruption=brightness,contrast"
    )
    self.assertEqual(code, 0)
    self.assertRegex(
      text, r"3 pictures x 2 conditions: 2 files written to .*/out in \d+s\n"
    )
    self.assertIn(
      "skipped: 2 files that were there already; 1 pictures or folders left out,"
      " named below; 1 files of other types\n",
      text,
    )
    self.assertIn(f"look at {sheet}\n", text)
    after = np.asarray(Image.open(sheet))
    # Contrast has moved to the third column, brightness is in the second.
    second, third = after[:, 164:324], after[:, 328:488]
    np.testing.assert_array_equal(third, before[:, 164:324])
    self.assertFalse((third == second).all())
    self.assertLen(after, 16 + 2 * 124)  # the broken one is not shown
    for column in (before[:, :160], second, third):
      tile = column[16:136].astype(float)
      self.assertGreater(tile.std(), 1)  # the larger picture fills its tile

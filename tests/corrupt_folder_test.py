"""`corrupt_folder`: tree, modes, resume, refusals."""

import pathlib

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

from robust_tfds import corrupt_folder
from robust_tfds import corruptions


def _picture(mode="RGB", size=(40, 33)) -> Image.Image:
  rng = np.random.default_rng(0)
  levels = rng.integers(0, 256, (size[1], size[0], 3)).astype(np.uint8)
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
    with self.assertRaisesRegex(ValueError, "inside one another"):
      corrupt_folder.run(
        self.source, self.source / "o", names=["fog"], severities=[1]
      )
    _picture().save(self.source / "x.bmp")
    with self.assertRaisesRegex(ValueError, "would be written to one file"):
      self._run()


if __name__ == "__main__":
  absltest.main()

"""`overview.png`: which pictures and conditions it shows, and where."""

import pathlib

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import corrupt_folder, folder_overview
from tests import tiny_files


class FolderOverviewTest(parameterized.TestCase):
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

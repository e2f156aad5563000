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
    self.assertEqual(sheet.shape, (16 + 3 * 124, 8 * 164, 3))
    drawn = (sheet.reshape(len(sheet), 8, -1) < 255).any(axis=(0, 2)).sum()
    self.assertEqual(drawn, 1 + (4 if len(severities) == 2 else 2))
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

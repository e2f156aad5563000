"""Figure 4: pictures of two folders of the user."""

import csv
import pathlib

import numpy as np
from absl.testing import absltest
from etils import epath
from PIL import Image

from eval.report import figures
from eval.report.figures import base


def pictures(folder: pathlib.Path, names: list[str], height: int = 12) -> None:
  """Small pictures of names, each of one level."""
  folder.mkdir()
  for i, name in enumerate(names):
    levels = np.full((height, 16, 3), 30 * i, np.uint8)
    Image.fromarray(levels).save(folder / name)


class Figure4Test(absltest.TestCase):
  def test_the_first_pairs_are_drawn_and_told(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    stems = [f"{i:06}" for i in range(6)]
    pictures(root / "clean", [f"{s}.jpg" for s in [*stems, "alone"]])
    pictures(root / "art", [f"{s}-stylized-{s[-1]}.png" for s in stems], 10)
    (figure,) = figures.select("michaelis_f4")
    request = base.Request(
      clean=epath.Path(root / "clean"), stylized=epath.Path(root / "art")
    )
    out = epath.Path(root)
    files = figure.draw(request, out)
    self.assertCountEqual(
      [f.name for f in files], [f"michaelis_f4{e}" for e in _ENDS]
    )
    with open(out / "michaelis_f4.csv", encoding="utf-8") as file:
      head, *lines = csv.reader(file)
    self.assertEqual(head[:3], ["picture", "kind", "file"])
    self.assertLen(lines, 10)
    self.assertEqual(
      lines[1],
      [
        *("000000.jpg", "stylized", "000000-stylized-0.png", "10", "16"),
        "own pictures, --stylized",
      ],
    )
    self.assertIn("6 of 7", (out / "michaelis_f4.svg").read_text("utf-8"))


_ENDS = (".png", ".svg", ".csv")

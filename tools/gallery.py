"""Draw docs/gallery.jpg: one picture under all 19 corruptions x 5.

  python tools/gallery.py [PICTURE]

Without a picture it draws a small scene of its own.
"""

import pathlib
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw

from robust_tfds import conditions, corruptions

_OUT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "gallery.jpg"
_SHOWN_PX, _LABEL_PX, _GAP_PX = 112, 150, 4


def scene(side: int = 896) -> Image.Image:
  """Draw a house, trees and a fence under a sky: edges, texture and flat areas."""
  y = np.linspace(0, 1, side)[:, None, None]
  sky = (1 - y) * np.array([70, 130, 200]) + y * np.array([235, 225, 200])
  rng = np.random.default_rng(0)
  picture = Image.fromarray(np.tile(sky, (1, side, 1)).astype(np.uint8))
  brush = ImageDraw.Draw(picture)
  unit = side // 28

  def box(left, top, right, bottom, fill):
    brush.rectangle(
      [left * unit, top * unit, right * unit, bottom * unit], fill
    )

  brush.ellipse([21 * unit, 2 * unit, 25 * unit, 6 * unit], (255, 240, 150))
  box(0, 19, 28, 28, (96, 140, 70))
  for x, z in rng.integers(0, (side, 9 * unit), (4000, 2)):
    shade = int(rng.integers(-30, 30))
    blade = (96 + shade, 140 + shade, 70)
    brush.line([x, 19 * unit + z, x + 4, 19 * unit + z - 12], blade, 3)
  box(9, 12, 19, 21, (186, 92, 70))
  for row in range(18):
    for column in range(20):
      offset = 0.25 * (row % 2)
      left, top = 9 + column / 2 + offset - 0.25, 12 + row / 2
      if left + 0.45 < 19:
        box(max(left, 9), top, left + 0.45, top + 0.42, (168, 76, 58))
  brush.polygon(
    [(8 * unit, 12 * unit), (14 * unit, 6 * unit), (20 * unit, 12 * unit)],
    (80, 70, 80),
  )
  box(12.5, 16, 15.5, 21, (70, 50, 40))
  for left in (10, 16.5):
    box(left, 13.5, left + 2, 15.5, (200, 220, 235))
  for centre in (4, 24):
    box(centre - 0.5, 15, centre + 0.5, 22, (100, 70, 50))
    for _ in range(300):
      dx, dy = rng.normal(0, 1.3, 2)
      leaf = (30 + int(rng.integers(60)), 100 + int(rng.integers(60)), 40)
      x, z = (centre + dx) * unit, (13 + dy) * unit
      brush.ellipse([x - 9, z - 9, x + 9, z + 9], leaf)
  for post in range(14):
    box(2 * post + 0.4, 22.5, 2 * post + 1, 26, (240, 240, 235))
  box(0, 23.3, 28, 23.7, (240, 240, 235))
  return picture.resize((side // 4, side // 4), Image.Resampling.LANCZOS)


def draw(rows: Mapping[str, Sequence[np.ndarray]], out: pathlib.Path) -> None:
  """Draw rows of pictures, each after its name.

  Args:
    rows: name -> uint8 `[H, W, 3]`, as many in each row or fewer.
    out: the file.
  """
  cell, most = _SHOWN_PX + _GAP_PX, max(map(len, rows.values()))
  size = (_LABEL_PX + most * cell, len(rows) * cell)
  sheet = Image.new("RGB", size, "white")
  text = ImageDraw.Draw(sheet)
  for row, (name, pictures) in enumerate(rows.items()):
    text.text((4, row * cell + _SHOWN_PX // 2), name, fill="black")
    for column, picture in enumerate(pictures):
      tile = Image.fromarray(picture).resize((_SHOWN_PX, _SHOWN_PX))
      sheet.paste(tile, (_LABEL_PX + column * cell, row * cell))
  sheet.save(out, quality=85)


def shown() -> np.ndarray:
  """Return the named picture, or the scene: uint8 `[224, 224, 3]`."""
  picture = Image.open(sys.argv[1]) if sys.argv[1:] else scene()
  return np.asarray(picture.convert("RGB").resize((224, 224)))


def main() -> None:
  """Write the picture."""
  image, rows = shown(), {}
  for name in corruptions.names("all"):
    rows[name] = [image]
    for severity in conditions.SEVERITIES:
      key = corruptions.example_key(0, "gallery", name, severity, "flower")
      picture = corruptions.corrupt(image, name, severity, key=key)
      rows[name].append(np.asarray(picture))
  draw(rows, _OUT)


if __name__ == "__main__":
  main()

"""Checksums of what older Pillows make of pictures: `tests/golden/resizing`.

  python -m tests.resizing_golden          (with Pillow 11.3.0)

writes the tables that the project's own resize is held against under any Pillow.
Pictures are arithmetic, so that nothing but Pillow is in the checksums.
"""

import csv
import hashlib
import random
from typing import Any

import numpy as np
import PIL
from PIL import Image

from tests import shared_data

_VERSION = "11.3.0"
FILTERS = {
  "bilinear": Image.Resampling.BILINEAR,
  "bicubic": Image.Resampling.BICUBIC,
}
RULES = ("imagenet", "inception", "short40_crop24", "squash30_bicubic")
MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "LAB")
# (height, width) before and after: of the benchmarks, of one px, of long strips.
_SIZES = (
  ((375, 500), (256, 341)),
  ((500, 375), (341, 256)),
  ((500, 375), (299, 299)),
  ((240, 320), (224, 224)),
  ((700, 64), (160, 160)),
  ((64, 700), (160, 160)),
  ((60, 50), (120, 25)),
  ((120, 50), (64, 25)),
  ((8, 8), (32, 32)),
  ((1, 1), (8, 5)),
  ((1, 90), (64, 64)),
  ((90, 1), (64, 64)),
  ((900, 3), (2, 40)),
  ((3, 900), (40, 2)),
  ((256, 256), (256, 256)),
)


def levels(height: int, width: int, channels: int = 3) -> np.ndarray:
  """Levels without structure, by arithmetic: uint8 `[H, W, C]`."""
  x = np.arange(height * width * channels, dtype=np.uint32)
  x = (x ^ x >> 7) * np.uint32(2654435761)  # Knuth's, as all odd numbers would
  x = (x ^ x >> 15) * np.uint32(2246822519)
  return (x >> 24).astype(np.uint8).reshape(height, width, channels)


def picture(mode: str, height: int, width: int) -> Any:
  """A PIL picture of a mode."""
  if mode == "1":
    return Image.fromarray(levels(height, width, 1)[..., 0] > 127)
  channels = len(Image.new(mode, (1, 1)).getbands())
  data = levels(height, width, channels).tobytes()
  out = Image.frombytes(mode, (width, height), data)
  if mode == "P":
    out.putpalette(levels(256, 1).tobytes())
  return out


def checksum(pixels: np.ndarray) -> str:
  """16 digits of a picture's sha256, its shape with it."""
  text = f"{pixels.shape}".encode() + pixels.tobytes()
  return hashlib.sha256(text).hexdigest()[:16]


def sizes() -> list[tuple[tuple[int, int], tuple[int, int]]]:
  """(height, width) before and after: the chosen ones, and 240 by chance."""
  rng = random.Random(0)
  drawn = [[rng.randint(1, 150) for _ in range(4)] for _ in range(240)]
  return [*_SIZES, *(((a, b), (c, d)) for a, b, c, d in drawn)]


def by_pillow(image: Any, rule: str) -> Any:
  """What Pillow's own calls give for a rule, as the papers' scripts write them."""
  from robust_tfds.building import geometry

  way = geometry.fit(rule, *image.size)
  method = FILTERS["bicubic" if way.bicubic else "bilinear"]
  return image.crop(way.box).resize(way.size, method).crop(way.crop)


def _write(name: str, rows: list[dict[str, Any]]) -> None:
  path = shared_data.golden("resizing") / name
  with path.open("w", newline="") as f:
    out = csv.DictWriter(f, rows[0], delimiter="\t", lineterminator="\n")
    out.writeheader()
    out.writerows(rows)


def main() -> None:
  """Writes both tables."""
  if PIL.__version__ != _VERSION:
    raise SystemExit(f"Pillow is {PIL.__version__}, expected {_VERSION}.")
  rows = []
  for size, out in sizes():
    for name, method in FILTERS.items():
      small = Image.fromarray(levels(*size)).resize(out[::-1], method)
      mark = checksum(np.asarray(small))
      row = dict(zip(("height", "width", "to_height", "to_width"), size + out))
      rows.append(row | {"filter": name, "sha256": mark})
  _write("sizes.tsv", rows)
  rows = []
  for mode in MODES:
    for rule in RULES:
      for height, width in ((301, 400), (170, 37)):
        small = by_pillow(picture(mode, height, width), rule).convert("RGB")
        mark = checksum(np.asarray(small))
        row = {"mode": mode, "rule": rule, "height": height, "width": width}
        rows.append(row | {"sha256": mark})
  _write("modes.tsv", rows)


if __name__ == "__main__":
  main()

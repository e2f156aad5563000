"""Frost pictures drawn from a seed, for tests of our own code.

The published ones are third-party pictures and not part of the project; only
comparisons with the authors' pixels need them (`replays.use_frost`).
"""

import atexit
import functools
import pathlib
import shutil
import tempfile

import numpy as np
from PIL import Image

from robust_tfds.corruptions import frost_pictures

# Heights and widths of the published pictures (docs/evidence/specs/corruptions.md
# section 3, frost): their least side bounds the canvas.
SHAPES = {
  "frost1.png": (600, 900),
  "frost2.png": (315, 560),
  "frost3.png": (315, 560),
  "frost4.jpg": (350, 527),
  "frost5.jpg": (495, 660),
  "frost6.jpg": (323, 485),
}


@functools.cache
def drawn() -> pathlib.Path:
  """A folder of six pictures with the published names and sizes."""
  folder = pathlib.Path(tempfile.mkdtemp(prefix="robust_tfds_frost"))
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  rng = np.random.default_rng(0)
  for name, (height, width) in SHAPES.items():
    coarse = rng.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    Image.fromarray(coarse).resize((width, height)).save(folder / name)
  return folder


def use_drawn() -> None:
  """Makes the drawn pictures those of the frost corruption."""
  frost_pictures.use_folder(drawn(), allow_other_pictures=True)

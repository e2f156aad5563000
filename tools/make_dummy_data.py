"""Make the dummy data of the builders' tests: small synthetic pictures.

  python -m tools.make_dummy_data

Nothing third-party: smooth random fields under the official file names.
"""

import pathlib

import numpy as np
from PIL import Image

from robust_tfds.building.sources import imagenet

_ROOT = pathlib.Path(__file__).resolve().parents[1] / "robust_tfds" / "datasets"
_SIZES_PX = ((64, 48), (48, 64), (40, 40))  # width, height


def picture(seed: int, size: tuple[int, int]) -> Image.Image:
  """Return a smooth colour field."""
  rng = np.random.default_rng(seed)
  small = rng.integers(0, 256, (4, 4, 3), np.uint8)
  return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


def main() -> None:
  """Write the files."""
  folder = _ROOT / "imagenet_c" / "dummy_data"
  wnids = imagenet.wnids()
  folder.mkdir(parents=True, exist_ok=True)
  for i, size in enumerate(_SIZES_PX):
    path = folder / wnids[300 * i] / f"ILSVRC2012_val_{i + 1:08d}.JPEG"
    path.parent.mkdir(exist_ok=True)
    picture(i, size).save(path, quality=80)
  published = folder / "fog" / "3" / wnids[0] / "ILSVRC2012_val_00000001.JPEG"
  published.parent.mkdir(parents=True, exist_ok=True)
  picture(9, (224, 224)).save(published, quality=40)


if __name__ == "__main__":
  main()

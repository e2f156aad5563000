"""A small ImageNet for benchmarks: synthetic photographs, or a folder's."""

import io
import itertools
import os
import pathlib
from typing import Any

import numpy as np
from PIL import Image

from robust_tfds import datasets

_WNID = "n01440764"


def prepared(root: str, count: int, folder: str = "", **options: Any) -> Any:
  """Return a builder of clean 224x224 pictures, prepared without loss.

  Args:
    root: folder for its sources and its files.
    count: of pictures.
    folder: JPEG files to be used again and again; empty for synthetic ones of
      the size most pictures of ImageNet have, which decode faster than
      photographs.
    **options: of `datasets.prepare`.
  """
  manual = pathlib.Path(root, "manual")
  if not manual.exists():
    write(manual / "val" / _WNID, count, folder)
  return datasets.prepare(
    "imagenet_c",
    "clean",
    codec="raw",
    data_dir=os.path.join(root, "data"),
    manual_dir=manual,
    **options,
  )


def write(place: pathlib.Path, count: int, folder: str) -> None:
  """Write JPEG files under official names; arguments as of `prepared`."""
  place.mkdir(parents=True)
  files = sorted(pathlib.Path(folder).glob("*.[Jj][Pp]*[Gg]")) if folder else []
  photographs = itertools.cycle(path.read_bytes() for path in files)
  for i in range(count):
    data = next(photographs) if files else _jpeg(i)
    (place / f"ILSVRC2012_val_{i + 1:08d}.JPEG").write_bytes(data)


def _jpeg(seed: int) -> bytes:
  """Return a JPEG of 500 x 375 px."""
  rng = np.random.default_rng(seed)
  coarse = Image.fromarray(rng.integers(0, 256, (45, 60, 3), np.uint8))
  out = io.BytesIO()
  coarse.resize((500, 375)).save(out, "JPEG", quality=95)
  return out.getvalue()

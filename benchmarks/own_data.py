"""A run over one's own pictures, compared with a loop over imagecorruptions.

  python -m benchmarks.own_data [--count=128] [--peer_count=4] [--out=FILE]

JPEG files of odd sizes are made in two class folders and shown, by `evaluate`, clean
and under corruptions, to a function that looks at one pixel: on one core, the
seconds of CPU that 1,000 pictures take a condition. They are the difference of runs
over half and over all pictures, so that starting, compiling and finishing, which a
line of its own has, do not count. The loop opens each picture once, crops it with
Pillow, and gives it to imagecorruptions and the function (how to install it:
`benchmarks/corruptions.py`); where that is not installed, it is left out.
"""

import contextlib
import io
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Sequence

import numpy as np
from absl import flags
from PIL import Image, ImageOps

from robust_tfds import command, conditions

_SIDES_PX = (180, 420)  # of the pictures: from, below
_SIDE_PX, _BLEED = (
  224,
  16 / 256,
)  # ImageNet's crop, and what it leaves of a side


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_integer(
    "count", 128, "Pictures: two batches of 64, or a multiple of that."
  )
  flags.DEFINE_integer("peer_count", 4, "Pictures of them for the peer's loop.")
  flags.DEFINE_string("conditions", "common", "Which corruptions.")
  flags.DEFINE_string("out", "", "JSON file for the numbers.")


def write(root: pathlib.Path, count: int) -> list[pathlib.Path]:
  """Write the pictures into class folders and return their paths."""
  files = []
  for i in range(count):
    rng = np.random.default_rng(i)
    coarse = Image.fromarray(rng.integers(0, 256, (24, 24, 3), np.uint8))
    width, height = map(int, rng.integers(*_SIDES_PX, 2))
    files.append(root / ("even", "odd")[i % 2] / f"{i}.jpg")
    files[-1].parent.mkdir(parents=True, exist_ok=True)
    coarse.resize((width, height)).save(files[-1], quality=90)
  return files


def predict(images: np.ndarray) -> np.ndarray:
  """Return logits `[B, 2]` of one pixel of uint8 `[B, H, W, 3]`."""
  level = images[:, 0, 0, 0].astype(np.float32)
  return np.stack([level, 255 - level], 1)


def ours(root: pathlib.Path, names: str, limit: int) -> float:
  """Return the CPU seconds of a run of `evaluate` over that many pictures."""
  from robust_tfds import evaluate

  start = time.process_time()
  with contextlib.redirect_stdout(io.StringIO()):
    evaluate(predict, f"folder:{root}", conditions=names, limit=limit)
  return time.process_time() - start


def loop(
  files: Sequence[pathlib.Path], cells: Sequence[conditions.Condition]
) -> float:
  """Return the CPU seconds of a hand-written loop whose first cell is clean."""
  from benchmarks import corruptions

  corrupt = corruptions.imagecorruptions_peer()
  start = time.process_time()
  for file in files:
    with Image.open(file) as image:
      side = (_SIDE_PX, _SIDE_PX)
      picture = np.asarray(ImageOps.fit(image, side, bleed=_BLEED))
    predict(picture[None])
    for cell in cells[1:]:
      predict(np.asarray(corrupt(picture, cell.name, cell.level))[None])
  return time.process_time() - start


def main(argv: Sequence[str]) -> None:
  """Measure, print and write."""
  del argv
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  given = flags.FLAGS
  names, count = given.conditions, given.count
  cells = conditions.PICTURES.select(names, conditions.SEVERITIES)
  peer = None
  with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder, "pictures")
    files = write(root, count)
    first, half = (ours(root, names, count // 2) for _ in range(2))
    whole = ours(root, names, 0)
    each = (whole - half) / (count - count // 2) / len(cells)
    try:
      loop(files[:1], cells)  # compiles
      shown = files[: given.peer_count]
      peer = loop(shown, cells) / len(shown) / len(cells)
    except ImportError as e:
      print(f"No imagecorruptions: {e}. See benchmarks/corruptions.py.")
  print(f"{count} pictures, {len(cells)} conditions; CPU s of one core")
  lines = {
    "1,000 pictures, a condition": 1e3 * each,
    "the same, loop over the peer": peer and 1e3 * peer,
    "ratio": peer and peer / each,
    "starting and compiling, once": first - half,
    "starting a second run": max(0, 2 * half - whole),
  }
  for name, value in lines.items():
    print(f"{name:32s}{'-' if value is None else f'{value:9.2f}'}")
  if given.out:
    text = json.dumps(lines, indent=2) + "\n"
    pathlib.Path(given.out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
  command.run(main, define_flags)

"""Our resize beside Pillow's, in one process on one core.

  python -m benchmarks.resizing

Prints, per size of the picture and rule of the crop, the ms of ours (what is seen
alone), of Pillow's (the whole, then the crop), both with the JPEG decoded before,
and the ratios. Calls alternate, the least CPU time of each counts.
"""

import io
import os
import time
from collections.abc import Callable, Sequence

import numpy as np
from absl import app, flags
from PIL import Image

from robust_tfds.building import geometry

_ROUNDS = flags.DEFINE_integer("rounds", 15, "Calls of each that are timed.")
_CASES = (  # (width, height), rule
  ((500, 375), "short256_crop224"),
  ((500, 375), "short256_crop224_bicubic"),
  ((500, 375), "fraction0.875_299"),
  ((500, 375), "squash64"),
  ((340, 256), "short256_crop224"),
  ((2000, 1500), "short256_crop224"),
  ((4000, 3000), "short256_crop224"),
)


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  for size, rule in _CASES:
    data = _jpeg(*size)
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    alone = _ms(
      lambda: geometry.apply(pixels, rule),
      lambda: _pillow(Image.fromarray(pixels), rule),
    )
    decoded = _ms(
      lambda: geometry.decode(data, rule, "x"),
      lambda: _pillow(Image.open(io.BytesIO(data)), rule),
    )
    words = (
      f"ours {ours:.2f} ms, Pillow {other:.2f}, ratio {ours / other:.2f}"
      for ours, other in (alone, decoded)
    )
    print(f"{size[0]}x{size[1]} {rule}:", "; decoded too: ".join(words))


def _jpeg(width: int, height: int) -> bytes:
  """Return a JPEG of coarse spots, about as costly to decode as a photograph."""
  rng = np.random.default_rng(0)
  spots = rng.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
  out = io.BytesIO()
  Image.fromarray(spots).resize((width, height)).save(out, "JPEG", quality=90)
  return out.getvalue()


def _pillow(picture: Image.Image, rule: str) -> np.ndarray:
  way = geometry.fit(rule, *picture.size)
  name = "BICUBIC" if way.bicubic else "BILINEAR"
  small = picture.crop(way.box).resize(way.size, Image.Resampling[name])
  return np.asarray(small.crop(way.crop))


def _ms(*calls: Callable[[], object]) -> list[float]:
  """Return the least CPU time of each call; calls alternate."""
  least = [np.inf] * len(calls)
  for _ in range(_ROUNDS.value + 1):
    for i, call in enumerate(calls):
      start = time.process_time()
      call()
      least[i] = min(least[i], time.process_time() - start)
  return [1000 * seconds for seconds in least]


if __name__ == "__main__":
  app.run(main)

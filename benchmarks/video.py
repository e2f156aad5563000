"""Video perturbations of one clip, warm, on one core, beside the authors' times.

  taskset -c 0 python -m benchmarks.video --times=speeds.json

The clip is 32 frames of 128x171 px. The authors' code needs libraries of 2022
that cannot be installed beside ours, so their times come from a file: (code's
name)_(severity) -> cpu_s, measured elsewhere on such a clip. To tell machines
apart, a fixed piece of numpy work is timed as well.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Sequence

import jax
import numpy as np
from absl import app, flags

from robust_tfds import corruptions

_TIMES = flags.DEFINE_string("times", "", "JSON of the authors' times.")
_REPEATS = flags.DEFINE_integer(
  "repeats", 3, "Calls, of which the best counts."
)
_SEVERITIES = (1, 3, 5)
_CODE_NAMES = {
  "jpeg": "compression",
  "jumbling": "jumble",
  "box_jumbling": "box_jumble",
  "freezing": "freeze",
  "static_rotation": "static_rotate",
  "random_rotation": "rotate",
  "translation": "translate",
}


def _best(call: Callable[[], object]) -> float:
  call()
  times = []
  for _ in range(_REPEATS.value):
    start = time.perf_counter()
    jax.block_until_ready(call())
    times.append(time.perf_counter() - start)
  return min(times)


def _clip() -> np.ndarray:
  rng = np.random.default_rng(0)
  smooth = np.kron(rng.normal(size=(8, 11, 3)), np.ones((16, 16, 1)))
  image = 128 + 50 * smooth[:, :171] + 5 * rng.normal(size=(128, 171, 3))
  still = np.clip(image, 0, 255).astype(np.uint8)
  return np.stack([np.roll(still, 3 * i, 1) for i in range(32)])


def main(argv: Sequence[str]) -> None:
  """Time every perturbation."""
  del argv
  theirs = {}
  if _TIMES.value:
    with open(_TIMES.value, encoding="utf-8") as f:
      theirs = json.load(f)
  clip = _clip()
  values = np.random.default_rng(0).normal(size=150_528)
  unit = _best(lambda: [np.sort(values) for _ in range(10)])
  print(f"ten sorts of 150,528 float64: {1e3 * unit:.1f} ms")
  sums = [0.0, 0.0]
  for name in corruptions.video_names():
    for severity in _SEVERITIES:
      key = corruptions.example_key(0, "benchmark", name, severity, "clip")
      edition = "code" if name == "translation" else "paper"
      call = functools.partial(
        corruptions.perturb_video,
        clip,
        name,
        severity,
        edition=edition,
        key=key,
      )
      took = _best(call)
      line = f"{name:17} {severity}  {1e3 * took:8.1f} ms"
      other = theirs.get(f"{_CODE_NAMES.get(name, name)}_{severity}")
      if other:
        sums[0] += took
        sums[1] += other["cpu_s"]
        ratio = other["cpu_s"] / took
        line += f"   theirs {1e3 * other['cpu_s']:8.1f} ms, ratio {ratio:.1f}"
      print(line)
  if sums[0]:
    print(
      f"sum of those with a time: ours {sums[0]:.2f} s, theirs {sums[1]:.2f} s,"
      f" ratio {sums[1] / sums[0]:.1f}"
    )


if __name__ == "__main__":
  app.run(main)

"""Does the input keep ahead of the model? Decoding and perturbing beside X3D-S.

  taskset -c 0 python -m benchmarks.video_input [--frames=250]

Makes an H.264 file of 320x240 px, cuts clips from it under every perturbation
at severity 3 and prints milliseconds a clip and their ratio to X3D-S's own, all
on the cores of this process: below 1 the input keeps ahead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import jax
import numpy as np

from robust_tfds import corruptions
from robust_tfds import models
from robust_tfds import movies
from robust_tfds.eval.pipeline import clips


def _best(call: Callable[[], object], rounds: int = 3) -> float:
  """CPU seconds of the fastest of some calls, after one to warm up."""
  call()
  times = []
  for _ in range(rounds):
    start = time.process_time()
    call()
    times.append(time.process_time() - start)
  return min(times)


def film(frames: int) -> bytes:
  """A moving picture with some noise, as H.264 at its defaults."""
  rng = np.random.default_rng(0)
  wide = rng.integers(0, 256, (16, 40, 3), np.uint8)
  wide = wide.repeat(16, axis=0).repeat(16, axis=1)[:240]

  def each():
    for t in range(frames):
      noise = rng.integers(0, 12, (240, 320, 3), np.uint8)
      yield np.roll(wide, t, axis=1)[:, :320] // 2 + noise

  return movies.encode(
    each(), options={"preset": "medium"}, pixel_format="yuv420p", fps=30
  )


def main() -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--frames", type=int, default=250)
  frames = parser.parse_args().frames
  data = film(frames)
  model = models.get("x3d_s")
  variables = model.init(jax.random.key(0))
  spec = model.spec
  shape = spec.batch_shape(1, spec.input_px)
  clip = np.zeros(shape, np.uint8)
  step = jax.jit(model.apply)
  own = _best(lambda: step(variables, clip).block_until_ready())
  print(f"x3d_s: {1000 * own:.0f} ms a clip; file of {frames} frames")
  print(f"{'ms a clip':20}{'1 view':>10}{'10 views':>10}{'ratios':>14}")
  ratios = []
  for name in ("", *corruptions.video_names()):
    key = corruptions.example_key(0, "ucf101_p", name or "clean", 3, "v")

    def make(views, name=name, key=key):
      return clips.sample_clips(data, 30.0, name, 3, "paper", key, spec, views)

    one = _best(lambda: make(1))
    ten = _best(lambda: make(10)) / 10
    ratios.append((one / own, ten / own))
    print(
      f"{name or 'clean':20}{1000 * one:10.0f}{1000 * ten:10.0f}"
      f"{one / own:8.2f}{ten / own:6.2f}",
      flush=True,
    )
  mean = np.mean(ratios, axis=0)
  print(f"{'mean':40}{mean[0]:8.2f}{mean[1]:6.2f}")


if __name__ == "__main__":
  main()

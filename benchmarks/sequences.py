"""ImageNet-P's ten sequences of one photograph-sized image, warm, on one core.

  taskset -c 0 python -m benchmarks.sequences

Prints ms a sequence and their sum. No peer can be installed: the authors'
scripts need ImageMagick and libraries of 2018; run with those they took 3.9 s
for the ten (issue 4). Times on shared machines are noisy, so the time of a fixed
piece of numpy work (ten sorts of 150,528 float64) is printed as a unit.
"""

import time
from collections.abc import Callable, Sequence

import jax
import numpy as np
from absl import app, flags

from robust_tfds import corruptions

_REPEATS = flags.DEFINE_integer(
  "repeats", 5, "Calls, of which the best counts."
)
_SET = flags.DEFINE_string("set", "common", "common, extra or all.")


def _best(call: Callable[[], object]) -> float:
  """Return the least CPU time in ms, after one uncounted call."""
  call()
  times = []
  for _ in range(_REPEATS.value):
    start = time.process_time()
    call()
    times.append(time.process_time() - start)
  return 1e3 * min(times)


def main(argv: Sequence[str]) -> None:
  """Time every perturbation."""
  del argv
  rng = np.random.default_rng(0)
  coarse = rng.normal(size=(8, 11, 3))
  smooth = np.kron(coarse, np.ones((32, 31, 1)))[:256, :341]
  noisy = 128 + 50 * smooth + 5 * rng.normal(size=smooth.shape)
  image = np.clip(noisy, 0, 255).astype(np.uint8)
  values = rng.normal(size=150_528)
  unit = _best(lambda: [np.sort(values) for _ in range(10)])
  total = 0.0
  for name in corruptions.sequence_names(_SET.value):
    key = corruptions.example_key(0, "imagenet_p", name, 1, "a.JPEG")
    start = time.process_time()
    took = _best(
      lambda name=name, key=key: jax.block_until_ready(
        corruptions.sequence(image, name, key=key)
      )
    )
    compiled = time.process_time() - start
    total += took
    print(
      f"{name:15} {took:8.1f} ms   (first call and repeats {compiled:.1f} s)"
    )
  print(
    f"{'sum':15} {total:8.1f} ms   = {total / unit:.2f} units of {unit:.0f} ms"
  )


if __name__ == "__main__":
  app.run(main)

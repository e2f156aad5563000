"""Does the input keep ahead of the model? Decoding and perturbing beside X3D-S.

  taskset -c 0 python -m benchmarks.video_input [--frames=250] [--views=1,10]

Makes an H.264 file of 320x240 px, reads it once for all conditions and shows its
clips under every perturbation at severity 3. Prints milliseconds of CPU a clip and
their ratio to X3D-S's own, all on the cores of this process: below 1 the input
keeps ahead. Reading is counted apart, a video and the conditions' share of it.
"""

import argparse
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from eval.pipeline import clips
from robust_tfds import devices, hosts, models, movies
from robust_tfds.conditions import VIDEOS, Condition


def _best(call: Callable[[], object], rounds: int = 3) -> float:
  """Return the CPU seconds of the cheapest call, after one to warm up."""
  call()
  times = []
  for _ in range(rounds):
    start = time.process_time()
    call()
    times.append(time.process_time() - start)
  return min(times)


def film(frames: int) -> bytes:
  """Return a moving picture with some noise, as H.264 at its defaults."""
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


class _Films:
  """A source with copies of one video."""

  def __init__(self, data: bytes, count: int):
    self._data, self.batch_size = data, count
    self.host = hosts.Host()

  def rows(
    self, start: int, stop: int | None = None, skipped: Sequence[str] = ()
  ) -> Iterator[dict[str, Any]]:
    """Return rows, see `inputs.Source.rows`."""
    for i in range(start, self.batch_size if stop is None else stop):
      yield {
        "video": self._data,
        "fps": 30.0,
        "label": 0,
        "example_id": f"v{i}",
        "group_id": "g",
      }


def read(
  data: bytes, all_conditions: Sequence[Condition], spec: Any, views: int
) -> tuple[clips.Batch, float]:
  """Return a batch of one video, and the CPU seconds of reading it."""
  setting = {"seed": 0, "dataset": "ucf101_p", "edition": "paper"}
  source: Any = _Films(data, 1)
  reader = clips.Reader(
    source, all_conditions, {"m": spec}, views=views, **setting
  )
  start = time.process_time()
  batch = reader.batch(list(reader.rows(0)))
  return batch, time.process_time() - start


def show(spec: Any) -> clips.Show:
  """Put a batch onto the first device."""
  mesh = devices.mesh(jax.local_devices()[:1])
  return clips.Show(
    mesh, {"m": spec}, seed=0, dataset="ucf101_p", edition="paper"
  )


def main() -> None:
  """Print the table."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--frames", type=int, default=250)
  parser.add_argument("--views", default="1,10")
  arguments = parser.parse_args()
  all_views = [int(v) for v in arguments.views.split(",")]
  data = film(arguments.frames)
  model = models.get("x3d_s")
  variables = model.init(jax.random.key(0))
  spec = model.spec
  shape = spec.batch_shape(1, spec.input_px)
  clip = np.zeros(shape, np.uint8)
  step = jax.jit(model.apply)
  own = _best(lambda: step(variables, clip).block_until_ready())
  print(f"x3d_s: {1000 * own:.0f} ms a clip; file of {arguments.frames} frames")
  conditions = VIDEOS.conditions()
  shown = show(spec)
  for views in all_views:
    read(data, conditions, spec, views)
    batch, seconds = read(data, conditions, spec, views)
    print(
      f"{views} views: reading {1000 * seconds:.0f} ms of CPU a video,"
      f" {1000 * seconds / len(conditions):.1f} of each of"
      f" {len(conditions)} conditions; {batch.image.nbytes / 2**20:.0f} MiB"
    )
  columns = "".join(f"{v:>7} views" for v in all_views)
  print(f"{'ms a clip':20}{columns}   ratios")
  ratios = []
  for name in ("", *VIDEOS.names()):
    condition = VIDEOS.condition(name, 3 if name else 0)

    def see(placed: clips.Placed, condition: Condition = condition) -> None:
      assert placed.coded is not None
      placed.coded.condition = None  # decoded anew
      images, _ = shown.see(placed, condition, spec)
      images.block_until_ready()

    each = []
    for views in all_views:
      batch, _ = read(data, [condition], spec, views)
      each.append(_best(functools.partial(see, shown.put(batch))) / views)
    ratios.append([x / own for x in each])
    print(
      f"{name or 'clean':20}"
      + "".join(f"{1000 * x:13.1f}" for x in each)
      + "".join(f"{x / own:9.3f}" for x in each),
      flush=True,
    )
  mean = np.mean(ratios, axis=0)
  space = 20 + 13 * len(all_views)
  print(f"{'mean':{space}}" + "".join(f"{x:9.3f}" for x in mean))


if __name__ == "__main__":
  main()

"""Where the host's time goes in a run: read, decode, batch, put, ... write.

  taskset -c 0 python -m benchmarks.pipeline [--pictures=FOLDER] [--out=FILE]

ImageNet-C on the fly, of pictures that are made here (or of a folder's JPEG files,
again and again), with a model that costs nothing. Stage by stage, each alone and
warm, the milliseconds an image of this process' CPU and of the clock; then runs
of the evaluator, of half and of all pictures, an image and condition. Their
difference is what more pictures cost, without starting and finishing; what of it
is neither corrupting nor the model is to be 0.3 ms of CPU, at most 0.8. How often
each example was decoded and the peak of the memory are printed beside.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from absl import flags

from benchmarks import pictures
from configs import imagenet_c
from eval.pipeline import inputs, predict
from eval.run import plan as plan_lib
from eval.run import runner
from models import adapters
from models.spec import Spec
from robust_tfds import command, devices, models
from robust_tfds.conditions import Condition

_REPEATS = 3


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_integer("count", 256, "Pictures.")
  flags.DEFINE_integer("batch_size", 64, "Pictures of a batch.")
  flags.DEFINE_string("names", "all", "Which corruptions.")
  flags.DEFINE_string("codec", "raw", "raw or jpeg85.")
  flags.DEFINE_string("model", "", "A classifier whose time is shown too.")
  flags.DEFINE_string("pictures", "", "Folder of JPEG files.")
  flags.DEFINE_string("out", "", "JSON file for the numbers.")


def build() -> adapters.Adapted:
  """Return a model that looks at one pixel: `benchmarks.pipeline:build`."""
  spec = Spec(input_px=224, resize_px=256, mean=(0, 0, 0), std=(1, 1, 1))

  def logits(batch: jax.Array) -> jax.Array:
    return batch[:, 0, 0, :1] * jnp.ones(1000)

  return adapters.get("callable")(logits, spec, name="one_pixel")


@dataclasses.dataclass(frozen=True)
class Took:
  """The seconds of the process' CPU and of the clock."""

  cpu: float
  wall: float

  def __truediv__(self, count: float) -> Took:
    """Return the time divided by a count."""
    return Took(self.cpu / count, self.wall / count)


def took(call: Callable[[], object]) -> Took:
  """Return the time of a call until its result is ready."""
  cpu, wall = time.process_time(), time.perf_counter()
  jax.block_until_ready(call())
  return Took(time.process_time() - cpu, time.perf_counter() - wall)


def config(root: str, limit: int) -> Any:
  """Return the run's config."""
  given, out = flags.FLAGS, imagenet_c.get_config("unused").unlock()
  out.batch_size, out.reports = given.batch_size, False
  out.data.corruptions, out.data.codec = given.names, given.codec
  out.data.manual_dir, out.data.data_dir = f"{root}/manual", f"{root}/data"
  out.data.limit = limit
  out.model.name, out.model.label = "benchmarks.pipeline:build", "one_pixel"
  return out.lock()


def stages(plan: plan_lib.Plan, source: inputs.Source) -> dict[str, Took]:
  """Return the time per image of each stage; for `corrupt` the mean of all conditions."""
  task, size = plan.task, source.batch_size
  mesh = devices.mesh()
  rows = list(source.rows(0, size))
  batch, show = source.batch(rows), task.show(mesh, {})
  placed = show.put(batch)
  model = build()
  variables = model.init(jax.random.key(0))
  predictor = predict.Predictor(model, variables, mesh)
  reduce = task.reducer(Condition())
  labels = devices.put_batch(batch.label, mesh)
  outputs = predictor(placed.images, labels, reduce)
  fetched = outputs.fetch()

  def corrupt() -> None:
    for condition in plan.conditions:
      jax.block_until_ready(show.see(placed, condition, None))

  whole, skipped = source.total, (source.pixels,)
  calls = {
    "read": (lambda: list(source.rows(skipped=skipped)), whole),
    "read and decode": (lambda: sum(1 for _ in source.rows()), whole),
    "batch": (lambda: source.batch(rows), size),
    "put": (lambda: show.put(batch).images, size),
    "corrupt": (corrupt, size * len(plan.conditions)),
    "model": (lambda: predictor(placed.images, labels, reduce), size),
    "fetch": (lambda: predictor(placed.images, labels, reduce).fetch(), size),
    "columns": (lambda: task.columns(batch, fetched, Condition()), size),
  }
  if name := flags.FLAGS.model:
    other = models.get(name)
    weights = jax.jit(other.init)(jax.random.key(0))
    shown = predict.Predictor(other, weights, mesh)
    calls[name] = (lambda: shown(placed.images, reduce), size)
  return {name: _median(call) / n for name, (call, n) in calls.items()}


def _median(call: Callable[[], object]) -> Took:
  call()
  times = [took(call) for _ in range(_REPEATS)]
  return Took(
    statistics.median(t.cpu for t in times),
    statistics.median(t.wall for t in times),
  )


def whole_run(root: str, count: int) -> tuple[Took, dict[str, Any]]:
  """Run the evaluator and return its `timing.json`."""
  workdir = pathlib.Path(tempfile.mkdtemp(dir=root))
  run = runner.Runner(plan_lib.make(config(root, count)), workdir)
  return took(run.run), json.loads((workdir / "timing.json").read_text())


def main(argv: Sequence[str]) -> None:
  """Measure, print and write."""
  del argv
  given = flags.FLAGS
  with tempfile.TemporaryDirectory() as root:
    builder = pictures.prepared(root, given.count, given.pictures)
    source = inputs.Source(builder, "validation", batch_size=given.batch_size)
    plan = plan_lib.make(config(root, 0))
    whole_run(root, given.batch_size)  # compiles
    half, _ = whole_run(root, given.count // 2)
    run, timing = whole_run(root, given.count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = stages(plan, source)
  shown = given.count * len(plan.conditions)
  more = Took(run.cpu - half.cpu, run.wall - half.wall) / (shown / 2)
  beyond = more.cpu - each["corrupt"].cpu - each["model"].cpu
  print(
    f"{given.count} pictures, {len(plan.conditions)} conditions, batches of"
    f" {given.batch_size}, codec {given.codec}; ms an image"
  )
  print(f"{'':28s}{'CPU':>10s}{'clock':>10s}")
  lines = {**each, "run": run / shown, "run, second half": more}
  for name, value in lines.items():
    print(f"{name:28s}{1e3 * value.cpu:10.3f}{1e3 * value.wall:10.3f}")
  print(f"{'  not corrupt, not model':28s}{1e3 * beyond:10.3f}")
  writing = 1e3 * timing["write_s"] / shown
  print(f"{'  writing':28s}{'':10s}{writing:10.3f}")
  reads = ", ".join(f"{k} {v:g}" for k, v in timing["reads"].items())
  print(f"sets and how often each example was decoded: {reads}")
  print(f"peak memory {peak:.0f} MiB")
  if given.out:
    numbers = {
      "ms": {k: dataclasses.asdict(v / 1e-3) for k, v in lines.items()},
      "beyond_ms": 1e3 * beyond,
      "timing": timing,
      "peak_mib": peak,
    }
    text = json.dumps(numbers, indent=2) + "\n"
    pathlib.Path(given.out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
  command.run(main, define_flags)

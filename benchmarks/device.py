"""What an accelerator does with ImageNet-C: model, corruptions, both, input.

  python -m benchmarks.device --out=device.json                  # on a GPU: < 8 min
  JAX_PLATFORMS=cpu python -m benchmarks.device --small          # on a CPU: < 3 min

ResNet-50 in bfloat16 with random weights, 224x224 pictures, codec jpeg85, all
devices of this host. After compiling, which is timed apart, each line is the
median of several repeats (fewer of what is slow), between which the devices are
waited for:

  model        batches that lie on the devices
  <corruption> the same, mean of its severities, without the codec
  jpeg85       the codec alone
  both         as a run does it: a batch put once, corrupted by every condition,
               coded, shown to the model, its top 5 fetched
  input        pictures decoded from a prepared set, on all cores; no device
  put          pixels of the host brought to the devices

`idle` is the part of `both` in which the devices had nothing to do: 1 - (model +
jpeg85 + mean corruption) / both, in time an image. It is 0 but for noise where
they never wait. Where the frost pictures are not found frost is left out and said
to be.
"""

import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from absl import flags

from benchmarks import pictures
from eval import tasks
from eval.pipeline import blocks, inputs, packing, predict
from eval.tasks import base
from robust_tfds import command, conditions, devices, models
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures

_SIDE_PX = 224
_BLOCK_BYTES = 512 << 20
_IN_FLIGHT = 3  # batches whose outputs are not fetched yet
_LEAST_S = 0.05  # of a repeat; shorter calls are queued


@dataclasses.dataclass(frozen=True)
class Amount:
  """The amount of work that is measured.

  Attributes:
    batch_size: pictures of a batch, over all devices.
    severities: of each corruption.
    repeats: of which the median counts.
    decoded: pictures of the set that is read.
  """

  batch_size: int
  severities: tuple[int, ...] = conditions.SEVERITIES
  repeats: int = 5
  decoded: int = 512


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string("out", "", "JSON file for the numbers.")
  flags.DEFINE_bool("small", False, "One severity, few pictures: for a CPU.")
  flags.DEFINE_string("model", "resnet50", "A classifier's name.")
  flags.DEFINE_string("dtype", "bfloat16", "It computes in.")
  flags.DEFINE_integer("batch_size", 0, "0: 1,024 a device; 2 with --small.")
  flags.DEFINE_integer("repeats", 0, "0: 5; 3 with --small.")
  flags.DEFINE_string("names", "all", "Which corruptions.")
  flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")
  flags.DEFINE_string("pictures", "", "Folder of JPEG files to be decoded.")


class Bench:
  """The programs with their pictures, and their times."""

  def __init__(self, model: Any, names: Sequence[str], amount: Amount):
    """Put random pictures and weights onto the devices."""
    self._amount, self._names = amount, names
    self._mesh = mesh = devices.mesh()
    devices.check_batch_size(amount.batch_size, mesh)
    setting = base.Setting("imagenet_c", edition="imagenet", codec="jpeg85")
    task = tasks.get("classification")(setting)
    self._reduce = task.reducer(Condition())
    self._show, self._batch = task.show(mesh, {}), _batch(amount.batch_size)
    self._placed = self._show.put(self._batch)
    self._labels = devices.put_batch(self._batch.label, mesh)
    variables = jax.jit(model.init)(jax.random.key(0))
    self._predictor = predict.Predictor(model, variables, mesh)
    self._corrupt = predict.corruptor(mesh, "imagenet", "raw")

  @property
  def conditions(self) -> list[Condition]:
    """Return clean, then every corruption at every severity."""
    levels = self._amount.severities
    return [
      Condition(),
      *(Condition(n, s) for n in self._names for s in levels),
    ]

  def compile(self) -> float:
    """Return the seconds to compile all programs, in threads as in a run."""
    start = time.perf_counter()
    shapes = self._show.shapes(self._batch)
    labels = devices.batch_shape(self._batch.label, self._mesh)
    level = self._amount.severities[0]
    for name in ("", *self._names):
      condition = Condition(name, level) if name else Condition()
      images, _ = self._show.see(shapes, condition, None)
      self._predictor(images, labels, self._reduce)
    for name in self._names:
      _once(self._corruption(Condition(name, level)))
    _once(self._model)
    return time.perf_counter() - start

  def model(self) -> float:
    """Return the seconds per image of the model alone."""
    return self._per_image(self._model)

  def jpeg(self) -> float:
    """Return the seconds per image of the codec alone."""
    return self._per_image(lambda: self._see(self._placed, Condition()))

  def corruptions(self) -> dict[str, list[float]]:
    """Return the seconds per image of every corruption, by severity."""
    return {
      name: [
        self._per_image(self._corruption(Condition(name, severity)))
        for severity in self._amount.severities
      ]
      for name in self._names
    }

  def put(self) -> float:
    """Return the seconds per image from the host's memory to the devices."""
    return self._per_image(lambda: self._show.put(self._batch).images)

  def both(self) -> float:
    """Return the seconds per image and condition of a pass over all conditions."""
    images = len(self.conditions) * self._amount.batch_size
    return self._median(self._pass, 60.0) / images

  def _pass(self) -> None:
    """Run one batch under all conditions; fetch outputs a few steps later."""
    placed = self._show.put(self._batch)
    free = threading.Semaphore(_IN_FLIGHT)

    def fetch(outputs: packing.Outputs) -> None:
      outputs.fetch()
      free.release()

    with concurrent.futures.ThreadPoolExecutor(1) as fetcher:
      fetched = []
      for condition in self.conditions:
        free.acquire()
        images = self._see(placed, condition)
        outputs = self._predictor(images, self._labels, self._reduce)
        fetched.append(fetcher.submit(fetch, outputs))
      for future in fetched:
        future.result()

  def _see(self, placed: Any, condition: Condition) -> jax.Array:
    return self._show.see(placed, condition, None)[0]

  def _model(self) -> Any:
    return self._predictor(self._placed.images, self._labels, self._reduce)

  def _corruption(self, condition: Condition) -> Callable[[], Any]:
    images = self._placed.images
    keys = condition.keys(0, "imagenet_c", self._batch.example_id)
    return lambda: self._corrupt(images, None, condition, keys)

  def _per_image(self, call: Callable[[], Any]) -> float:
    """Return the median seconds per image of a call; short calls are queued."""
    queued = max(1, min(50, round(_LEAST_S / max(_once(call), 1e-6))))

    def several() -> None:
      waiting: collections.deque = collections.deque()
      for _ in range(queued):
        waiting.append(call())
        if len(waiting) > _IN_FLIGHT:
          jax.block_until_ready(waiting.popleft())
      jax.block_until_ready(list(waiting))

    return self._median(several, 2.0) / queued / self._amount.batch_size

  def _median(self, call: Callable[[], Any], most_s: float) -> float:
    """Return the median seconds of repeats; slow calls are repeated less often."""
    times = [_once(call)]
    while len(times) < self._amount.repeats and sum(times) < most_s:
      times.append(_once(call))
    return statistics.median(times)


def input_seconds(amount: Amount, folder: str) -> float:
  """Return the seconds per image of decoding a prepared set on all cores."""
  with tempfile.TemporaryDirectory() as root:
    builder = pictures.prepared(
      root, amount.decoded, folder, file_format="array_record"
    )
    size = amount.batch_size
    source = inputs.Source(builder, "validation", batch_size=size)
    times = [_once(lambda: _read(source)) for _ in range(amount.repeats)]
  return statistics.median(times) / amount.decoded


def _read(source: inputs.Source) -> None:
  """Read a set in one chunk."""
  reader = blocks.PictureReader(source)
  with blocks.Blocks(
    reader,
    [(0, source.share)],
    batch_size=source.batch_size,
    block_rows=source.share,
    block_nbytes=_BLOCK_BYTES,
  ) as steps:
    for step in steps:
      steps.release(step)


def measure(bench: Bench, amount: Amount, folder: str) -> dict[str, Any]:
  """Return all numbers: seconds, or seconds per image if the name says so.

  Args:
    bench: on the devices.
    amount: how much is measured.
    folder: of JPEG files, see `pictures.prepared`.
  """
  compile_s = bench.compile()
  model, jpeg, both = bench.model(), bench.jpeg(), bench.both()
  by_name = bench.corruptions()
  each = {name: statistics.mean(values) for name, values in by_name.items()}
  # Of all conditions: the clean one is not corrupted.
  total = sum(sum(values) for values in by_name.values())
  corruption = total / len(bench.conditions)
  return {
    "compile_s": compile_s,
    "model_s_an_image": model,
    "corruption_s_an_image": corruption,
    "jpeg85_s_an_image": jpeg,
    "both_s_an_image": both,
    "corruptions_s_an_image": each,
    "put_s_an_image": bench.put(),
    "input_s_an_image": input_seconds(amount, folder),
    "corruption_share": corruption / both,
    "corruption_and_jpeg85_share": (corruption + jpeg) / both,
    "idle_share": 1 - (model + corruption + jpeg) / both,
    "peak_device_bytes": _peak_bytes(),
  }


def table(numbers: dict[str, Any]) -> str:
  """Return the numbers as text."""
  lines = [f"{'':22s}{'images/s':>12s}{'us an image':>14s}"]

  def add(name: str, seconds: float) -> None:
    lines.append(f"{name:22s}{1 / seconds:12,.0f}{1e6 * seconds:14.2f}")

  for name in ("model", "corruption", "jpeg85", "both", "input", "put"):
    add(name, numbers[f"{name}_s_an_image"])
  lines.append("")
  for name, seconds in numbers["corruptions_s_an_image"].items():
    add(name, seconds)
  lines += [
    "",
    f"of both: corruption {numbers['corruption_share']:.1%}, with jpeg85"
    f" {numbers['corruption_and_jpeg85_share']:.1%}, idle"
    f" {numbers['idle_share']:.1%}",
    f"compiling, in threads: {numbers['compile_s']:.0f} s",
  ]
  if numbers["peak_device_bytes"]:
    lines.append(
      f"peak memory of a device {numbers['peak_device_bytes'] / 2**30:.1f} GiB"
    )
  return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
  """Measure, print and write."""
  del argv
  given = flags.FLAGS
  start = time.perf_counter()
  if given.frost_dir:
    frost_pictures.use_folder(given.frost_dir)
  names, left_out = _names(given.names)
  amount = _amount(given.small, given.batch_size, given.repeats)
  model = models.get(given.model, dtype=given.dtype)
  device = jax.devices()[0]
  print(
    f"{jax.device_count()} x {device.device_kind} ({device.platform}), jax"
    f" {jax.__version__}, {given.model} {given.dtype}, batch"
    f" {amount.batch_size}, {_SIDE_PX}x{_SIDE_PX}, jpeg85, severities"
    f" {amount.severities}",
    flush=True,
  )
  for line in left_out:
    print(line, flush=True)
  numbers = measure(Bench(model, names, amount), amount, given.pictures)
  wall_s = time.perf_counter() - start
  print(table(numbers) + f"\nall of this took {wall_s:.0f} s")
  if given.out:
    about = {
      "device": device.device_kind,
      "devices": jax.device_count(),
      "jax": jax.__version__,
      "model": given.model,
      "dtype": given.dtype,
      "amount": dataclasses.asdict(amount),
      "left_out": left_out,
      "wall_s": wall_s,
    }
    text = json.dumps(about | numbers, indent=2) + "\n"
    pathlib.Path(given.out).write_text(text, encoding="utf-8")


def _amount(small: bool, batch_size: int, repeats: int) -> Amount:
  """Return the amount that the flags request."""
  count = jax.device_count()
  if small:
    return Amount(batch_size or 2 * count, (3,), repeats or 3, decoded=64)
  return Amount(batch_size or 1024 * count, repeats=repeats or 5)


def _names(asked: str) -> tuple[list[str], list[str]]:
  """Return the corruptions, and a note on those left out."""
  names = list(conditions.PICTURES.resolve(asked))
  if "frost" in names and not frost_pictures.available():
    names.remove("frost")
    return names, ["frost is left out: its pictures are not here (--frost_dir)"]
  return names, []


def _once(call: Callable[[], Any]) -> float:
  start = time.perf_counter()
  jax.block_until_ready(call())
  return time.perf_counter() - start


def _batch(count: int) -> inputs.Batch:
  """Return smooth pictures with some noise, 224x224 px."""
  rng = np.random.default_rng(0)
  smooth = rng.uniform(0, 220, (count, 7, 7, 3)).repeat(32, 1).repeat(32, 2)
  noise = rng.integers(0, 36, (1, _SIDE_PX, _SIDE_PX, 3))
  ids = [f"{i:08d}" for i in range(count)]
  nothing = np.zeros(count, np.int32)
  return inputs.Batch(
    image=(smooth + noise).astype(np.uint8),
    size=np.full((count, 2), _SIDE_PX, np.int32),
    mask=np.ones(count, bool),
    example_id=ids,
    group_id=ids,
    frame=nothing,
    label=nothing,
  )


def _peak_bytes() -> int:
  """Return the peak memory of a device; 0 if it is not counted."""
  stats = jax.devices()[0].memory_stats() or {}
  return int(stats.get("peak_bytes_in_use", 0))


if __name__ == "__main__":
  command.run(main, define_flags)

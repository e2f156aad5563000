"""What an accelerator does with ImageNet-C: model, corruptions, both, input.

  python -m benchmarks.device --out=device.json                  # on a GPU: < 8 min
  JAX_PLATFORMS=cpu python -m benchmarks.device --small          # on a CPU: < 3 min

ResNet-50 in bfloat16 with random weights, 224x224 pictures, codec jpeg85, all
devices of this host. After compiling, which is timed apart, each line is the
median of several repeats, between which the devices are waited for:

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

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import io
import json
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from absl import flags
from PIL import Image

from robust_tfds import command
from robust_tfds import conditions
from robust_tfds import datasets
from robust_tfds import models
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.pipeline import predict
from robust_tfds.eval.tasks.parts import top_k

_SIDE_PX = 224
_EDITION, _CODEC = "imagenet", "jpeg85"
_IN_FLIGHT = 3  # batches whose outputs are not fetched yet
_LEAST_S = 0.05  # of a repeat; shorter calls are queued
_WNID = "n01440764"


@dataclasses.dataclass(frozen=True)
class Amount:
  """How much is measured.

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
  """The command's flags."""
  flags.DEFINE_string("out", "", "JSON file for the numbers.")
  flags.DEFINE_bool("small", False, "One severity, few pictures: for a CPU.")
  flags.DEFINE_string("model", "resnet50", "A classifier's name.")
  flags.DEFINE_string("dtype", "bfloat16", "It computes in.")
  flags.DEFINE_integer("batch_size", 0, "0: 1,024 a device; 2 with --small.")
  flags.DEFINE_integer("repeats", 0, "0: 5; 3 with --small.")
  flags.DEFINE_string("names", "all", "Which corruptions.")
  flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")


class Bench:
  """The programs, their pictures, and how long they take."""

  def __init__(self, model: Any, names: Sequence[str], amount: Amount):
    """Puts random pictures and weights onto the devices."""
    self._amount, self._names = amount, names
    self._mesh = devices.mesh()
    devices.check_batch_size(amount.batch_size, self._mesh)
    self._pixels = _pictures(np.random.default_rng(0), amount.batch_size)
    self._ids = [str(i) for i in range(amount.batch_size)]
    self._batch = devices.put_batch(self._pixels, self._mesh)
    variables = jax.jit(model.init)(jax.random.key(0))
    self._predictor = predict.Predictor(model, variables, self._mesh)
    self._corrupt = predict.corruptor(self._mesh, _EDITION, "raw")
    self._show = predict.corruptor(self._mesh, _EDITION, _CODEC)

  @property
  def conditions(self) -> list[Condition]:
    """Clean, then every corruption at every severity."""
    levels = self._amount.severities
    return [
      Condition(),
      *(Condition(n, s) for n in self._names for s in levels),
    ]

  def compile(self) -> dict[str, float]:
    """Seconds until the first outputs of every program, one after the other."""
    calls = {"model": self._model, "jpeg85": self._jpeg}
    for name in self._names:
      calls[name] = self._corruption(
        Condition(name, self._amount.severities[0])
      )
    return {name: _once(call) for name, call in calls.items()}

  def model(self) -> float:
    """Seconds an image of the model alone."""
    return self._per_image(self._model)

  def jpeg(self) -> float:
    """Seconds an image of the codec alone."""
    return self._per_image(self._jpeg)

  def corruptions(self) -> dict[str, list[float]]:
    """Seconds an image of every corruption, by severity."""
    return {
      name: [
        self._per_image(self._corruption(Condition(name, severity)))
        for severity in self._amount.severities
      ]
      for name in self._names
    }

  def put(self) -> float:
    """Seconds an image from the host's memory to the devices."""
    return self._per_image(lambda: devices.put_batch(self._pixels, self._mesh))

  def both(self) -> float:
    """Seconds an image and condition of a whole pass over all conditions."""
    images = len(self.conditions) * self._amount.batch_size
    times = [_once(self._pass) for _ in range(self._amount.repeats)]
    return statistics.median(times) / images

  def _pass(self) -> list[Any]:
    """One batch under all conditions; outputs are fetched a few steps later."""
    batch = devices.put_batch(self._pixels, self._mesh)
    waiting: collections.deque = collections.deque()
    fetched = []
    with concurrent.futures.ThreadPoolExecutor(1) as fetcher:
      for condition in self.conditions:
        images = self._show(batch, None, condition, self._keys(condition))
        outputs = self._predictor(images, top_k.reduce)
        waiting.append(fetcher.submit(_fetch, outputs))
        if len(waiting) > _IN_FLIGHT:
          fetched.append(waiting.popleft().result())
      return fetched + [future.result() for future in waiting]

  def _keys(self, condition: Condition) -> np.ndarray:
    return condition.keys(0, "imagenet_c", self._ids)

  def _model(self) -> Any:
    return self._predictor(self._batch, top_k.reduce)

  def _jpeg(self) -> Any:
    keys = self._keys(Condition())
    return self._show(self._batch, None, Condition(), keys)

  def _corruption(self, condition: Condition) -> Callable[[], Any]:
    keys = self._keys(condition)
    return lambda: self._corrupt(self._batch, None, condition, keys)

  def _per_image(self, call: Callable[[], Any]) -> float:
    """Median seconds of a call over its images; short calls are queued."""
    queued = max(1, min(50, round(_LEAST_S / max(_once(call), 1e-6))))
    times = []
    for _ in range(self._amount.repeats):
      start = time.perf_counter()
      jax.block_until_ready([call() for _ in range(queued)])
      times.append((time.perf_counter() - start) / queued)
    return statistics.median(times) / self._amount.batch_size


def input_seconds(amount: Amount) -> float:
  """Seconds an image of decoding a prepared set of JPEGs, on all cores."""
  with tempfile.TemporaryDirectory() as base:
    folder = pathlib.Path(base, "manual", "val", _WNID)
    folder.mkdir(parents=True)
    for i in range(amount.decoded):
      name = f"ILSVRC2012_val_{i + 1:08d}.JPEG"
      (folder / name).write_bytes(_jpeg_file(i))
    builder = datasets.prepare(
      "imagenet_c",
      "clean",
      codec="raw",
      data_dir=f"{base}/data",
      manual_dir=f"{base}/manual",
      file_format="array_record",
    )
    times = []
    for _ in range(amount.repeats):
      source = inputs.Source(
        builder, "validation", batch_size=amount.batch_size
      )
      times.append(_once(lambda: sum(1 for _ in source.batches())))
  return statistics.median(times) / amount.decoded


def measure(bench: Bench, amount: Amount) -> dict[str, Any]:
  """All numbers: seconds, and seconds an image where the name says so."""
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
    "input_s_an_image": input_seconds(amount),
    "corruption_share": corruption / both,
    "corruption_and_jpeg85_share": (corruption + jpeg) / both,
    "idle_share": 1 - (model + corruption + jpeg) / both,
    "peak_device_bytes": _peak_bytes(),
  }


def table(numbers: dict[str, Any]) -> str:
  """The numbers as text."""
  lines = [f"{'':22s}{'images/s':>12s}{'us an image':>14s}"]

  def add(name: str, seconds: float) -> None:
    lines.append(f"{name:22s}{1 / seconds:12,.0f}{1e6 * seconds:14.2f}")

  for name in ("model", "corruption", "jpeg85", "both", "input", "put"):
    add(name, numbers[f"{name}_s_an_image"])
  lines.append("")
  for name, seconds in numbers["corruptions_s_an_image"].items():
    add(name, seconds)
  compile_s = numbers["compile_s"]
  lines += [
    "",
    f"of both: corruption {numbers['corruption_share']:.1%}, with jpeg85"
    f" {numbers['corruption_and_jpeg85_share']:.1%}, idle"
    f" {numbers['idle_share']:.1%}",
    f"compiling {len(compile_s)} programs one after the other:"
    f" {sum(compile_s.values()):.0f} s, the longest"
    f" {max(compile_s, key=compile_s.__getitem__)}"
    f" {max(compile_s.values()):.0f} s",
  ]
  if numbers["peak_device_bytes"]:
    lines.append(
      f"peak memory of a device {numbers['peak_device_bytes'] / 2**30:.1f} GiB"
    )
  return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
  """Measures, prints, writes."""
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
    f" {amount.batch_size}, {_SIDE_PX}x{_SIDE_PX}, {_CODEC}, severities"
    f" {amount.severities}",
    flush=True,
  )
  for line in left_out:
    print(line, flush=True)
  numbers = measure(Bench(model, names, amount), amount)
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
  """What the flags ask for."""
  count = jax.device_count()
  if small:
    return Amount(batch_size or 2 * count, (3,), repeats or 3, decoded=64)
  return Amount(batch_size or 1024 * count, repeats=repeats or 5)


def _names(asked: str) -> tuple[list[str], list[str]]:
  """The corruptions, and what is said of one that is left out."""
  names = list(conditions.PICTURES.resolve(asked))
  if "frost" in names and not frost_pictures.available():
    names.remove("frost")
    return names, ["frost is left out: its pictures are not here (--frost_dir)"]
  return names, []


def _once(call: Callable[[], Any]) -> float:
  start = time.perf_counter()
  jax.block_until_ready(call())
  return time.perf_counter() - start


def _fetch(outputs: Any) -> dict[str, np.ndarray]:
  return {name: devices.local_rows(value) for name, value in outputs.items()}


def _pictures(rng: np.random.Generator, count: int) -> np.ndarray:
  """uint8 `[count, 224, 224, 3]`: smooth pictures with some noise."""
  smooth = rng.uniform(0, 220, (count, 7, 7, 3)).repeat(32, 1).repeat(32, 2)
  noise = rng.integers(0, 36, (1, _SIDE_PX, _SIDE_PX, 3))
  return (smooth + noise).astype(np.uint8)


def _jpeg_file(seed: int) -> bytes:
  """A JPEG of the usual size of ImageNet's, 500 x 375 px."""
  rng = np.random.default_rng(seed)
  coarse = Image.fromarray(rng.integers(0, 256, (45, 60, 3), np.uint8))
  out = io.BytesIO()
  coarse.resize((500, 375)).save(out, "JPEG", quality=95)
  return out.getvalue()


def _peak_bytes() -> int:
  """The most memory a device held; 0 where it does not count."""
  stats = jax.devices()[0].memory_stats() or {}
  return int(stats.get("peak_bytes_in_use", 0))


if __name__ == "__main__":
  command.run(main, define_flags)

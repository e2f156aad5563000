"""What the evaluator itself costs: reading once, moving, fetching, writing.

  python -m benchmarks.pipeline [--images=1024] [--conditions=20] [--px=224]
      [--batch=64] [--models=1] [--block_mib=32] [--out=FILE.json]

A set of made pictures is written as TFDS writes it (JPEG, TFRecord), and read by
the evaluator's own loop under so many conditions. Nothing is corrupted and the
model is a mean over pixels, so that what is left is what the loop costs beyond
corruption and model. Each stage is also timed alone:

  read       records, without decoding
  decode     JPEG to pixels, in TensorFlow's threads
  batch      pixels to a padded batch
  put        a batch onto the device
  show       the model and its outputs' way back, of one condition
  loop       all of a run: ms CPU an image and condition, and what of that is left
             when a condition more is added (the slope, without the decoding)

The memory is that of a process of its own with 5, 21 and 96 conditions.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow_datasets as tfds

from robust_tfds.conditions import Condition
from robust_tfds.eval import tasks
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.pipeline import predict
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import cells
from robust_tfds.eval.run import models
from robust_tfds.eval.run import progress
from robust_tfds.eval.run import timing
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.classification import Classification

_CLASSES = 1000
_MEMORY = (5, 21, 96)  # conditions


class _Task(Classification):
  """Shows the pictures as they are under every condition."""

  def transform(self, mesh: Any) -> predict.Transform:
    """Nothing is made of them."""
    return predict.unchanged


class _Spec:
  item_axes = 3


class _Model:
  """Logits from the mean of a picture."""

  spec = _Spec()

  def apply(self, variables: jax.Array, images: jax.Array) -> jax.Array:
    """[B, H, W, 3] -> [B, classes]."""
    return images[:, ::64, ::64, 0].mean(axis=(1, 2))[:, None] * variables


def _pictures(count: int, px: int) -> Iterator[tuple[int, dict[str, Any]]]:
  rng = np.random.default_rng(0)
  for i in range(count):
    coarse = rng.integers(0, 256, (px // 16, px // 16, 3), np.uint8)
    example = {
      "image": coarse.repeat(16, axis=0).repeat(16, axis=1),
      "label": i % _CLASSES,
      "example_id": f"ILSVRC2012_val_{i:08d}.JPEG",
      "group_id": f"ILSVRC2012_val_{i:08d}.JPEG",
      "frame": 0,
    }
    yield i, example


def _write(folder: pathlib.Path, count: int, px: int) -> None:
  features = tfds.features.FeaturesDict(
    {
      "image": tfds.features.Image(shape=(px, px, 3), encoding_format="jpeg"),
      "label": tfds.features.ClassLabel(num_classes=_CLASSES),
      "example_id": tfds.features.Text(),
      "group_id": tfds.features.Text(),
      "frame": np.int32,
    }
  )
  tfds.dataset_builders.store_as_tfds_dataset(
    name="made",
    version="1.0.0",
    features=features,
    split_datasets={"test": _pictures(count, px)},
    data_dir=folder,
    disable_shuffling=True,
  )


def _source(folder: pathlib.Path, batch: int, count: int) -> inputs.Source:
  builder = tfds.builder_from_directory(folder / "made" / "1.0.0")
  return inputs.Source(builder, "test", batch_size=batch, limit=count)


def _cpu(work: Callable[[], Any]) -> tuple[float, float]:
  """Seconds of this process's CPU and of the wall."""
  cpu, wall = time.process_time(), time.perf_counter()
  work()
  return time.process_time() - cpu, time.perf_counter() - wall


def _loop(
  folder: pathlib.Path, args: argparse.Namespace, conditions: int
) -> dict[str, float]:
  """One run of the loop; seconds and the reads of each picture."""
  source = _source(folder, args.batch, args.images)
  task = _Task(base.Setting("imagenet_c", "imagenet", "raw"))
  listed = tasks.get("classification").family.select("all", (1, 2, 3, 4, 5))
  where, stages = devices.mesh(), timing.Stages()
  predictor = predict.Predictor(_Model(), np.ones(_CLASSES, np.float32), where)
  loaded = {
    f"m{i}": models.LoadedModel(predictor, _Model.spec, "", "float32")
    for i in range(args.models)
  }
  some = [
    Cell(label, "imagenet_c", condition, 0, "f")
    for label in loaded
    for condition in listed[:conditions]
  ]
  with tempfile.TemporaryDirectory() as workdir:

    def run() -> None:
      with cells.CellMaker(
        task,
        loaded,
        Workdir(pathlib.Path(workdir)),
        where,
        inputs.Host(),
        stages,
        progress.Progress(len(some), 0, 1, stream=io.StringIO()),
        lambda cell, columns: "",
        args.block_mib << 20,
      ) as maker:
        maker.run(some, some, source)

    cpu, wall = _cpu(run)
    size = sum(
      p.stat().st_size for p in pathlib.Path(workdir).rglob("*") if p.is_file()
    )
  took = stages.summary({"made": (source.decoded, source.share)})
  return {
    "cpu_s": cpu,
    "wall_s": wall,
    "reads": source.decoded / args.images,
    "bytes": size / len(some) / args.images,
    "idle_share": float(took.get("idle_share", float("nan"))),  # type: ignore[arg-type]
  }


def _stages(folder: pathlib.Path, args: argparse.Namespace) -> dict[str, float]:
  """ms CPU an image of each stage alone."""
  source, where = _source(folder, args.batch, args.images), devices.mesh()
  examples: list[dict[str, Any]] = []
  read, _ = _cpu(lambda: sum(1 for _ in source.metadata(("image",))))
  both, _ = _cpu(lambda: examples.extend(source.rows()))
  some = examples[: args.batch]
  repeats = 20
  batch = source.batch(some)
  batching, _ = _cpu(lambda: [source.batch(some) for _ in range(repeats)])
  put, _ = _cpu(
    lambda: jax.block_until_ready(
      [devices.put_batch(batch.image, where) for _ in range(repeats)]
    )
  )
  images = devices.put_batch(batch.image, where)
  predictor = predict.Predictor(_Model(), jnp.ones(_CLASSES), where)
  task = _Task(base.Setting("imagenet_c", "imagenet", "raw"))
  reduce = task.reducer(Condition())
  predictor(images, reduce).fetch()

  def show() -> None:
    for _ in range(repeats):
      task.columns(batch, predictor(images, reduce).fetch(), Condition())

  shown, _ = _cpu(show)
  each = 1e3 / args.batch / repeats
  return {
    "read": 1e3 * read / args.images,
    "decode": 1e3 * (both - read) / args.images,
    "batch": batching * each,
    "put": put * each,
    "show": shown * each,
  }


def _peak_mib(
  folder: pathlib.Path, args: argparse.Namespace, count: int
) -> int:
  """Peak memory of the loop in a process of its own, MiB."""
  command = [sys.executable, "-m", "benchmarks.pipeline", f"--folder={folder}"]
  command += [f"--{k}={getattr(args, k)}" for k in _NUMBERS]
  done = subprocess.run(
    [*command, f"--conditions={count}", "--only_memory"],
    capture_output=True,
    text=True,
    check=True,
  )
  return int(done.stdout.split()[-1])


_NUMBERS = ("images", "px", "batch", "models", "block_mib")


def main() -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--images", type=int, default=1024)
  parser.add_argument("--conditions", type=int, default=20)
  parser.add_argument("--px", type=int, default=224)
  parser.add_argument("--batch", type=int, default=64)
  parser.add_argument("--models", type=int, default=1)
  parser.add_argument("--block_mib", type=int, default=32)
  parser.add_argument("--out", default="")
  parser.add_argument("--folder", default="")
  parser.add_argument("--only_memory", action="store_true")
  args = parser.parse_args()
  if args.only_memory:
    _loop(pathlib.Path(args.folder), args, args.conditions)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    return
  with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(args.folder or place)
    _write(folder, args.images, args.px)
    result = _measured(folder, args)
  if args.out:
    pathlib.Path(args.out).write_text(json.dumps(result, indent=1))


def _measured(folder: pathlib.Path, args: argparse.Namespace) -> dict[str, Any]:
  stages = _stages(folder, args)
  print(
    f"{args.images} pictures of {args.px} px, batches of {args.batch},"
    f" {os.cpu_count()} cores"
  )
  for name, value in stages.items():
    print(f"  {name:<8}{value:8.3f} ms CPU an image")
  _loop(folder, args, 2)  # compiles
  few = _loop(folder, args, 2)
  many = _loop(folder, args, args.conditions)
  shown = args.images * args.models
  whole = 1e3 * many["cpu_s"] / shown / args.conditions
  slope = (many["cpu_s"] - few["cpu_s"]) / (args.conditions - 2) / shown * 1e3
  print(
    f"  loop    {whole:8.3f} ms CPU an image and condition"
    f" ({args.conditions} conditions; one more: {slope:.3f});"
    f" {many['wall_s']:.1f} s"
  )
  print(f"  each picture was decoded {many['reads']:.2f} times")
  print(f"  {many['bytes']:.1f} bytes an example and cell on disk")
  memory = {c: _peak_mib(folder, args, c) for c in _MEMORY}
  for count, mib in memory.items():
    print(f"  {count:>3} conditions: peak {mib} MiB")
  return {
    "stages_ms": stages,
    "loop_ms": whole,
    "slope_ms": slope,
    "run": many,
    "peak_mib": memory,
  }


if __name__ == "__main__":
  main()

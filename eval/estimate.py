"""What a run would do, and about how long: measured, without touching anything."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from collections.abc import Sequence

import jax
import numpy as np

import models
from eval import devices
from eval import plan as plan_lib
from eval import tasks
from eval.progress import duration

_PROBED = ("gaussian_noise", "defocus_blur", "zoom_blur", "brightness")


def describe(plan: plan_lib.Plan) -> str:
  """The cells, the work and an estimate as text.

  Compiles each model and a few corruptions and times one batch of random
  pixels; reads no data set, no checkpoint and writes nothing.
  """
  size = plan_lib.image_px(plan)
  batch = plan.config.batch_size
  examples = plan_lib.examples(plan)
  corrupted = [c for c in plan.conditions if c.corruption]
  lines = [
    f"{plan.dataset}: {len(plan.conditions)} conditions (clean +"
    f" {len(plan.corruptions)} corruptions) x {len(plan.models)} models ="
    f" {plan.cells} cells, edition {plan.edition},"
    f" {_how(plan)}",
  ]
  for condition in plan.conditions:
    lines.append(f"  {condition.config}: {', '.join(plan.models)}")
  task = tasks.get(plan.task)
  per_image, corruption = {}, 0.0
  for label, entry in plan.models.items():
    per_image[label] = _model_seconds(plan, entry, _shape(plan, entry, size))
  shown = sum(task.frames(c, plan.edition) for c in plan.conditions)
  shown *= plan.config.data.get("views", 1)
  total = sum(per_image.values()) * shown
  measured = ", ".join(f"{k} {1e3 * v:.2f} ms" for k, v in per_image.items())
  what = "clip" if hasattr(task, "per_model") else "image"
  if hasattr(task, "per_model"):
    measured += "; decoding and perturbing come on top, and were not measured"
  elif plan.config.data.source == "fly" and corrupted:
    corruption = _corruption_seconds(plan, corrupted, size)
    measured += f"; corruption of an example {1e3 * corruption:.2f} ms"
    total += corruption * len(corrupted)
  lines.append(
    f"measured here on one batch of {batch} random {what}s, per {what}:"
    f" {measured} ({jax.device_count()} {jax.devices()[0].platform} device(s))"
  )
  if examples is None:
    lines.append(
      f"estimate: {duration(1000 * total)} for every 1,000 examples; their"
      " number is known once the data set is prepared"
    )
  else:
    work = examples * shown * len(plan.models)
    lines.append(
      f"estimate: {examples:,} examples a cell, {work:,} {what}s in all: about"
      f" {duration(examples * total)} after compilation"
    )
  return "\n".join(lines)


def _how(plan: plan_lib.Plan) -> str:
  """Where corrupted pixels come from."""
  if not plan.corruptions:
    return "not corrupted"
  fly = plan.config.data.source == "fly"
  return "corrupted on the fly" if fly else "prepared"


def _seconds(call: Callable[[], object], images: int) -> float:
  jax.block_until_ready(call())
  start = time.perf_counter()
  jax.block_until_ready(call())
  return (time.perf_counter() - start) / images


def _shape(plan: plan_lib.Plan, entry, size: int) -> tuple[int, ...]:
  """Of what a model is shown: a batch of images, or of clips."""
  spec = models.get(entry.name).spec
  return spec.batch_shape(plan.config.batch_size, size)


def _model_seconds(plan: plan_lib.Plan, entry, shape: tuple[int, ...]) -> float:
  task = tasks.get(plan.task)
  model = models.get(entry.name, num_classes=entry.get("num_classes") or None)
  variables = jax.jit(model.init)(jax.random.key(0))
  images = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
  rows = [images]
  if getattr(task, "SIZED", False):
    rows.append(np.tile(np.array(shape[1:3], np.int32), (shape[0], 1)))
  step = jax.jit(model.apply)
  return _seconds(lambda: step(variables, *rows), shape[0])


def _corruption_seconds(
  plan: plan_lib.Plan, corrupted: Sequence[tasks.Condition], size: int
) -> float:
  """Mean over a few conditions that stand for the others."""
  from robust_tfds.corruptions import seeding

  where = devices.mesh()
  shape = (plan.config.batch_size, size, size, 3)
  images = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
  sizes = devices.put_batch(
    np.tile(np.array([size, size], np.int32), (len(images), 1)), where
  )
  codec = plan.config.data.codec
  transform = tasks.get(plan.task).transform(where, plan.edition, codec)
  ids = [str(i) for i in range(len(images))]
  keys = seeding.example_keys(plan.seed, plan.dataset, "plan", 1, ids)
  probed = [c for c in corrupted if c.corruption in _PROBED] or corrupted
  probed = list({c.corruption: c for c in probed}.values())[:3]
  batch = devices.put_batch(images, where)
  times = [
    _seconds(functools.partial(transform, batch, sizes, c, keys), len(images))
    for c in probed
  ]
  return float(np.mean(times))

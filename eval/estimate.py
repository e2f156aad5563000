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
  rng = np.random.default_rng(0)
  images = rng.integers(0, 256, (batch, size, size, 3), np.uint8)
  per_image = {}
  for label, entry in plan.models.items():
    per_image[label] = _model_seconds(entry, plan, images)
  task = tasks.get(plan.task)
  shown = sum(task.frames(c, plan.edition) for c in plan.conditions)
  total = sum(per_image.values()) * shown
  measured = ", ".join(f"{k} {1e3 * v:.2f} ms" for k, v in per_image.items())
  if plan.config.data.source == "fly" and corrupted:
    corruption = _corruption_seconds(plan, corrupted, images)
    measured += f"; corruption of an example {1e3 * corruption:.2f} ms"
    total += corruption * len(corrupted)
  lines.append(
    f"measured here on one batch of {batch} random {size}x{size} images, per"
    f" image: {measured} ({jax.device_count()} {jax.devices()[0].platform}"
    " device(s))"
  )
  if examples is None:
    lines.append(
      f"estimate: {duration(1000 * total)} for every 1,000 examples; their"
      " number is known once the data set is prepared"
    )
  else:
    work = examples * shown * len(plan.models)
    lines.append(
      f"estimate: {examples:,} examples a cell, {work:,} images in all: about"
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


def _model_seconds(entry, plan: plan_lib.Plan, images: np.ndarray) -> float:
  model = models.get(entry.name, num_classes=entry.get("num_classes") or None)
  variables = jax.jit(model.init)(jax.random.key(0))
  step = jax.jit(model.apply)
  return _seconds(lambda: step(variables, images), len(images))


def _corruption_seconds(
  plan: plan_lib.Plan, corrupted: Sequence[tasks.Condition], images: np.ndarray
) -> float:
  """Mean over a few conditions that stand for the others."""
  from robust_tfds.corruptions import seeding

  where = devices.mesh()
  codec = plan.config.data.codec
  transform = tasks.get(plan.task).transform(where, plan.edition, codec)
  ids = [str(i) for i in range(len(images))]
  keys = seeding.example_keys(plan.seed, plan.dataset, "plan", 1, ids)
  probed = [c for c in corrupted if c.corruption in _PROBED] or corrupted
  probed = list({c.corruption: c for c in probed}.values())[:3]
  batch = devices.put_batch(images, where)
  times = [
    _seconds(functools.partial(transform, batch, None, c, keys), len(images))
    for c in probed
  ]
  return float(np.mean(times))

"""What a run would do, and about how long: measured, without touching anything."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import jax
import numpy as np

import models
from eval import plan as plan_lib
from eval import tasks
from eval.progress import duration

_PROBED = ("gaussian_noise", "defocus_blur", "brightness")


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
    f" {'corrupted on the fly' if plan.config.data.source == 'fly' else 'prepared'}",
  ]
  for condition in plan.conditions:
    lines.append(f"  {condition.config}: {', '.join(plan.models)}")
  rng = np.random.default_rng(0)
  images = rng.integers(0, 256, (batch, size, size, 3), np.uint8)
  per_image = {}
  for label, entry in plan.models.items():
    per_image[label] = _model_seconds(entry, plan, images)
  total = sum(per_image.values()) * len(plan.conditions)
  if plan.config.data.source == "fly" and corrupted:
    per_image["corruption"] = _corruption_seconds(plan, images)
    total += per_image["corruption"] * len(corrupted)
  measured = ", ".join(f"{k} {1e3 * v:.2f} ms" for k, v in per_image.items())
  lines.append(
    f"measured here on one batch of {batch} random {size}x{size} images, per"
    f" image: {measured} ({jax.device_count()} {jax.devices()[0].platform}"
    " device(s))"
  )
  if examples is None:
    lines.append(
      f"estimate: {duration(1000 * total)} for every 1,000 images; their number"
      " is known once the data set is prepared"
    )
  else:
    lines.append(
      f"estimate: {examples:,} images a cell, {examples * plan.cells:,} in all:"
      f" about {duration(examples * total)} after compilation"
    )
  return "\n".join(lines)


def _seconds(call: Callable[[], object], images: int) -> float:
  jax.block_until_ready(call())
  start = time.perf_counter()
  jax.block_until_ready(call())
  return (time.perf_counter() - start) / images


def _model_seconds(entry, plan: plan_lib.Plan, images: np.ndarray) -> float:
  model = models.get(entry.name, num_classes=entry.get("num_classes") or None)
  variables = jax.jit(model.init)(jax.random.key(0))
  reduce = tasks.get(plan.task).reducer(tasks.Condition())
  step = jax.jit(lambda v, x: reduce(model.apply(v, x)))
  return _seconds(lambda: step(variables, images), len(images))


def _corruption_seconds(plan: plan_lib.Plan, images: np.ndarray) -> float:
  from robust_tfds import corruptions
  from robust_tfds.corruptions import seeding

  ids = [str(i) for i in range(len(images))]
  keys = seeding.example_keys(plan.seed, plan.dataset, "plan", 1, ids)
  probed = [n for n in _PROBED if n in plan.corruptions] or plan.corruptions[:1]
  times = []
  for name in probed:
    call = functools.partial(
      corruptions.corrupt_batch,
      images,
      name,
      3,
      edition=plan.edition,
      keys=jax.numpy.asarray(keys),
    )
    times.append(_seconds(call, len(images)))
  return float(np.mean(times))

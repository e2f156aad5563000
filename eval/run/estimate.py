"""What a run would do, and about how long: measured, without touching anything."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from robust_tfds import models
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import data as data_lib
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run import publish
from robust_tfds.eval.run.progress import duration

_PROBED = ("gaussian_noise", "defocus_blur", "zoom_blur", "brightness")


def describe(plan: plan_lib.Plan, workdir: Workdir | None = None) -> str:
  """The cells, the work and an estimate as text.

  Compiles each model and a few corruptions and times one batch of random
  pixels; reads no data set, no checkpoint and writes nothing.

  Args:
    plan: of the run.
    workdir: where it would run, whose data folder is looked into.
  """
  lines = [
    f"{plan.dataset}: {len(plan.conditions)} conditions (clean +"
    f" {len(plan.names)} {plan.task.facts.noun}s) x {len(plan.models)} models ="
    f" {len(plan.cells)} cells, edition {plan.task.setting.edition or 'none'},"
    f" {publish.how(plan)}",
  ]
  for condition in plan.conditions:
    lines.append(f"  {condition.config}: {', '.join(plan.models)}")
  per_image = {
    label: _model_seconds(plan, entry) for label, entry in plan.models.items()
  }
  corruption = _corruption_seconds(plan)
  lines.append(_measured(plan, per_image, corruption))
  num_images = sum(plan.task.images_per_example(c) for c in plan.conditions)
  corrupted = sum(not c.clean for c in plan.conditions)
  seconds = sum(per_image.values()) * num_images
  seconds += (corruption or 0.0) * corrupted
  lines.append(_estimate(plan, workdir, num_images, seconds))
  return "\n".join(lines)


def _measured(
  plan: plan_lib.Plan, per_image: dict[str, float], corruption: float | None
) -> str:
  unit = plan.task.unit
  text = ", ".join(f"{k} {1e3 * v:.2f} ms" for k, v in per_image.items())
  if plan.task.per_model:
    text += "; decoding and perturbing come on top, and were not measured"
  elif corruption is not None:
    text += f"; corruption of an example {1e3 * corruption:.2f} ms"
  return (
    f"measured here on one batch of {plan.config.batch_size} random {unit}s,"
    f" per {unit}: {text} ({jax.device_count()} {jax.devices()[0].platform}"
    " device(s))"
  )


def _estimate(
  plan: plan_lib.Plan,
  workdir: Workdir | None,
  num_images: int,
  seconds: float,
) -> str:
  """The line of the whole run.

  Args:
    plan: of the run.
    workdir: where it would run.
    num_images: that one example shows to a model in all conditions.
    seconds: that one example takes.
  """
  examples = data_lib.num_examples(plan, workdir)
  if examples is None:
    return (
      f"estimate: {duration(1000 * seconds)} for every 1,000 examples; their"
      " number is known once the data set is prepared"
    )
  work = examples * num_images * len(plan.models)
  return (
    f"estimate: {examples:,} examples a cell, {work:,} {plan.task.unit}s in"
    f" all: about {duration(examples * seconds)} after compilation"
  )


def _seconds(call: Callable[[], object], images: int) -> float:
  jax.block_until_ready(call())
  start = time.perf_counter()
  jax.block_until_ready(call())
  return (time.perf_counter() - start) / images


def _model_seconds(plan: plan_lib.Plan, entry: Any) -> float:
  model = models.get(entry.name, num_classes=entry.get("num_classes") or None)
  variables = jax.jit(model.init)(jax.random.key(0))
  side = plan_lib.image_px(plan)
  shape = model.spec.batch_shape(plan.config.batch_size, side)
  rows = [np.random.default_rng(0).integers(0, 256, shape, np.uint8)]
  if plan.task.sized:
    rows.append(np.tile(np.array(shape[1:3], np.int32), (shape[0], 1)))
  step = jax.jit(model.apply)
  return _seconds(lambda: step(variables, *rows), shape[0])


def _corruption_seconds(plan: plan_lib.Plan) -> float | None:
  """Mean over a few conditions that stand for the others; None: none is made."""
  corrupted = [c for c in plan.conditions if not c.clean]
  if not corrupted or not plan.fly or plan.task.per_model:
    return None
  side, count = plan_lib.image_px(plan), plan.config.batch_size
  mesh = devices.mesh()
  images = np.random.default_rng(0).integers(
    0, 256, (count, side, side, 3), np.uint8
  )
  sizes = np.tile(np.array([side, side], np.int32), (count, 1))
  batch, valid = (devices.put_batch(a, mesh) for a in (images, sizes))
  if plan.config.data.get("frost_dir"):
    frost_pictures.use_folder(plan.config.data.frost_dir)
  transform = plan.task.transform(mesh)
  ids = [str(i) for i in range(count)]
  times = [
    _seconds(
      functools.partial(
        transform, batch, valid, c, c.keys(plan.seed, plan.dataset, ids)
      ),
      count,
    )
    for c in _probed(corrupted)
  ]
  return float(np.mean(times))


def _probed(corrupted: Sequence[Condition]) -> list[Condition]:
  """At most three conditions of different names."""
  known = [c for c in corrupted if c.name in _PROBED] or list(corrupted)
  return list({c.name: c for c in known}.values())[:3]

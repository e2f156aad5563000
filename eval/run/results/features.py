"""Features of a run's models: its data once more through the models' layers.

The cells of a run hold predictions alone, and their fingerprints go without
features; so these are made after the run, from its config, weights and data, by the
same readers and programs, and lie in a folder of their own (`files/features.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from etils import epath

from eval.cells.files.features import Features
from eval.cells.workdir import Workdir
from eval.pipeline import blocks, inputs, predict
from eval.run import data as data_lib
from eval.run import plan as plan_lib
from eval.run.execution import timing
from eval.run.model import load
from models.model import Model
from robust_tfds import devices, errors, hosts, missing
from robust_tfds.conditions import Condition

_Columns = dict[str, np.ndarray]


def compute(
  path: epath.Path, layers: Sequence[str], conditions: Sequence[str], limit: int
) -> Iterator[Features]:
  """Yield the features of every model of a run, condition by condition.

  Args:
    path: its workdir.
    layers: names of `Model.layers`, or `features`; see `models.capture`.
    conditions: config names; none: all of the run.
    limit: the first so many examples; 0: the run's.

  Raises:
    UserError: no workdir, an unknown layer or condition, a model without layers,
      features that are no finite numbers.
    MissingError: data or weights that are not here.
  """
  workdir = Workdir(path)
  config = workdir.config()
  if limit:
    config.data.limit = limit
  plan = plan_lib.make(config)
  if lacks := [*plan.lacks, *data_lib.lacks(plan, workdir)]:
    raise missing.MissingError(*lacks)
  mesh, host = devices.mesh(), hosts.this_host()
  data = data_lib.Data(plan, workdir, host, timing.Stages())
  chosen = _chosen(plan, conditions)
  for label in plan.models:
    plan.model(label).check_capture(layers)
  models = {
    label: _Captured(
      plan.model(label),
      load.variables_of(plan, label, data.clean, workdir, host),
      layers,
      mesh,
    )
    for label in plan.models
  }
  classes = [names[0] for names in plan.class_names()]
  for source, of_source in _group_by_source(data, chosen).items():
    columns = _pass(plan, source, of_source, models, mesh)
    for (label, condition), parts in columns.items():
      whole = {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}
      kept = models[label].cut(whole.pop("features"))
      where = path.name, label, condition.config
      examples = whole["example_id"], whole["label"]
      yield Features(*where, *examples, kept, classes)


class _Captured:
  """A model that answers with its layers, on the devices."""

  def __init__(
    self, model: Model, variables: Any, layers: Sequence[str], mesh: Any
  ):
    self.spec, self._model, self._layers = model.spec, model, layers
    self._widths: list[int] = []
    self.predictor = predict.Predictor(self, variables, mesh)

  def apply(self, variables: Any, batch: jax.Array) -> jax.Array:
    """Return all layers one after the other, float32 `[B, channels]`."""
    _, kept = self._model.apply(variables, batch, capture=self._layers)
    arrays = [kept[name] for name in self._layers]
    self._widths = [x.shape[1] for x in arrays]
    return jnp.concatenate(arrays, axis=1)

  def cut(self, features: np.ndarray) -> dict[str, np.ndarray]:
    """Split the result of `apply` into its layers."""
    ends = np.cumsum(self._widths)[:-1]
    return dict(zip(self._layers, np.split(features, ends, axis=1)))


def _mean(features: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """Return means over an example's clips or frames; see `predict.Reduce`."""
  rows = features.reshape(len(features), -1, features.shape[-1])
  return {"features": rows.mean(axis=1)}


def _chosen(
  plan: plan_lib.Plan, conditions: Sequence[str]
) -> Sequence[Condition]:
  known = {c.config: c for c in plan.conditions}
  for name in conditions:
    if name not in known:
      raise errors.unknown_error("condition of the run", name, known)
  return [known[name] for name in conditions or known]


def _group_by_source(
  data: data_lib.Data, conditions: Sequence[Condition]
) -> dict[inputs.Source, list[Condition]]:
  out: dict[inputs.Source, list[Condition]] = {}
  for condition in conditions:
    out.setdefault(data.source(condition), []).append(condition)
  return out


def _pass(
  plan: plan_lib.Plan,
  source: inputs.Source,
  conditions: Sequence[Condition],
  models: Mapping[str, _Captured],
  mesh: Any,
) -> dict[tuple[str, Condition], list[_Columns]]:
  """Show every example once, under each condition to each model."""
  specs = {label: model.spec for label, model in models.items()}
  reader = plan.task.reader(source, conditions, specs)
  show = plan.task.show(mesh, specs)
  out: dict[tuple[str, Condition], list[_Columns]] = {}
  with blocks.Blocks(
    reader,
    [(0, source.share)],
    batch_size=source.batch_size,
    block_rows=max(source.share, 1),
    block_nbytes=plan.config.data.block_mib << 20,
  ) as steps:
    for step in steps:
      if (batch := step.batch) is None:
        continue
      placed = show.put(batch)
      labels = devices.put_batch(batch.label, mesh)
      for condition in conditions:
        for label, model in models.items():
          images, _ = show.see(placed, condition, model.spec)
          given = model.predictor(images, labels, _mean).fetch()
          key = label, condition
          out.setdefault(key, []).append(_columns(key, batch, given))
      steps.release(step)
  return out


def _columns(
  key: tuple[str, Condition],
  batch: inputs.Batch,
  outputs: Mapping[str, np.ndarray],
) -> _Columns:
  valid = batch.mask
  if not outputs["finite"][valid].all():
    raise errors.UserError(
      f"{key[0]} gives NaN or infinite features on {key[1].config}. Check the"
      " checkpoint and the dtype."
    )
  return {
    "example_id": np.array(batch.example_id, np.str_)[valid],
    "label": batch.label[valid],
    "features": outputs["features"][valid],
  }

"""The models of a run: loaded or trained, and put on the devices."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from jax.sharding import Mesh

from robust_tfds import errors
from robust_tfds import models
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.pipeline import predict
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import data as data_lib
from robust_tfds.eval.run import hosts
from robust_tfds.eval.run import train
from robust_tfds.eval.run.plan import Plan


@dataclasses.dataclass
class LoadedModel:
  """A model on the devices and what its numbers depend on.

  Attributes:
    predictor: runs it.
    spec: its preprocessing and labels.
    weights: sha256 of its variables.
    dtype: that it computes in.
  """

  predictor: predict.Predictor
  spec: Any
  weights: str
  dtype: str


def load(
  plan: Plan,
  label: str,
  clean: inputs.Source,
  workdir: Workdir,
  mesh: Mesh,
  host: inputs.Host,
) -> LoadedModel:
  """A model of the plan with its weights.

  Raises:
    UserError: a model of another label space, or a checkpoint that does not fit.
  """
  entry = plan.models[label]
  dtype = entry.get("dtype") or "float32"
  model = _definition(entry, dtype)
  _check_classes(plan, label, model, clean)
  if entry.get("train"):
    variables = hosts.on_first_host(
      host,
      f"train {label}",
      lambda: train.load_or_train(
        model,
        entry.train,
        workdir.model_folder(label),
        data_dir=str(data_lib.data_dir(plan, workdir)),
      ),
    )
  elif ":" in entry.name and not entry.get("checkpoint"):
    variables = model.init(jax.random.key(plan.seed))
  else:
    variables = models.convert.load(
      entry.name,
      entry.checkpoint,
      num_classes=entry.get("num_classes") or None,
    )
  return LoadedModel(
    predict.Predictor(model, variables, mesh),
    model.spec,
    provenance.weights_sha256(variables),
    dtype,
  )


def _definition(entry: Any, dtype: str) -> Any:
  model: Any = models.get(
    entry.name, num_classes=entry.get("num_classes") or None, dtype=dtype
  )
  if entry.get("short_px"):  # another resize rule than the published one
    rule = {"short_px": entry.short_px, "long_px": entry.long_px}
    resized = dataclasses.replace(model.spec, **rule)
    model = dataclasses.replace(model, spec=resized)
  return model


def _check_classes(
  plan: Plan, label: str, model: Any, clean: inputs.Source
) -> None:
  features = clean.builder.info.features
  classes = plan.task.label_feature(features).num_classes
  if model.spec.num_classes not in plan.task.model_classes(classes):
    raise errors.UserError(
      f"Wrong label space: {label} has {model.spec.num_classes} classes"
      f" ({model.spec.label_space}), {clean.builder.info.name} has {classes}."
      " Use a model of that label space."
    )

"""The models of a run that adapt: made from their method, or refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval.cells.workdir import Workdir
from eval.pipeline import adapting, inputs, probabilities, streams
from eval.run import adapt as adapt_lib
from eval.run import data as data_lib
from eval.run.execution import progress
from eval.run.plan import Plan
from models import adaptation
from models.adaptation import network
from models.model import Model, NetworkModel
from robust_tfds import datasets, errors, strings


def predictor(
  plan: Plan,
  label: str,
  kind: probabilities.OutputKind,
  variables: Any,
  clean: inputs.Source,
  workdir: Workdir,
  mesh: Mesh,
) -> adapting.AdaptingPredictor | None:
  """Return what runs a model that adapts; None of others.

  Raises:
    UserError: the model, the method or its pictures cannot be used.
  """
  adapt = plan.models[label].adapt
  if adapt is None:
    return None
  from models.adapters.onnx_graph import opened as graph

  model = plan.model(label)
  if opened := graph.Opened.from_model(model):
    model, variables = opened
  _check(label, adapt, model, kind, clean)
  method = method_of(adapt, model)
  pictures = None
  if method.needs_clean:
    pictures = _clean_pictures(plan, label, adapt, clean, workdir)
  with errors.prefixed(label):
    return adapting.AdaptingPredictor(
      method,
      variables,
      mesh,
      clean=pictures,
      seed=adapt.seed,
      shared=adapt.is_sequential,
      episodic=adapt.setting == "episodic",
      least=2 if method.by_batch and _has_batch_norms(model, variables) else 1,
    )


def check(plan: Plan, label: str) -> None:
  """Refuse what a method cannot adapt, before weights and pictures are read.

  Raises:
    UserError: begins with the label.
  """
  model, adapt = plan.model(label), plan.adapts[label]
  _check_traced(label, model)
  method = method_of(adapt, model)
  if method.needs_clean:
    _clean_place(label, adapt)
  elif isinstance(model, NetworkModel):
    variables = jax.eval_shape(model.init, jax.random.key(0))
    with errors.prefixed(label):
      jax.eval_shape(method.init, variables)


def method_of(adapt: adapt_lib.Adapt, model: Model) -> Any:
  """Return the method with its hyperparameters.

  Raises:
    UserError: an unknown hyperparameter, or one out of range.
  """
  kind = adaptation.get(adapt.method)
  known = [f.name for f in dataclasses.fields(kind) if f.name != "model"]
  for name in adapt.hyperparameters:
    if name not in known:
      unknown = errors.unknown_error("hyperparameter", name, known)
      raise errors.UserError(f"config.adapt.hyperparameters: {unknown}")
  with errors.prefixed("config.adapt.hyperparameters"):
    return kind(model, **adapt.hyperparameters)


def facts(adapt: adapt_lib.Adapt, adapter: Any) -> dict[str, Any]:
  """Return how a model adapts, as facts of its cells.

  Devices are one: sums differ in the last bit between numbers of them.

  Args:
    adapter: from `predictor`.
  """
  out = {**adapt.facts(), "devices": adapter.devices}
  if chosen := getattr(adapter.method, "chosen", None):
    moment = f" momentum {chosen.momentum:g}" if chosen.kind == "sgd" else ""
    nesterov = " nesterov" * chosen.nesterov
    words = f"{chosen.kind} {chosen.learning_rate:g}{moment}{nesterov}"
    out["optimizer"] = words
  if adapter.method.needs_clean:
    out["further_pictures"] = f"{adapter.clean:,} of {adapt.clean}"
    out |= {"test_twins": True} if adapt.clean == adapt_lib.TEST else {}
  return out


def _check(
  label: str,
  adapt: adapt_lib.Adapt,
  model: Model,
  kind: probabilities.OutputKind,
  clean: inputs.Source,
) -> None:
  """Refuse what cannot adapt."""
  if jax.process_count() > 1:
    raise errors.UserError(
      f"{label}: got {jax.process_count()} hosts, expected one: a batch is one"
      " computation. Start the command on a single host."
    )
  _check_traced(label, model)
  if kind.name != probabilities.LOGITS:
    raise errors.UserError(
      f"{label} answers with {kind.name}, and adaptation needs logits. Leave out the"
      " model's last softmax."
    )
  if None in clean.shape:
    raise errors.UserError(
      f"{label}: the pictures of {clean.builder.info.full_name} vary in size, and"
      " a batch that adapts has one. Set --config.data.geometry, e.g. model."
    )


def _check_traced(label: str, model: Model) -> None:
  if model.on_host:
    raise errors.UserError(
      f"{label} runs on the host ({model.route or 'a plain function'}), where its"
      " norms cannot be reached. Adapt a network of models.names(), an nnx module,"
      " or a torch module by the traced route."
    )


def _has_batch_norms(model: Model, variables: Any) -> bool:
  layers = network.norms(model, variables).values()
  return any(isinstance(layer, network.BATCH_NORMS) for layer in layers)


def check_batches(
  label: str, adapt: adapt_lib.Adapt, adapter: Any, total: int
) -> None:
  """Refuse batches that are too small for a model's batch norms.

  Args:
    adapter: from `predictor`.
    total: pictures that it is shown one after the other.
  """
  if (total % adapt.batch_size or adapt.batch_size) >= adapter.least:
    return
  got, do = "batch_size 1", "a larger adapt.batch_size"
  if adapt.batch_size > 1:
    got = (
      f"a last batch of 1 ({total:,} pictures in batches of {adapt.batch_size})"
    )
    do = "adapt.last_batch='drop', another adapt.batch_size"
  raise errors.UserError(
    f"{label}: got {got}, expected at least 2 pictures: {adapt.method} has batch"
    f" norms normalise by the batch alone. Use {do}, bn_alpha, bn_ema or"
    " bn_cumulative, or a network with GroupNorm or LayerNorm."
  )


def _clean_pictures(
  plan: Plan,
  label: str,
  adapt: adapt_lib.Adapt,
  clean: inputs.Source,
  workdir: Workdir,
) -> np.ndarray:
  """Return the named clean pictures, as the model takes them: uint8 `[N, ...]`."""
  place, source = _clean_place(label, adapt), clean
  if place != adapt_lib.TEST:
    source = _opened(plan, place, clean, workdir)
  count = min(adapt.clean_examples, source.total)
  stream = streams.Stream("reset", seed=adapt.seed)
  rows = source.ordered(stream).rows(0, count)
  pictures = np.stack([np.asarray(row[source.pixels]) for row in rows])
  if pictures.shape[1:] != clean.shape:
    raise errors.UserError(
      f"{label}: pictures of {adapt.clean} have shape {pictures.shape[1:]}, the"
      f" test set's {clean.shape}. Name a set of the same pictures."
    )
  return pictures


def _clean_place(label: str, adapt: adapt_lib.Adapt) -> str:
  """Return where clean pictures are; refuse an adaptation that names none."""
  if not adapt.clean:
    raise errors.UserError(
      f"{label}: {adapt.method} needs clean pictures, and none are named. Set"
      " adapt.clean to DATASET:SPLIT, e.g. a training set, or to"
      f" {adapt_lib.TEST!r} for the clean twins of the test pictures, which every"
      " row then says."
    )
  return adapt.clean


def _opened(
  plan: Plan, place: str, test: inputs.Source, workdir: Workdir
) -> inputs.Source:
  """Return the named set.

  Raises:
    UserError: it is none, or has pictures of the test set.
  """
  name, _, split = place.rpartition(":")
  with errors.prefixed("config.adapt.clean"):
    if not name:
      raise errors.UserError(
        f"got {place!r}, expected DATASET:SPLIT, or {adapt_lib.TEST!r}."
      )
    kind = datasets.builder_class(name)
    builder = datasets.prepare(
      kind,
      "clean" if kind.CODECS else "",
      data_dir=data_lib.data_dir(plan, workdir),
      manual_dir=plan.config.data.manual_dir or None,
      say=progress.say,
    )
    source = inputs.Source(builder, split, batch_size=test.batch_size)
  shared = _ids(source) & _ids(test)
  if shared and name in (plan.dataset, test.builder.name):
    raise errors.UserError(
      f"config.adapt.clean: {place} has {len(shared):,} of the test pictures, e.g."
      f" {min(shared)!r}. Name other pictures, or {adapt_lib.TEST!r}, which marks"
      " the rows."
    )
  return source


def _ids(source: inputs.Source) -> set[str]:
  return {
    strings.text(e["example_id"]) for e in source.metadata(source.pictures)
  }

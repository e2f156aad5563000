"""A training from its config to its weights."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from etils import epath

import models
from models import catalogue, weights_file
from models.detection.detector import Detector
from models.model import NetworkModel
from models.training import data, disclosure, handover, initial, recipes
from models.training import workdir as workdir_lib
from models.training.config import Config
from models.training.data import crops, examples
from models.training.data.source import TRAIN, VALIDATION
from models.training.disclosure import Disclosure
from models.training.monitoring import closing, sheet, tensorboard
from models.training.optimization.checkpoints import Checkpoints
from models.training.optimization.loop import Loop, Say
from models.training.optimization.metrics import FILE as METRICS
from models.training.optimization.metrics import Metrics
from models.training.recipes import base
from robust_tfds import (
  datasets,
  errors,
  hosts,
  reading,
  step_lines,
  version,
)

if TYPE_CHECKING:
  from models.training.monitoring.report import Report

_MEET_S = 6 * 3600  # time for all hosts to read their data for the checksums
_LEARNS_FROM: Mapping[str, str] = {
  "classification": examples.PICTURES,
  "video": examples.VIDEOS,
  "detection": examples.OBJECTS,
  "segmentation": examples.MASKS,
}


@dataclasses.dataclass(frozen=True)
class Prepared:
  """The parts of a training that a config names, before the first step."""

  config: Config
  model: NetworkModel
  recipe: base.Recipe
  source: data.Source
  variables: Any
  head: str = ""

  def disclosure(
    self, steps: int, weights: str, weights_ema: str = ""
  ) -> Disclosure:
    """Return the disclosure of the trained network.

    Args:
      steps: number of training steps.
      weights: sha256 of weights.npz.
      weights_ema: sha256 of weights_ema.npz; empty if there is none.
    """
    config = self.config
    before = disclosure.before_of(config)
    shown = disclosure.seen_conditions(config, self.recipe)
    return Disclosure(
      model=self.model.name,
      classes=[str(name) for name in self.source.classes],
      data=disclosure.data_in_words(config),
      examples=self.source.num_examples,
      conditions=[*shown.names],
      severities=[*shown.levels],
      pictures=self.recipe.disclosure()["pictures"],
      recipe=reading.json_text(json.dumps(config.recipe), "config.recipe"),
      steps=steps,
      batch_size=config.batch_size,
      seed=config.seed,
      checkpoint=os.fspath(config.model.checkpoint or ""),
      before=before.trained_on if before else "",
      known=not config.model.checkpoint
      or bool(before and before.corruptions_seen is not None),
      content=self.source.digest,
      head=self.head,
      initial=weights_file.sha256(jax.tree.map(np.asarray, self.variables)),
      weights=weights,
      weights_ema=weights_ema,
      code=version.VERSION,
    )


def prepare(
  config: Config,
  *,
  model: NetworkModel | None = None,
  data_dir: str = "",
  say: Say = print,
) -> Prepared:
  """Open the data, and create the network and its initial weights.

  Args:
    model: the network to train; None takes the config's.
    data_dir: TFDS data folder, if the config names none.
    say: receives a line if a set is prepared.

  Raises:
    UserError: a name is unknown, the network does not take the data, or the
      held-out rule refuses the recipe.
  """
  recipe = recipes.make_recipe(config.recipe)
  disclosure.check(config, recipe)
  known = model or network(config, None)
  data_settings = data_config(config, data_dir, known)
  source = data.open(data_settings, say, additions=recipe)
  model = model or network(config, len(source.classes))
  if source.kind != _LEARNS_FROM[model.kind]:
    raise errors.UserError(
      f"config.data.source: got {config.data.source!r}, a set of {source.kind};"
      f" {model.name} learns from {_LEARNS_FROM[model.kind]}."
    )
  _check_pictures(config, model, recipe, source)
  first = initial.load_initial(config, model, source.classes, say)
  return Prepared(
    config, first.model, recipe, source, first.variables, first.head
  )


def _check_pictures(
  config: Config,
  model: NetworkModel,
  recipe: base.Recipe,
  source: data.Source,
) -> None:
  """Refuse sizes of pictures that fit no batch, network or crop."""
  parts = [TRAIN, VALIDATION] if config.data.validation else [TRAIN]
  sizes = {part: size for part in parts if (size := source.shape(part))}
  side = model.spec.fixed_px if sizes else None
  for part, (height, width) in sizes.items():
    if side and (height, width) != (side, side):
      raise errors.UserError(
        f"config.data.geometry: pictures of {part} are {width} x {height} px,"
        f" {model.name} takes {side} x {side} alone: expected a rule of that side,"
        f" --config.data.geometry=short{side}_crop{side}."
      )
  if TRAIN in sizes:
    recipe.check(model.kind, min(sizes[TRAIN]))


def data_config(
  config: Config, data_dir: str = "", model: NetworkModel | None = None
) -> data.Config:
  """Return the data's config, with the network's clips and its need of masks."""
  fields: dict[str, Any] = {"data_dir": config.data.data_dir or data_dir}
  model = model or catalogue.network(config.model.name)
  spec: Any = model.spec
  if isinstance(model, Detector):
    fields["masks"] = model.has_masks
  elif spec.clip_frames and not config.data.frames:
    fields |= {"frames": spec.frames, "rate": spec.rate}
  return config.data.model_copy(update=fields)


def network(config: Config, classes: int | None) -> NetworkModel:
  """Return the network, with a head for the data's classes unless the config
  says otherwise.

  Args:
    classes: number of the data's classes; None takes the network's own.

  Raises:
    UserError: the network is unknown, has no train mode, or does not fit the
      recipe.
  """
  stated, fields = config.model.num_classes, config.model.spec
  model = models.get(
    config.model.name, stated or classes or None, dtype=config.model.dtype
  )
  if not isinstance(model, NetworkModel) or not model.trainable:
    raise errors.UserError(
      f"{model.name} has no train mode: networks of models.names() have one."
    )
  recipe = recipes.make_recipe(config.recipe)
  if model.kind not in recipe.KINDS:
    raise errors.UserError(
      f"config.recipe.name: got {config.recipe['name']!r}, which trains networks of"
      f" the kind {' or '.join(recipe.KINDS)}; {model.name} is of the kind"
      f" {model.kind}."
    )
  recipe.check(model.kind, _side(config.data))
  model = model.with_fields(fields) if fields else model
  if classes and model.spec.num_classes < classes:
    key = "spec.num_classes" if "num_classes" in fields else "num_classes"
    raise errors.UserError(
      f"config.model.{key}: got {model.spec.num_classes}, the data has {classes}"
      " classes: expected as many or more; left out it is the data's."
    )
  return model


def _side(config: data.Config) -> int:
  """Return the side of the examples in px; 0 if unknown yet."""
  if rule := config.crop or config.geometry:
    return min(side or 0 for side in crops.shape(rule)[:2])
  if config.source not in datasets.names():
    return 0
  return getattr(datasets.builder_class(config.source), "SIDE_PX", 0)


def train(
  prepared: Prepared,
  workdir: epath.Path | None = None,
  *,
  say: Say = print,
  words: str = "steps",
) -> Any:
  """Train, and return the variables, or their mean if the config keeps one.

  Args:
    workdir: folder of checkpoints, numbers and, at the end, the weights; None
      writes nothing.
    words: unit of the lines of progress.

  Raises:
    UserError: the training diverged, or the workdir is another training's.
  """
  host = hosts.this_host()
  if workdir is None:
    loop = _loop(prepared, None, say, {})
    lines = _lines(loop)
    state = loop.run(lambda step: lines.step(words))
    return handover.finite(prepared.model, state.averaged)
  _meet(host)
  with workdir_lib.held(workdir, host):
    facts = _facts(prepared)
    begun = bool(host.index) or workdir_lib.check(workdir, facts)
    # A training that is refused here has no workdir yet.
    loop = _loop(prepared, workdir, say, facts)
    if not begun:
      workdir_lib.begin(workdir, facts)
    lines = _lines(loop)
    page = _page(prepared, workdir, loop, say)

    def each(step: int) -> None:
      lines.step(words)
      if page and step % loop.lengths.per_epoch == 0:
        page.after_epoch(loop.lines)

    try:
      state = loop.run(each if not host.index else lambda step: None)
      loop.close()
      if not host.index:
        weights = handover.write(workdir, prepared.model, state)
        prepared.disclosure(loop.lengths.steps, *weights).write(workdir)
    finally:
      if page:
        page.write(loop.lines)
    if not host.index:
      for line in closing.lines(
        prepared, workdir, loop.lengths.steps, loop.lines
      ):
        say(line)
    hosts.barrier(host, "handed over")
  return state.averaged


def _meet(host: hosts.Host) -> None:
  """Wait for the slowest host: collectives wait only half a minute."""
  if host.count > 1:
    import orbax.checkpoint as ocp

    ocp.multihost.sync_global_processes(
      "prepared", timeout=_MEET_S, processes={*range(host.count)}
    )


def _lines(loop: Loop) -> step_lines.Progress:
  """Return the progress of the remaining steps."""
  left = loop.lengths.steps - int(loop.state.step)
  return step_lines.Progress(left, stream=sys.stdout)


def _page(
  prepared: Prepared, workdir: epath.Path, loop: Loop, say: Say
) -> Report | None:
  """Return the page of host 0.

  The result is None for trainings of seconds, which keep no checkpoint.
  """
  if hosts.this_host().index or not prepared.config.keep.last:
    return None
  from models.training.monitoring.report import Report

  return Report(prepared, workdir, loop.lengths.steps, say)


def _loop(
  prepared: Prepared,
  workdir: epath.Path | None,
  say: Say,
  facts: Mapping[str, Any],
) -> Loop:
  first = not hosts.this_host().index
  keep, events = prepared.config.keep, None
  if keep.tensorboard and workdir and first:
    events = tensorboard.Events(workdir)
    events.pictures(sheet.seen_pictures(prepared))
  return Loop(
    prepared.config,
    prepared.model,
    prepared.recipe,
    prepared.source,
    prepared.variables,
    metrics=Metrics(workdir / METRICS if workdir and first else None, events),
    checkpoints=Checkpoints(workdir, keep, facts)
    if workdir and keep.last
    else None,
    say=say if first else lambda text: None,
  )


def _facts(prepared: Prepared) -> dict[str, Any]:
  """Return the facts that a weight may depend on, by key, as JSON has them."""
  facts = workdir_lib.facts(prepared.config)
  if prepared.config.model.checkpoint:
    first = weights_file.sha256(jax.tree.map(np.asarray, prepared.variables))
    facts["sha256 of the first weights"] = first
  return {**facts, "sha256 of the examples": prepared.source.digest}

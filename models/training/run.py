"""A training from its config to its weights."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from etils import epath

from robust_tfds import (
  datasets,
  errors,
  hosts,
  models,
  reading,
  step_lines,
  version,
)
from robust_tfds.models import catalogue, weights_file
from robust_tfds.models.detection.detector import Detector
from robust_tfds.models.model import NetworkModel
from robust_tfds.models.training import (
  closing,
  data,
  disclosure,
  handover,
  initial,
  recipes,
  sheet,
  tensorboard,
)
from robust_tfds.models.training.checkpoints import Checkpoints
from robust_tfds.models.training.config import Config
from robust_tfds.models.training.data import crops, examples
from robust_tfds.models.training.data.source import TRAIN, VALIDATION
from robust_tfds.models.training.disclosure import Disclosure
from robust_tfds.models.training.loop import Loop, Say
from robust_tfds.models.training.metrics import FILE as METRICS
from robust_tfds.models.training.metrics import Metrics
from robust_tfds.models.training.recipes import base
from robust_tfds.storage import disk, locks, paths

if TYPE_CHECKING:
  from robust_tfds.models.training.report import Report

_CONFIG, _OF_CONFIG = "config.json", "config."
# What may differ between two launches of one workdir: nothing here can change a
# weight. Where data lie is no fact of them.
_RESUMABLE = ("data.data_dir", "data.manual_dir", "data.workers", "keep")
_LOCK = "training.lock"
_MEET_S = 6 * 3600  # that hosts may need to read all data for their sums
_LEARNS_FROM: Mapping[str, str] = {
  "classification": examples.PICTURES,
  "video": examples.VIDEOS,
  "detection": examples.OBJECTS,
}


@dataclasses.dataclass(frozen=True)
class Prepared:
  """What a config names, made: nothing of it is trained yet."""

  config: Config
  model: NetworkModel
  recipe: base.Recipe
  source: data.Source
  variables: Any
  head: str = ""

  def disclosure(
    self, steps: int, weights: str, weights_ema: str = ""
  ) -> Disclosure:
    """What the trained network is to say of itself.

    Args:
      steps: of training.
      weights: sha256 of weights.npz.
      weights_ema: of weights_ema.npz; empty where there is none.
    """
    config = self.config
    before = disclosure.before_of(config)
    shown = disclosure.shown(config, self.recipe)
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
      checksum="",
    ).signed()


def prepare(
  config: Config,
  *,
  model: NetworkModel | None = None,
  data_dir: str = "",
  say: Say = print,
) -> Prepared:
  """Opens the data, makes the network and its first weights.

  Args:
    model: the network, ready to be trained; None: as the config says.
    data_dir: of TFDS, where the config names none.
    say: is told of a set that is prepared.

  Raises:
    UserError: an unknown name, data that the network does not take, or a recipe
      that the held-out rule refuses.
  """
  recipe = recipes.of(config.recipe)
  disclosure.check(config, recipe)
  known = model or network(config, None)
  wanted = data_config(config, data_dir, known)
  source = data.open(wanted, say, beside=recipe)
  model = model or network(config, len(source.classes))
  if source.kind != _LEARNS_FROM[model.kind]:
    raise errors.UserError(
      f"config.data.source: got {config.data.source!r}, a set of {source.kind};"
      f" {model.name} learns from {_LEARNS_FROM[model.kind]}."
    )
  _check_pictures(config, model, recipe, source)
  first = initial.of(config, model, source.classes, say)
  return Prepared(
    config, first.model, recipe, source, first.variables, first.head
  )


def _check_pictures(
  config: Config,
  model: NetworkModel,
  recipe: base.Recipe,
  source: data.Source,
) -> None:
  """Refuses sizes before the first step: none of a batch, of a network, of a crop."""
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
  """What `data.open` takes: clips are the network's, and whether it needs masks."""
  fields: dict[str, Any] = {"data_dir": config.data.data_dir or data_dir}
  model = model or catalogue.network(config.model.name)
  spec: Any = model.spec
  if isinstance(model, Detector):
    fields["masks"] = model.has_masks
  elif spec.clip_frames and not config.data.frames:
    fields |= {"frames": spec.frames, "rate": spec.rate}
  return config.data.model_copy(update=fields)


def network(config: Config, classes: int | None) -> NetworkModel:
  """The network, with a head of the data's classes unless the config says others.

  Args:
    classes: of the data; None: the network's own.

  Raises:
    UserError: no such network, one without a train mode, or of which the recipe
      is not.
  """
  stated = config.model.num_classes
  if stated and classes and stated < classes:
    raise errors.UserError(
      f"config.model.num_classes: got {stated}, the data has {classes} classes."
    )
  model = models.get(
    config.model.name, stated or classes or None, dtype=config.model.dtype
  )
  if not isinstance(model, NetworkModel) or not model.trainable:
    raise errors.UserError(
      f"{model.name} has no train mode: networks of models.names() have one."
    )
  recipe = recipes.of(config.recipe)
  if model.kind not in recipe.KINDS:
    raise errors.UserError(
      f"config.recipe.name: got {config.recipe['name']!r}, of networks of the kind"
      f" {' or '.join(recipe.KINDS)}; {model.name} is of the kind {model.kind}."
    )
  recipe.check(model.kind, _side(config.data))
  return model.with_fields(config.model.spec) if config.model.spec else model


def _side(config: data.Config) -> int:
  """Of the examples in px, as far as it is known before they are read."""
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
  """Trains; the variables, or their mean where the config keeps one.

  Args:
    workdir: where checkpoints, numbers and, at the end, the weights lie; None:
      nothing is written.
    words: what the lines of progress are of.

  Raises:
    UserError: a training that diverged, or another one's workdir.
  """
  host = hosts.this_host()
  if workdir is None:
    loop = _loop(prepared, None, say)
    lines = _lines(loop)
    state = loop.run(lambda step: lines.step(words))
    return handover.finite(prepared.model, state.averaged)
  _meet(host)
  with _held(workdir, host):
    facts = _checked_facts(workdir, prepared, host)
    loop = _loop(prepared, workdir, say)  # refuses: then nobody's workdir
    if facts:
      text = json.dumps(facts, indent=1, sort_keys=True)
      disk.write_text(workdir / _CONFIG, f"{text}\n")
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
  """Waits for hosts that read their data longer: collectives wait half a minute."""
  if host.count > 1:
    import orbax.checkpoint as ocp

    ocp.multihost.sync_global_processes(
      "prepared", timeout=_MEET_S, processes={*range(host.count)}
    )


def _lines(loop: Loop) -> step_lines.Progress:
  """Of the steps that are left."""
  left = loop.lengths.steps - int(loop.state.step)
  return step_lines.Progress(left, stream=sys.stdout)


def _page(
  prepared: Prepared, workdir: epath.Path, loop: Loop, say: Say
) -> Report | None:
  """The page of host 0; None of trainings of seconds, which keep no checkpoint."""
  if hosts.this_host().index or not prepared.config.keep.last:
    return None
  from robust_tfds.models.training.report import Report

  return Report(prepared, workdir, loop.lengths.steps, say)


def _loop(prepared: Prepared, workdir: epath.Path | None, say: Say) -> Loop:
  first = not hosts.this_host().index
  keep, events = prepared.config.keep, None
  if keep.tensorboard and workdir and first:
    events = tensorboard.Events(workdir)
    events.pictures(sheet.seen(prepared))
  return Loop(
    prepared.config,
    prepared.model,
    prepared.recipe,
    prepared.source,
    prepared.variables,
    metrics=Metrics(workdir / METRICS if workdir and first else None, events),
    checkpoints=Checkpoints(workdir, keep) if workdir and keep.last else None,
    say=say if first else lambda text: None,
  )


@contextlib.contextmanager
def _held(workdir: epath.Path, host: hosts.Host) -> Iterator[None]:
  """Waits until no other process of this machine trains there."""
  if host.index or not paths.is_local(workdir):
    yield
    return
  with disk.writing(workdir):
    workdir.mkdir(parents=True, exist_ok=True)
    disk.remove_temporary(workdir)
  place = pathlib.Path(workdir) / _LOCK
  with locks.exclusive(place, f"{workdir} is trained in"):
    yield


def _checked_facts(
  workdir: epath.Path, prepared: Prepared, host: hosts.Host
) -> dict[str, Any]:
  """What config.json is to say; {} where it does, and on hosts that write none.

  Raises:
    UserError: see `check_workdir`.
  """
  if host.index:
    return {}
  now = _facts(prepared)
  return {} if check_workdir(workdir, now) else now


def check_workdir(workdir: epath.Path, now: Mapping[str, Any]) -> bool:
  """Whether a training began there, which this one may go on with.

  Args:
    now: of `_facts`, or of `config_facts` before data and weights are read.

  Raises:
    UserError: the workdir of another config or other data: what differs; or a
      folder of something else.
  """
  file = workdir / _CONFIG
  if not disk.exists(file):
    _check_free(workdir)
    return False
  before = reading.json_file(file)
  if not isinstance(before, dict) or not any(map(_is_of_config, before)):
    raise errors.UserError(
      f"{workdir} is no workdir of a training: its {_CONFIG} is of something else."
      " Name another --workdir."
    )
  differ = [
    f"{key}: {before.get(key)!r} there, {now.get(key)!r} now"
    for key in sorted({*before, *now})
    if before.get(key) != now.get(key) and (key in now or _is_of_config(key))
  ]
  if differ:
    raise errors.UserError(
      f"{workdir} is the workdir of another training: {'; '.join(differ)}."
      " Name another --workdir, or run the config that it began with."
    )
  return True


def _check_free(workdir: epath.Path) -> None:
  """Refuses a folder whose weights a training would replace."""
  for name in (weights_file.FILE, weights_file.EMA_FILE):
    if disk.exists(workdir / name):
      raise errors.UserError(
        f"{workdir / name}: weights that no training of this folder made (it has no"
        f" {_CONFIG}), and that one would replace. Name another --workdir."
      )


def _facts(prepared: Prepared) -> dict[str, Any]:
  """Key -> value, of what a weight may depend on, as JSON has them."""
  facts = config_facts(prepared.config)
  if prepared.config.model.checkpoint:
    first = weights_file.sha256(jax.tree.map(np.asarray, prepared.variables))
    facts["sha256 of the first weights"] = first
  return {**facts, "sha256 of the examples": prepared.source.digest}


def config_facts(config: Config) -> dict[str, Any]:
  """Those of a config alone."""
  flat = dict(_flat(config.model_dump(), ()))
  kept = {
    f"{_OF_CONFIG}{key}": value
    for key, value in flat.items()
    if not any(key == r or key.startswith(f"{r}.") for r in _RESUMABLE)
  }
  return reading.json_text(json.dumps(kept, default=os.fspath), "config")


def _is_of_config(key: str) -> bool:
  return key.startswith(_OF_CONFIG)


def _flat(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
  if isinstance(value, dict):
    for key, inner in value.items():
      yield from _flat(inner, (*keys, key))
  else:
    yield ".".join(keys), value

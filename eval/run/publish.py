"""The end of a run: its table, its timing and its reports."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from robust_tfds import models
from robust_tfds.conditions import Condition
from robust_tfds.eval import papers
from robust_tfds.eval import reports
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import cells as cells_lib
from robust_tfds.eval.run import timing
from robust_tfds.eval.run.data import Data
from robust_tfds.eval.run.plan import Plan
from robust_tfds.eval.tasks import base

_OVERLAID = 5  # pictures with boxes
_OVERLAID_LEVEL = 3  # of every corruption, besides clean


def publish(
  plan: Plan,
  workdir: Workdir,
  data: Data,
  stages: timing.Stages,
  scored: base.Scored,
) -> None:
  """Writes table.csv, timing.json and the reports; one host alone calls it."""
  workdir.write_table(scored.rows)
  took = stages.summary(
    waited_s=sum(x.waited_s for x in data.sources),
    decoded=sum(x.decoded for x in data.sources),
    decoding_s=sum(x.decoding_s for x in data.sources),
  )
  text = json.dumps(took, indent=1, sort_keys=True)
  disk.write_text(workdir.timing_path, text + "\n")
  if plan.config.get("reports", True):
    pictures = _Pictures(plan, workdir, data, scored)
    told = context(
      plan.task,
      scored,
      **pictures.all(),
      class_names=pictures.class_names,
      published={
        label: papers.printed(entry.name, plan.dataset)
        for label, entry in plan.models.items()
      },
      gflops=_gflops(plan),
      provenance=_provenance(plan, data.clean),
      timing=took,
    )
    with disk.writing(workdir.reports):
      reports.write_all(told, workdir.reports)


def context(
  task: base.Task, scored: base.Scored, **others: Any
) -> reports.Context:
  """What the reports of a scored run read.

  Args:
    task: of the run.
    scored: its cells.
    **others: further attributes of the context.
  """
  names = tuple(dict.fromkeys(c.name for c in scored.cells if c.name))
  setting = task.setting
  return reports.Context(
    facts=task.facts,
    family=task.family,
    dataset=setting.dataset,
    rows=[r for r in scored.rows if r.has_value],
    notes=[r for r in scored.rows if r.note],
    corruptions=names,
    baseline=task.baseline,
    networks=task.published_networks(),
    confusions={
      (cell.model, cell.name, cell.level): pairs
      for cell, pairs in scored.pairs.items()
    },
    **others,
  )


class _Pictures:
  """What models saw and said of some examples.

  Pixels are those of the run: made by the same steps from the same keys, codec
  included, or read from the same prepared sets.
  """

  def __init__(
    self, plan: Plan, workdir: Workdir, data: Data, scored: base.Scored
  ):
    self._plan, self._workdir = plan, workdir
    self._data, self._scored = data, scored
    features = data.clean.builder.info.features
    label = plan.task.label_feature(features)
    self.class_names: Sequence[str] = list(label.names or [])
    # One device: the others need not take part, and change no pixel.
    self._mesh = devices.mesh(jax.local_devices()[:1])

  def all(self) -> dict[str, Any]:
    """The context's attributes."""
    example = self._data.clean.sample()
    name = inputs.text(example["example_id"])
    return {
      "samples": self._samples(example, name),
      "predicted": self._predicted(name),
      "gallery": self._gallery(),
      "overlays": self._overlays() if self._plan.task.has_overlays else {},
    }

  def _samples(
    self, example: Mapping[str, Any], name: str
  ) -> dict[tuple[str, int], np.ndarray]:
    """The first example under every condition."""
    clean = np.asarray(example[self._data.clean.pixels])
    out = {}
    for condition in self._plan.conditions:
      key = condition.name, condition.level
      if not self._plan.fly:
        source = self._data.of(condition)
        # The authors' files may have ids of their own.
        prepared = source.find(name)
        if prepared is not None:
          out[key] = np.asarray(prepared[source.pixels])
      elif self._plan.task.per_model:
        pixels = self._plan.task.sample(clean, condition, name)
        if pixels is not None:
          out[key] = pixels
      else:
        out[key] = self._as_models_see(condition, 1)[0]
    return out

  @functools.cached_property
  def _first_batch(self) -> inputs.Batch:
    """Of the clean set: decoded once for all conditions."""
    return next(iter(self._data.clean.batches()))

  def _as_models_see(
    self, condition: Condition, count: int
  ) -> list[np.ndarray]:
    """The first pictures as models see them under a condition on the fly."""
    source, batch = self._data.clean, self._first_batch
    images = cells_lib.show(
      self._plan.task, condition, source, batch, self._mesh
    )
    if None not in source.shape or not self._plan.task.sized:
      return list(images[:count])
    return [
      image[: size[0], : size[1]]
      for image, size in zip(images[:count], batch.size)
    ]

  def _predicted(self, example_id: str) -> dict[tuple[str, str, int], Any]:
    """(model, corruption, level) -> the classes predicted of one example."""
    out = {}
    for cell in self._scored.cells:
      columns = self._workdir.columns(cell)
      rows = columns["example_id"] == example_id
      if "top5" in columns and rows.any():
        out[cell.model, cell.name, cell.level] = columns["top5"][rows][0]
    return out

  def _gallery(self) -> dict[str, Any]:
    """What the task picks to show of a run of one condition."""
    if len(self._plan.conditions) > 1:
      return {}
    columns = {c.model: self._workdir.columns(c) for c in self._scored.cells}
    batches = self._data.clean.batches()
    return self._plan.task.gallery(batches, columns, self.class_names)

  def _overlays(self) -> dict[str, Any]:
    """Some pictures with what the first model detected."""
    label, truth = next(iter(self._plan.models)), self._workdir.truth()
    assert truth is not None  # tasks with overlays have one
    # On the fly the pictures come of one batch.
    count = min(_OVERLAID, self._data.clean.batch_size)
    ids = [
      inputs.text(e["example_id"])
      for e in itertools.islice(self._data.clean.examples(), count)
    ]
    out = {}
    for cell in self._scored.cells:
      if cell.model != label or cell.level not in (0, _OVERLAID_LEVEL):
        continue
      columns = self._workdir.columns(cell)
      out[cell.condition.config] = [
        (image, self._plan.task.overlays(name, columns, truth))
        for name, image in self._images(cell.condition, ids).items()
      ]
    return out

  def _images(
    self, condition: Condition, ids: Sequence[str]
  ) -> dict[str, np.ndarray]:
    """Id -> picture under a condition, of those that the set has."""
    if self._plan.fly:
      return dict(zip(ids, self._as_models_see(condition, len(ids))))
    source = self._data.of(condition)
    prepared = {name: source.find(name) for name in ids}
    return {
      name: np.asarray(example[source.pixels])
      for name, example in prepared.items()
      if example is not None
    }


def _gflops(plan: Plan) -> dict[str, float]:
  """Of the models whose specs know."""
  specs = {
    label: models.get(entry.name).spec for label, entry in plan.models.items()
  }
  return {label: s.gflops for label, s in specs.items() if s.gflops}


def _provenance(plan: Plan, clean: inputs.Source) -> list[str]:
  setting = plan.task.setting
  return [
    f"robust_tfds {provenance.code_version()}",
    f"{clean.builder.info.full_name}, split {clean.split},"
    f" {clean.builder.counted(clean.total)} examples",
    f"edition {setting.edition or 'none'}, codec"
    f" {setting.codec or 'as stored'}, {how(plan)}, seed {setting.seed}",
  ]


def how(plan: Plan) -> str:
  """Where corrupted pixels come from, in words."""
  if not plan.names:
    return "not corrupted"
  return "corrupted on the fly" if plan.fly else "prepared"

"""Runs a plan: data, models, cells, table, reports. Continues where it stopped."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import math
import pathlib
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import models
from eval import devices
from eval import inputs
from eval import plan as plan_lib
from eval import predict
from eval import predictions
from eval import provenance
from eval import published
from eval import reports
from eval import rescore
from eval import table
from eval import tasks
from eval import timing
from eval import train
from eval.metrics import corruption_error
from eval.progress import Progress
from robust_tfds import datasets
from robust_tfds.corruptions import seeding

_IN_FLIGHT = 3  # batches dispatched and not yet fetched


@dataclasses.dataclass
class _Loaded:
  """A model on the devices and what its numbers depend on."""

  predictor: predict.Predictor
  spec: Any
  weights: str
  dtype: str


class Runner:
  """One run of one plan in one workdir."""

  def __init__(self, plan: plan_lib.Plan, workdir: pathlib.Path):
    """Prepares devices; writes nothing yet."""
    self.plan, self.workdir = plan, workdir
    self.config = plan.config
    self.mesh = devices.mesh()
    devices.check_batch_size(self.config.batch_size, self.mesh)
    self.host = inputs.Host(jax.process_index(), jax.process_count())
    self.task = tasks.get(plan.task)
    self.stages = timing.Stages()
    self.sources: list[inputs.Source] = []
    self.truth: Any = None

  def run(self) -> list[table.Row]:
    """Everything; returns the table's rows.

    Raises:
      ValueError: bad data, models or outputs, said in words; finished cells
        stay.
      predictions.DiskFullError: no space left; finished cells stay.
    """
    self.workdir.mkdir(parents=True, exist_ok=True)
    if self.host.index == 0:
      plan_lib.claim_workdir(self.plan, self.workdir)
      predictions.discard_unfinished(self.workdir / "cells")
    self._barrier("workdir")
    clean = self._clean()
    loaded = {
      label: self._load(label, entry, clean)
      for label, entry in self.plan.models.items()
    }
    if hasattr(self.task, "truth"):
      self.truth = self._first_alone(
        "truth", lambda: self.task.truth(clean, self.workdir)
      )
    marks = {
      label: self._fingerprints(model, clean) for label, model in loaded.items()
    }
    self._check_finished(marks)
    missing = {
      c: [m for m in loaded if not predictions.done(self._folder(m, c))]
      for c in self.plan.conditions
    }
    progress = Progress(
      self.plan.cells,
      self.plan.cells - sum(map(len, missing.values())),
      quiet=self.host.index > 0,
    )
    for condition, labels in missing.items():
      source = self._source_of(condition, clean) if labels else clean
      for own, shown in self._shares(condition, labels, loaded, source):
        self._run_condition(
          condition,
          {m: loaded[m] for m in own},
          {m: marks[m][condition] for m in own},
          shown,
          progress,
        )
    rows = self.rows(marks)
    if self.host.index == 0:
      self._publish(rows, clean)
    self._barrier("end")
    return rows

  def _check_finished(self, marks: dict[str, dict]) -> None:
    """Refuses a workdir whose cells were made from something else."""
    strange = [
      f"{label} {condition.config}"
      for label, own in marks.items()
      for condition, mark in own.items()
      if predictions.done(folder := self._folder(label, condition))
      and predictions.provenance(folder)["fingerprint"] != mark
    ]
    if strange:
      raise ValueError(
        f"{self.workdir} holds {len(strange)} finished cells that were made"
        f" from other weights, data or code, e.g. {', '.join(strange[:3])}: a"
        " file changed since, though the config did not. Use another --workdir,"
        " or bring the old files back to continue that run."
      )

  def rows(self, marks: dict[str, dict]) -> list[table.Row]:
    """The whole table from the finished cells."""
    cells = (
      (
        self._cell(label, condition, marks[label][condition]),
        condition,
        predictions.read(self._folder(label, condition))[0],
      )
      for label in self.plan.models
      for condition in self.plan.conditions
    )
    baseline = self.config.get("baseline", "")
    return rescore.rows(
      self.task, cells, baseline, self.plan.corruptions, self.truth
    )

  def _shares(
    self,
    condition: tasks.Condition,
    labels: list[str],
    loaded: dict[str, _Loaded],
    source: inputs.Source,
  ) -> list[tuple[list[str], Any]]:
    """Models that see the same batches, and what gives these."""
    if not hasattr(self.task, "per_model"):
      return [(labels, source)] if labels else []
    return [
      ([m], self.task.per_model(source, condition, loaded[m].spec, self.plan))
      for m in labels
    ]

  def _clean(self) -> inputs.Source:
    """What corruptions are made from on the fly, else the clean images."""
    if self.config.data.source == "fly":
      config, codec = self.task.FLY
      return self._source(self.config.data.get("config") or config, codec)
    return self._source("clean", self.config.data.codec)

  def _source(self, config: str, codec: str) -> inputs.Source:
    data = self.config.data
    start = time.perf_counter()
    builder = self._first_alone(
      f"data {config}", lambda: self._prepare(config, codec)
    )
    self.stages.add("prepare", time.perf_counter() - start)
    source = inputs.Source(
      builder,
      data.split,
      batch_size=self.config.batch_size // self.host.count,
      host=self.host,
      limit=data.get("limit", 0),
      cache_bytes=int(data.get("cache_gib", 4) * 2**30),
    )
    self.sources.append(source)
    return source

  def _prepare(self, config: str, codec: str) -> Any:
    data = self.config.data
    options: dict[str, Any] = {"codec": codec}
    if data.get("geometry"):
      options["geometry"] = self._geometry()
    return datasets.prepare(
      data.name,
      config,
      data_dir=data.data_dir or str(self.workdir / "data"),
      manual_dir=data.get("manual_dir") or None,
      file_format=data.get("file_format") or None,
      **options,
    )

  def _geometry(self) -> str:
    """The crop rule: the config's, or with `model` that of its only model."""
    wanted = self.config.data.geometry
    if wanted != "model":
      return wanted
    rules = {_rule(models.get(e.name).spec) for e in self.plan.models.values()}
    if len(rules) != 1:
      raise ValueError(
        "data.geometry=model needs models of one geometry, got"
        f" {', '.join(sorted(rules))}. Run them one by one."
      )
    return rules.pop()

  def _source_of(
    self, condition: tasks.Condition, clean: inputs.Source
  ) -> inputs.Source:
    if self.config.data.source == "fly" or not condition.corruption:
      return clean
    return self._source(condition.config, self.config.data.codec)

  def _load(self, label: str, entry: Any, clean: inputs.Source) -> _Loaded:
    classes = self._label(clean).num_classes
    dtype = entry.get("dtype") or "float32"
    model: Any = models.get(
      entry.name, num_classes=entry.get("num_classes") or None, dtype=dtype
    )
    if entry.get("short_px"):  # another resize rule than the published one
      rule = {"short_px": entry.short_px, "long_px": entry.long_px}
      resized = dataclasses.replace(model.spec, **rule)
      model = dataclasses.replace(model, spec=resized)
    if model.spec.num_classes not in self._model_classes(classes):
      raise ValueError(
        f"Wrong label space: {label} has {model.spec.num_classes} classes"
        f" ({model.spec.label_space}), {clean.builder.info.name} has {classes}."
        " Use a model of that label space."
      )
    if entry.get("train"):
      variables = self._first_alone(
        f"train {label}",
        lambda: train.load_or_train(
          model,
          entry.train,
          self.workdir / "models" / label,
          data_dir=self.config.data.data_dir or str(self.workdir / "data"),
        ),
      )
    elif ":" in entry.name and not entry.get("checkpoint"):
      variables = model.init(jax.random.key(self.plan.seed))
    else:
      variables = models.convert.load(
        entry.name,
        entry.checkpoint,
        num_classes=entry.get("num_classes") or None,
      )
    return _Loaded(
      predict.Predictor(model, variables, self.mesh),
      model.spec,
      provenance.weights_sha256(variables),
      dtype,
    )

  def _label(self, source: inputs.Source) -> Any:
    """The feature that knows the classes."""
    features = source.builder.info.features
    if hasattr(self.task, "label_feature"):
      return self.task.label_feature(features)
    return features["label"]

  def _class_names(self, source: inputs.Source) -> list[str]:
    return list(getattr(self._label(source), "names", None) or [])

  def _model_classes(self, classes: int) -> tuple[int, ...]:
    """How many classes a model of this data may have."""
    if hasattr(self.task, "model_classes"):
      return self.task.model_classes(self.config.data, classes)
    return (classes,)

  def _fingerprints(self, model: _Loaded, clean: inputs.Source) -> dict:
    info = clean.builder.info
    shared = {
      "dataset": self.plan.dataset,
      "data_version": str(info.version),
      "data_config": clean.builder.builder_config.name,
      "split": self.config.data.split,
      "examples": clean.total,
      "bytes": info.splits[self.config.data.split].num_bytes,
      "codec": self.config.data.codec,
      "source": self.config.data.source,
      "edition": self.plan.edition,
      "seed": self.plan.seed,
      "weights": model.weights,
      "preprocessing": dataclasses.asdict(model.spec),
      "dtype": model.dtype,
      "code": provenance.code_version(),
    }
    return {
      c: provenance.fingerprint({**shared, "condition": c.config})
      for c in self.plan.conditions
    }

  def _cell(
    self, label: str, condition: tasks.Condition, mark: str
  ) -> tasks.Cell:
    return tasks.Cell(
      model=label,
      dataset=self.plan.dataset,
      config=condition.config,
      corruption=condition.corruption,
      severity=condition.severity,
      seed=self.plan.seed,
      fingerprint=mark,
    )

  def _folder(self, label: str, condition: tasks.Condition) -> pathlib.Path:
    return predictions.folder(
      self.workdir / "cells",
      label,
      self.plan.dataset,
      condition.config,
      f"seed{self.plan.seed}",
    )

  def _run_condition(
    self,
    condition: tasks.Condition,
    loaded: dict[str, _Loaded],
    marks: dict[str, str],
    source: Any,
    progress: Progress,
  ) -> None:
    """Corrupts each batch once and shows it to every model that wants it."""
    kept: dict[str, list] = {label: [] for label in loaded}
    flying: collections.deque = collections.deque()
    transform = self.task.transform(
      self.mesh, self.plan.edition, self.config.data.codec
    )
    reduce = self.task.reducer(condition)

    def land() -> None:
      label, batch, outputs = flying.popleft()
      fetched = {k: devices.local_rows(v) for k, v in outputs.items()}
      _check_finite(label, condition, batch, fetched.pop("finite"))
      kept[label].append(self.task.columns(batch, fetched, condition))
      progress.images(int(batch.mask.sum()), condition.config)

    begun = time.perf_counter()
    for step, batch in enumerate(source.batches()):
      # The first call compiles, so a single step measures nothing else.
      probe = 0 < step == source.steps - 1
      while flying and (probe or len(flying) >= _IN_FLIGHT * len(loaded)):
        land()
      batch = self._same_canvas(batch, source)
      images = devices.put_batch(batch.image, self.mesh)
      sizes = None
      sized = getattr(self.task, "SIZED", False)
      if None in source.shape or sized:
        sizes = devices.put_batch(batch.size, self.mesh)
      start = time.perf_counter()
      if self.config.data.source == "fly":
        keys = self._keys(condition, batch)
        images = transform(images, sizes, condition, keys)
      shown = math.prod(images.shape[:-3]) // self.host.count
      if probe:
        start = self._time("corrupt", start, images, shown)
      for label, model in loaded.items():
        outputs = model.predictor(images, reduce, sizes if sized else None)
        flying.append((label, batch, outputs))
        if probe:
          start = self._time(f"infer {label}", start, outputs, shown)
      if not step:
        self.stages.add("compile", time.perf_counter() - start)
      self.stages.images += shown * len(loaded)
    while flying:
      land()
    self.stages.add("wall", time.perf_counter() - begun)
    self._write(condition, kept, marks, progress)

  def _same_canvas(
    self, batch: inputs.Batch, source: inputs.Source
  ) -> inputs.Batch:
    """The batch on a canvas that fits the batches of all hosts."""
    if self.host.count == 1 or None not in source.shape:
      return batch
    from jax.experimental import multihost_utils

    shape = np.array(batch.image.shape[1:3])
    largest = multihost_utils.process_allgather(shape).max(axis=0)
    height, width = largest.tolist()
    return inputs.on_larger_canvas(batch, (height, width))

  def _keys(
    self, condition: tasks.Condition, batch: inputs.Batch
  ) -> np.ndarray:
    return seeding.example_keys(
      self.plan.seed,
      self.plan.dataset,
      condition.corruption,
      condition.severity,
      batch.example_id,
      batch.frame.tolist(),
    )

  def _time(self, stage: str, start: float, outputs: Any, images: int) -> float:
    """One measurement a condition, on its last batch: seconds an image."""
    jax.block_until_ready(outputs)
    now = time.perf_counter()
    self.stages.add(stage, (now - start) / images)
    return now

  def _write(
    self,
    condition: tasks.Condition,
    kept: dict[str, list],
    marks: dict[str, str],
    progress: Progress,
  ) -> None:
    said = []
    for label, parts in kept.items():
      start = time.perf_counter()
      cell = self._folder(label, condition)
      predictions.write_shard(
        cell,
        predictions.concatenate(parts),
        self.host.index,
        self.host.count,
      )
      self._barrier(f"shards {label} {condition.config}")
      if self.host.index == 0:
        described = self._cell(label, condition, marks[label])
        merged = predictions.finish(cell, vars(described), self.host.count)
        row = rescore.cell_rows(self.task, described, merged, self.truth)[0]
        said.append(f"{label} {row.metric} {row.value:.3f}")
      self._barrier(f"cell {label} {condition.config}")
      self.stages.add("write", time.perf_counter() - start)
    progress.cells(len(kept), f"{condition.config}: {', '.join(said)}")

  def _publish(self, rows: list[table.Row], clean: inputs.Source) -> None:
    table.write(rows, self.workdir / "table.csv")
    took = self.stages.summary(
      waited_s=sum(x.waited_s for x in self.sources),
      decoded=sum(x.decoded for x in self.sources),
      decoding_s=sum(x.decoding_s for x in self.sources),
    )
    (self.workdir / "timing.json").write_text(
      json.dumps(took, indent=1, sort_keys=True) + "\n", "utf-8"
    )
    if not self.config.get("reports", True):
      return
    example, samples = self._samples(clean)
    context = reports.Context(
      task=self.plan.task,
      dataset=self.plan.dataset,
      rows=rows,
      corruptions=self.plan.corruptions,
      groups=self.task.groups(self.plan.corruptions),
      common=self.task.COMMON,
      baseline=corruption_error.describe(self.config.get("baseline", "")),
      samples=samples,
      predicted=self._predicted(example),
      class_names=self._class_names(clean),
      published={
        label: published.of(entry.name, self.plan.dataset)
        for label, entry in self.plan.models.items()
      },
      networks=self.task.published_networks(self.plan.dataset),
      gallery=self._gallery(clean),
      overlays=self._overlays(clean),
      confusions=rescore.confusions(
        self.task,
        (
          (label, c, predictions.read(self._folder(label, c))[0])
          for label in self.plan.models
          for c in self.plan.conditions
        ),
      ),
      gflops=self._gflops(),
      provenance=self._provenance(clean),
      timing=took,
    )
    reports.write_all(context, self.workdir / "reports")

  def _samples(self, clean: inputs.Source) -> tuple[str, dict]:
    """Id of the first example, and what it becomes under every condition."""
    example = clean.sample()
    name = inputs.text(example["example_id"])
    if clean.pixels == "frames":  # prepared sequences: read, not made again
      return name, {
        (c.corruption, c.severity): np.asarray(
          self._source_of(c, clean).find(name)["frames"]
        )
        for c in self.plan.conditions
      }

    def key(condition: tasks.Condition) -> jax.Array:
      return seeding.example_key(
        self.plan.seed,
        self.plan.dataset,
        condition.corruption,
        condition.severity,
        name,
      )

    return name, self.task.samples(
      np.asarray(example[clean.pixels]),
      key,
      self.plan.conditions,
      self.plan.edition,
    )

  def _predicted(self, example_id: str) -> dict:
    """(model, corruption, severity) -> what was predicted of one example."""
    out = {}
    for label in self.plan.models:
      for c in self.plan.conditions:
        columns, _ = predictions.read(self._folder(label, c))
        rows = columns["example_id"] == example_id
        if "top5" in columns:
          out[label, c.corruption, c.severity] = columns["top5"][rows][0]
    return out

  def _gallery(self, clean: inputs.Source) -> dict:
    """What the task picks to show; empty for most."""
    if not hasattr(self.task, "gallery"):
      return {}
    (condition,) = self.plan.conditions
    read = {
      label: predictions.read(self._folder(label, condition))[0]
      for label in self.plan.models
    }
    return self.task.gallery(clean.batches(), read, self._class_names(clean))

  def _gflops(self) -> dict[str, float]:
    """Of the models whose specs know."""
    found = {
      label: models.get(entry.name).spec
      for label, entry in self.plan.models.items()
    }
    return {
      label: spec.gflops
      for label, spec in found.items()
      if spec.gflops
    }

  def _overlays(self, clean: inputs.Source) -> dict:
    """Some pictures under some conditions with what the first model found."""
    if not hasattr(self.task, "overlays"):
      return {}
    label = next(iter(self.plan.models))
    examples = list(itertools.islice(clean.examples(), self.task.SHOWN))
    shown = {}
    for c in self.plan.conditions:
      if c.severity not in (0, 3):
        continue
      predicted, _ = predictions.read(self._folder(label, c))
      pairs = []
      for example in examples:
        name = inputs.text(example["example_id"])
        image = np.asarray(example["image"])
        if c.corruption:
          key = seeding.example_key(
            self.plan.seed, self.plan.dataset, c.corruption, c.severity, name
          )
          made = self.task.samples(
            image, lambda _, key=key: key, [c], self.plan.edition
          )
          image = made[c.corruption, c.severity]
        boxes = self.task.overlays(image, name, predicted, self.truth)
        pairs.append((image, boxes))
      shown[c.config] = pairs
    return shown

  def _provenance(self, clean: inputs.Source) -> list[str]:
    data = self.config.data
    return [
      f"robust_tfds {provenance.code_version()}",
      f"{clean.builder.info.full_name}, split {data.split},"
      f" {clean.total} examples",
      f"edition {self.plan.edition}, codec {data.codec or 'as stored'},"
      f" {self._how()},"
      f" seed {self.plan.seed}",
    ]

  def _how(self) -> str:
    """Where corrupted pixels come from."""
    if not self.plan.corruptions:
      return "not corrupted"
    fly = self.config.data.source == "fly"
    return "corrupted on the fly" if fly else "prepared"

  def _first_alone(self, name: str, make: Callable[[], Any]) -> Any:
    """What `make` returns: made by the first host, then found by the others."""
    if self.host.index > 0:
      self._barrier(name)
      return make()
    made = make()
    self._barrier(name)
    return made

  def _barrier(self, name: str) -> None:
    if self.host.count > 1:
      from jax.experimental import multihost_utils

      multihost_utils.sync_global_devices(name)


def _rule(spec_: Any) -> str:
  """A model's own preprocessing as a name of `datasets/geometry.py`."""
  end = "_bicubic" if spec_.interpolation == "bicubic" else ""
  if spec_.resize == "fraction":
    return f"fraction{spec_.crop_fraction}_{spec_.input_px}{end}"
  kind = {"squash": "squash", "short_side": "short"}[spec_.resize]
  return f"{kind}{spec_.resize_px}_crop{spec_.input_px}{end}"


def _check_finite(label, condition, batch, finite: np.ndarray) -> None:
  bad = [i for i, ok in zip(batch.example_id, finite | ~batch.mask) if not ok]
  if bad:
    raise ValueError(
      f"{label} gave NaN or infinite logits on {len(bad)} examples of"
      f" {condition.config}, the first {bad[0]!r}. Check the checkpoint and"
      " the dtype; finished cells are untouched."
    )

"""The data of a run: where it lies, which sets are read, prepared where needed."""

from __future__ import annotations

import time
from typing import Any

from robust_tfds import conditions
from robust_tfds import datasets
from robust_tfds import errors
from robust_tfds import models
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import hosts
from robust_tfds.eval.run import timing
from robust_tfds.eval.run.plan import Plan


class Data:
  """The sets that a run reads.

  On the fly that is one, which all conditions are made from; prepared, one for
  each condition.
  """

  def __init__(
    self,
    plan: Plan,
    workdir: Workdir,
    host: inputs.Host,
    stages: timing.Stages,
  ):
    """Prepares nothing yet."""
    self._plan, self._workdir = plan, workdir
    self._host, self._stages = host, stages
    self._sources: dict[str, inputs.Source] = {}

  @property
  def sources(self) -> list[inputs.Source]:
    """All sets that were opened."""
    return list(self._sources.values())

  @property
  def clean(self) -> inputs.Source:
    """What corruptions are made from on the fly, else the clean images."""
    return self.of(conditions.Condition())

  def of(self, condition: conditions.Condition) -> inputs.Source:
    """What a condition's batches are read from; prepared if it was not yet.

    Raises:
      UserError: broken sources, an unknown config or codec.
      FileNotFoundError: the sources are not there.
    """
    config, codec = self._config_of(condition)
    if config not in self._sources:
      self._sources[config] = self._open(config, codec)
    return self._sources[config]

  def _config_of(self, condition: conditions.Condition) -> tuple[str, str]:
    task = self._plan.task
    if task.setting.fly:
      config = self._plan.config.data.get("config") or task.clean_config
      return config, task.clean_codec
    return condition.config, _prepared_codec(self._plan, condition)

  def _open(self, config: str, codec: str) -> inputs.Source:
    data = self._plan.config.data
    start = time.perf_counter()
    builder = hosts.on_first_host(
      self._host,
      f"data {config}",
      lambda: datasets.prepare(
        data.name,
        config,
        data_dir=data_dir(self._plan, self._workdir),
        manual_dir=data.get("manual_dir") or None,
        file_format=data.get("file_format") or None,
        **options(self._plan, codec),
      ),
    )
    self._stages.add("prepare", time.perf_counter() - start)
    return inputs.Source(
      builder,
      data.split,
      batch_size=self._plan.config.batch_size // self._host.count,
      host=self._host,
      limit=data.get("limit", 0),
      cache_bytes=int(data.get("cache_gib", 4) * 2**30),
    )


def data_dir(plan: Plan, workdir: Workdir | None) -> str | None:
  """Where TFDS sets lie: the config's folder, else the workdir's; else None."""
  if plan.config.data.get("data_dir"):
    return plan.config.data.data_dir
  return str(workdir.data) if workdir else None


def options(plan: Plan, codec: str) -> dict[str, Any]:
  """How the run's sets are built, as `datasets.builder` takes it."""
  out: dict[str, Any] = {"codec": codec}
  if not plan.fly:
    out["seed"] = plan.seed
  if plan.config.data.get("geometry"):
    out["geometry"] = _geometry(plan)
  return out


def num_examples(plan: Plan, workdir: Workdir | None) -> int | None:
  """Examples of a cell, where that is known before the clean set is prepared.

  None where it is not, or where no folder is named to look into.
  """
  data = plan.config.data
  whole = _prepared_examples(plan, workdir)
  limit = data.get("limit") or whole
  return limit if whole is None or limit is None else min(limit, whole)


def _prepared_examples(plan: Plan, workdir: Workdir | None) -> int | None:
  data, folder = plan.config.data, data_dir(plan, workdir)
  if folder is None:
    return None
  config = data.get("config") or plan.task.clean_config
  codec = plan.task.clean_codec
  if not plan.fly:
    config = conditions.CLEAN
    codec = _prepared_codec(plan, conditions.Condition())
  return datasets.prepared_examples(
    data.name,
    config,
    data.split,
    data_dir=folder,
    **options(plan, codec),
  )


def _prepared_codec(plan: Plan, condition: conditions.Condition) -> str:
  """The codec of a condition's prepared set.

  The authors' files hold no clean data: it is read without loss.
  """
  task = plan.task
  published = task.setting.codec == datasets.PUBLISHED
  return (
    task.clean_codec if published and condition.clean else task.setting.codec
  )


def _geometry(plan: Plan) -> str:
  """The crop rule: the config's, or with `model` that of its only model."""
  rule = plan.config.data.geometry
  if rule != "model":
    return rule
  rules = {models.get(e.name).spec.geometry for e in plan.models.values()}
  if len(rules) != 1:
    raise errors.UserError(
      "data.geometry=model needs models of one geometry, got"
      f" {', '.join(sorted(rules))}. Run them one by one."
    )
  return rules.pop()

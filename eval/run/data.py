"""The data of a run: where it is, which sets are read, and their preparation."""

import dataclasses
import importlib.util
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import ml_collections

from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run import plan as plan_lib
from eval.run import spec as spec_lib
from eval.run.execution import progress, timing
from eval.run.model import definitions
from eval.run.plan import Plan
from models.convert import sources
from robust_tfds import conditions, datasets, errors, hosts, missing
from robust_tfds.building import base, pictures

_COCO = ["hotcoco", "pycocotools"]  # either computes AP


class Data:
  """The sets that a run reads.

  On the fly that is one, which all conditions are made from; prepared, one for
  each condition.
  """

  def __init__(
    self, plan: Plan, workdir: Workdir, host: hosts.Host, stages: timing.Stages
  ):
    """Prepare nothing yet."""
    self._plan, self._workdir = plan, workdir
    self._host, self._stages = host, stages
    self._sources: dict[str, inputs.Source] = {}

  @property
  def decoded(self) -> dict[str, tuple[int, int]]:
    """Set -> how many of its examples were decoded here, of this host's share."""
    return {
      source.builder.info.full_name: (source.decoded, source.share)
      for source in self._sources.values()
    }

  @property
  def made_otherwise(self) -> list[str]:
    """A sentence for each program that made sets and is not the one here."""
    first: dict[str, str] = {}
    for source in self._sources.values():
      words = source.builder.made_otherwise()
      if words:
        first.setdefault(words, source.builder.info.full_name)
    return [f"{name}: {words}." for words, name in first.items()]

  @property
  def clean(self) -> inputs.Source:
    """The set that corruptions are made from on the fly, else the clean images.

    The first condition's images of published sets without clean ones.
    """
    return self.source(self._plan.conditions[0])

  def source(self, condition: conditions.Condition) -> inputs.Source:
    """Return the source of a condition's batches; prepare it if necessary.

    Raises:
      UserError: broken sources, an unknown config or codec.
      FileNotFoundError: the sources are not there.
    """
    config, codec = self._plan.stored(condition)
    if config not in self._sources:
      self._sources[config] = self._open(config, codec)
    return self._sources[config]

  def _open(self, config: str, codec: str) -> inputs.Source:
    start = time.perf_counter()
    source = None
    if self._plan.fly:
      source = unprepared(self._plan, self._workdir, self._host)
    if source is None:
      builder = hosts.first_host_first(
        self._host,
        f"data {config}",
        lambda: datasets.prepare(
          self._plan.config.builder,
          config,
          say=progress.say,
          **_options(self._plan, self._workdir, codec),
        ),
      )
      source = source_of(self._plan, builder, self._host)
    self._stages.add("prepare", time.perf_counter() - start)
    return source


def unprepared(
  plan: Plan, workdir: Workdir | None, host: hosts.Host
) -> inputs.Source | None:
  """Return the clean pictures of a run as their sources hold them.

  Returns:
    None where the set is prepared already, or has to be.

  Raises:
    UserError, MissingError: see `pictures.Builder.unprepared`.
  """
  kind = plan.config.builder
  if not issubclass(kind, pictures.Builder):
    return None
  config, codec = plan.stored(plan.conditions[0])
  options = _options(plan, workdir, codec)
  manual_dir = options.pop("manual_dir")
  builder = datasets.builder(kind, config, **options)
  if builder.data_path.exists():
    return None
  listed = builder.unprepared(manual_dir)
  if listed is None:
    return None
  return _share_of(plan, host, inputs.FromFiles, builder, sources=listed)


def _options(plan: Plan, workdir: Workdir | None, codec: str) -> dict[str, Any]:
  """Return where a set lies and how it is built, as `datasets.prepare` takes it."""
  data = plan.config.data
  return {
    "data_dir": data_dir(plan, workdir),
    "manual_dir": data.manual_dir or None,
    "file_format": data.file_format or None,
    **plan.options(codec),
  }


def source_of(plan: Plan, builder: Any, host: hosts.Host) -> inputs.Source:
  """Return a host's share of the run's examples of a prepared set."""
  data = plan.config.data
  if data.split not in builder.info.splits and data.split in builder.splits():
    raise errors.UserError(
      f"{builder.info.full_name}: {data.split!r} is not in {builder.data_path}, only"
      f" {', '.join(builder.info.splits)}. Its list was missing when the set was"
      " made: add it to the manual dir and name another data_dir, or remove that"
      " folder to build the set again."
    )
  return _share_of(plan, host, inputs.Source, builder)


def _share_of(
  plan: Plan,
  host: hosts.Host,
  kind: type[inputs.Source],
  builder: Any,
  **options: Any,
) -> inputs.Source:
  """Return a host's share of the run's examples."""
  source = kind(
    builder,
    plan.config.data.split,
    batch_size=plan.config.batch_size // host.count,
    host=host,
    limit=plan.config.data.limit,
    subset=plan.subset,
    **options,
  )
  adapts = [e.adapt for e in plan.models.values() if e.adapt]
  if adapts and adapts[0].last_batch == "drop":
    return source.without_last(source.batch_size, plan.seed)
  return source


def plan_of(
  request: spec_lib.RunSpec | ml_collections.ConfigDict,
  objects: Mapping[str, definitions.ModelObject] | None = None,
  workdir: Workdir | None = None,
) -> Plan:
  """Make a run's plan like `plan.make`; fetch weights if everything else is here.

  Prepares a TFDS set whose pictures' sizes are not known before.

  Args:
    request: as of `plan.make`.
    objects: label -> the model object, of models that are not named.
    workdir: where it will run; None: not known yet.

  Raises:
    MissingError: lists everything that is missing except weights.
    UserError: see `plan.make`.
  """
  spec = request
  if not isinstance(spec, spec_lib.RunSpec):
    spec = spec_lib.from_config(spec)
  first = plan_lib.make(spec, objects, fetch=False)
  entries, own = first.models.values(), plan_lib.sized(first.config.builder)
  fetched = [e for e in entries if sources.is_fetched(e.checkpoint or "")]
  if not fetched and (not own or own.is_here):
    return without_absent_clean(first, workdir)
  if absent := [*first.lacks, *lacks(first, workdir)]:
    raise missing.MissingError(*absent)
  if own and not own.is_here:  # its pictures' sizes say what is shown of them
    own.prepare()
  return without_absent_clean(plan_lib.make(spec, objects), workdir)


def without_absent_clean(plan: Plan, workdir: Workdir | None) -> Plan:
  """Return a plan of published files without clean cells if the clean set is missing.

  All numbers but those relative to clean need the published files alone.
  """
  clean, *others = plan.conditions
  published = not plan.fly and plan.task.setting.codec == datasets.PUBLISHED
  if not published or not clean.clean or not others:
    return plan
  clean_plan = dataclasses.replace(plan, conditions=[clean])
  if not lacks(clean_plan, workdir):
    return plan
  return dataclasses.replace(plan, conditions=others)


def data_dir(plan: Plan, workdir: Workdir | None) -> str | None:
  """Return the folder of TFDS sets: the config's or the workdir's, or None.

  What is read from the config's folder itself is copied to the workdir's.
  """
  own, data = plan.config.builder.OWN, plan.config.data
  copied = own and own.of_data_dir and data.source == "fly" and workdir
  if data.data_dir and not copied:
    return os.fspath(data.data_dir)
  return str(workdir.data) if workdir else None


def lacks(plan: Plan, workdir: Workdir | None) -> list[missing.Lack]:
  """Return the missing files of the sets that a run would prepare."""
  by_codec: dict[str, list[str]] = {}
  for condition in plan.conditions:
    config, codec = plan.stored(condition)
    by_codec.setdefault(codec, []).append(config)
  absent = [
    lack
    for codec, configs in by_codec.items()
    for lack in datasets.lacks(
      plan.config.builder,
      list(dict.fromkeys(configs)),
      data_dir=data_dir(plan, workdir),
      manual_dir=plan.config.data.manual_dir or None,
      split=plan.config.data.split,
      **plan.options(codec),
    )
  ]
  return [*_packages(plan), *absent]


def _packages(plan: Plan) -> Iterator[missing.Lack]:
  """Yield the missing extras that reading or scoring the data takes."""
  needed = {
    "video": ["av"] * (plan.config.builder.KIND == "videos"),
    "detection": _COCO * (plan.task.model_kind == "detection"),
  }
  for extra, packages in needed.items():
    if packages and not any(map(importlib.util.find_spec, packages)):
      yield missing.Lack(
        f"{plan.dataset}: the extra `{extra}`",
        f"The package {' or '.join(packages)} is not installed.",
        get=f"pip install 'robust_tfds[{extra}]'",
      )


def num_examples(plan: Plan, workdir: Workdir | None) -> int | None:
  """Return the number of examples of a cell, if it is known without preparing.

  Of a set that is not there the published number, or that of the embedded one;
  None where there is none.
  """
  data = plan.config.data
  if plan.subset is not None:
    return len(plan.subset.ids) or None
  builder = plan.config.builder
  whole = (
    prepared_examples(plan, workdir)
    or builder.published_in(data.split)
    or _own_examples(builder)
    or _embedded_examples(plan)
    or None
  )
  limit = data.limit or whole
  return limit if whole is None or limit is None else min(limit, whole)


def _own_examples(builder: type[base.Builder]) -> int:
  """Return the number of files of a user's data set; 0 if it takes a copy."""
  own = builder.OWN
  return len(own.files()) if own and not own.of_data_dir else 0


def _embedded_examples(plan: Plan) -> int:
  """Return the number of examples of an embedded set; 0 for others."""
  builder, split = plan.config.builder, plan.config.data.split
  config, codec = plan.stored(conditions.Condition())
  chosen = builder.config_of(config, **plan.options(codec))
  usual = chosen and chosen.variant in ("", base.SOURCE)
  return len(builder.known_ids()) if usual and split == builder.SPLIT else 0


def to_fetch(plan: Plan, workdir: Workdir | None) -> list[str]:
  """Return lines about the files that a run would download or unpack."""
  config, codec = plan.stored(conditions.Condition())
  builder = datasets.builder(
    plan.config.builder,
    config,
    data_dir=data_dir(plan, workdir),
    **plan.options(codec),
  )
  with missing.collected([]):
    return builder.check_sources(plan.config.data.manual_dir or None)
  return []


def prepared_examples(plan: Plan, workdir: Workdir | None) -> int | None:
  """Return the size of the clean set; None if it is not prepared."""
  data, folder = plan.config.data, data_dir(plan, workdir)
  if folder is None:
    return None
  config, codec = plan.stored(conditions.Condition())
  return datasets.prepared_examples(
    plan.config.builder,
    config,
    data.split,
    data_dir=folder,
    **plan.options(codec),
  )

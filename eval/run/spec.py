"""`RunSpec`: all settings of a run, checked once.

`evaluate`'s keywords (`keywords.py`) and the config of a file and a command
(`from_config`) give the same values. What follows from the data set is filled in
(`dataset_config.py`), then this schema checks all of it: it has the keys, their
limits, their defaults and the words of their refusals. `plan.make` makes the run's
`Plan` of it. What depends on several values (a codec of a data set, the levels of a
name) is checked by whoever owns it.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import ml_collections
import pydantic

from eval.run import adapt as adapt_lib
from eval.run import dataset_config, own_metrics
from eval.tasks import base
from eval.tasks.parts.own_metrics import OwnMetrics
from models import spec_fields
from robust_tfds import datasets, errors, settings
from robust_tfds.building.base import Builder


def words(value: Any) -> list[Any]:
  """Return the items of a value that may be one, several, or a text with commas."""
  if isinstance(value, str):
    return [word.strip() for word in value.split(",")]
  return list(value) if isinstance(value, (list, tuple)) else [value]


def _check_listed(value: Any) -> Any:
  """Refuse a value that names nothing, or one thing twice."""
  items = words(value)
  if not items or "" in items or len(set(items)) < len(items):
    raise ValueError
  return value


_Mib = Annotated[
  int, pydantic.Field(ge=1, le=1 << 20, description="a number of MiB from 1")
]
_Format = Annotated[
  Literal["", "tfrecord", "array_record"] | None,
  pydantic.Field(
    description="'tfrecord', 'array_record' or '' for the default"
  ),
]
_Names = Annotated[
  str | list[str] | tuple[str, ...],
  pydantic.AfterValidator(_check_listed),
  pydantic.Field(
    description="names, groups or sets, none empty or twice ('none' for clean"
    " data alone)"
  ),
]
_Levels = Annotated[
  int | list[int] | tuple[int, ...],
  pydantic.AfterValidator(_check_listed),
  pydantic.Field(description="whole numbers, at least one and none twice"),
]
_Spec = Annotated[
  dict[str, Any], pydantic.Field(description="fields of the model's spec")
]
_Seen = Annotated[
  str | list[str] | tuple[str, ...],
  pydantic.Field(description="names of corruptions, or 'none'"),
]


_Outputs = Annotated[
  str
  | pathlib.PurePath
  | list[str]
  | tuple[str, ...]
  | list[list[str | list[int]]]
  | None,
  pydantic.Field(
    description="a file of classes, their names, or (name, numbers of outputs)"
  ),
]


_Prompts = Annotated[
  str | list[str] | tuple[str, ...] | None,
  pydantic.Field(
    description="a name of prompts, a file of templates, or templates with {}"
  ),
]


_UNNAMED: Any = None  # the default is that of who reads the key


RECIPE_KEYS = ("flip", "crop_px", "balance")  # of a training's recipe


class Train(settings.Group):
  """The training of a small model: `run/model/trained.py`."""

  dataset: settings.Name
  split: settings.Name = "train"
  steps: settings.Positive
  batch_size: settings.Batch
  learning_rate: settings.Rate
  seed: settings.Seed = 0
  flip: settings.Flag = False
  crop_px: settings.From0 = 0
  balance: settings.Share = 0.0

  def recipe(self) -> ml_collections.ConfigDict:
    """Return the values that a trained model's weights depend on."""
    values = self.model_dump()
    optional = [k for k in RECIPE_KEYS if not values[k]]
    return ml_collections.ConfigDict(
      {k: v for k, v in values.items() if k not in optional}
    )


class LastLayer(settings.Group):
  """The fitting of a frozen network's last layer: `run/model/last_layer.py`."""

  split: settings.Name = "train"
  epochs: settings.Positive
  learning_rate: settings.Rate
  batch_size: settings.Batch
  seed: settings.Seed = 0


class Model(settings.Group):
  """One model of a run.

  Attributes:
    name: a name of the catalogue, `module:function` or `timm:NAME`.
    label: what tables call it; empty: the name.
    checkpoint: the file of its weights, as `models.convert.load` takes it.
    num_classes: outputs of a checkpoint with another head; 0: the model's own.
    dtype: `float32`, or `bfloat16` with float32 logits; empty: `float32`.
    allow_random: take a model of the user's that draws.
    short_px: for detectors, the size of the shorter side after resizing.
    long_px: for detectors, the largest size of the longer side.
    spec: fields of its spec.
    classes: what its outputs stand for, see `model/output_classes.py`.
    prompts: what a CLIP model's text tower reads, see `model/zero_shot.py`.
    class_names: words for the data set's classes in prompts, see there.
    trained_on: what it was trained on, see `model/training_data.py`.
    corruptions_seen: corruptions that it was trained on, or `none`.
    train: the recipe by which a small model is trained in the run.
    last_layer: the recipe by which its last layer is fitted in the run.
    adapt: how it adapts while it is tested; None: it does not.
  """

  name: settings.Name
  label: settings.Text = ""
  checkpoint: settings.Path = ""
  num_classes: settings.Classes = 0
  dtype: settings.Text = ""
  allow_random: settings.Flag = False
  short_px: settings.Positive = _UNNAMED
  long_px: settings.Positive = _UNNAMED
  spec: _Spec = {}
  classes: _Outputs = ""
  prompts: _Prompts = ""
  class_names: _Outputs = ""
  trained_on: settings.Text = ""
  corruptions_seen: _Seen = ""
  train: Train | None = None
  last_layer: LastLayer | None = None
  adapt: adapt_lib.Adapt | None = None
  _key: str = pydantic.PrivateAttr("model")

  @pydantic.model_validator(mode="before")
  @classmethod
  def _weights_are_there(cls, values: Any) -> Any:
    """Return a checkpoint takes the place of the recipe that a config names."""
    if isinstance(values, Mapping) and values.get("checkpoint"):
      return {k: v for k, v in values.items() if k != "train"}
    return values

  @property
  def key(self) -> str:
    """The key in the config: `model`, or `models.LABEL`."""
    return self._key


class Data(settings.Group):
  """The data of a run: source, conditions and preprocessing.

  Attributes:
    name: the data set, or where your own lies: `folder:/data/pets`.
    split: split of the data set.
    own: where a user's data set lay, see `dataset_config.py`.
    config: config of the data set, if it has several.
    source: `fly`, or `prepared`: read corrupted pictures from built sets.
    codec: codec of the pixels: `raw`, `jpeg85`, `published`, ...
    geometry: the crop before corruptions; `model`: the model's own.
    corruptions: names, groups or sets: `common`, `extra`, `all`, `none`, ...
    perturbations: the same of sequences and videos.
    left_out: conditions to skip; `absent`: those whose files are not here.
    severities: levels of corruptions and of perturbations of videos, 1 to 5.
    difficulties: difficulties of sequences, 1 to 3.
    views: clips of a video.
    sampling: how clips are sampled, `dense` or `uniform`.
    groups: for a user's videos, a pattern that names the uncut video.
    drop_alpha: ignore transparency in a folder's pictures.
    skip_errors: leave out a user's files that cannot be read.
    label_space: classes that a model is asked among; a map of frames' classes.
    merge: for frames, how classes are merged.
    rules: for detection, which benchmark's rules of AP.
    protocol: of segmentation, whose cells and pixels.
    keep_masks: of segmentation, whether cells keep every answered class map.
    limit: the first so many examples; 0: all.
    subset: a name, or a file of ids.
    data_dir: where prepared sets lie; empty: inside the workdir.
    manual_dir: where archives lie that have to be downloaded by hand.
    frost_dir: where frost's pictures lie; empty: where they are looked for.
    file_format: format of prepared sets; empty: the default.
    block_mib: decoded pixels of a chunk; two chunks are in memory at most.
  """

  name: settings.Name
  split: settings.Name
  own: settings.Text = ""
  config: settings.Text = ""
  source: settings.Name = "fly"
  codec: settings.Text = ""
  geometry: settings.Text = ""
  corruptions: _Names = dataset_config.ALL["corruptions"]
  perturbations: _Names = dataset_config.ALL["perturbations"]
  left_out: _Names = ""
  severities: _Levels = dataset_config.ALL["severities"]
  difficulties: _Levels = dataset_config.ALL["difficulties"]
  views: settings.Positive = _UNNAMED
  sampling: settings.Name = _UNNAMED
  groups: settings.Text = _UNNAMED
  drop_alpha: settings.Flag = False
  skip_errors: settings.Flag = False
  label_space: settings.Path = _UNNAMED
  merge: settings.Text = _UNNAMED
  rules: settings.Text = _UNNAMED
  protocol: settings.Text = _UNNAMED
  keep_masks: settings.Flag = _UNNAMED
  limit: settings.Limit = 0
  subset: settings.Path = ""
  data_dir: settings.Path = ""
  manual_dir: settings.Path = ""
  frost_dir: settings.Path = ""
  file_format: _Format = ""
  block_mib: _Mib = 512


# Keys of `data` that not every task reads: `Task.condition_keys`, `own_keys`.
_OF_SOME_TASKS = sorted(
  key
  for key, field in Data.model_fields.items()
  if key in dataset_config.ALL
  or (field.default is _UNNAMED and not field.is_required())
)


# Keys that `config.json` has of every run.
_TOP = ("task", "seed", "baseline", "reports")
_DATA = (
  "source",
  "limit",
  "data_dir",
  "manual_dir",
  "file_format",
  "block_mib",
)


class RunSpec(settings.Group):
  """The settings of a run."""

  task: settings.Name = "classification"
  seed: settings.Seed = 0
  batch_size: settings.Batch
  baseline: Annotated[str, pydantic.Field(description="a text")] = ""
  reports: settings.Flag = True
  photographs: settings.Flag = False  # a real network's, see `photographs.py`
  metric: settings.Text = ""  # a custom metric, see `own_metrics.py`
  better: settings.Text = ""
  targets: settings.Path = ""
  keep_outputs: settings.Flag = False
  data: Data
  model: Model | None = None
  models: dict[str, Model] = {}
  _own: type[Builder] | None = pydantic.PrivateAttr(None)
  _own_metrics: OwnMetrics | None = pydantic.PrivateAttr(None)

  @property
  def own_metrics(self) -> OwnMetrics | None:
    """The functions and targets of a custom metric."""
    return self._own_metrics

  @property
  def written(self) -> ml_collections.ConfigDict:
    """The keys that are asked for, and those of every run: `config.json`."""
    out = self.model_dump(exclude_unset=True)
    out |= {name: getattr(self, name) for name in _TOP}
    out["data"] |= {name: getattr(self.data, name) for name in _DATA}
    return ml_collections.ConfigDict(out).lock()

  @property
  def builder(self) -> type[Builder]:
    """The class of its data set's builders.

    Raises:
      UserError: an unknown data set, with a suggestion.
    """
    return self._own or datasets.builder_class(self.data.name)

  @property
  def entries(self) -> dict[str, Model]:
    """Label -> the model's keys.

    Raises:
      UserError: it names no model.
    """
    if self.model and self.model.name:
      return {self.model.label or self.model.name: self.model}
    if not self.models:
      raise errors.UserError(
        "The config names no model: set config.model.name."
      )
    return dict(sorted(self.models.items()))  # as `config.json` has them

  def replace_model(self, values: Mapping[str, Any]) -> RunSpec:
    """Return the spec of a run of one model.

    Args:
      values: the model's keys.
    """
    model = _model("model", values)
    return self.model_copy(update={"model": model})

  def replace_models(self, values: Mapping[str, Mapping[str, Any]]) -> RunSpec:
    """Return the spec of a run of several models.

    Args:
      values: label -> the model's keys.
    """
    models = {k: _model(f"models.{k}", each) for k, each in values.items()}
    return self.model_copy(update={"models": models})

  def adapted(self, value: Any) -> RunSpec:
    """Return the spec with an adapting twin beside each model.

    Args:
      value: see `adapt.parsed`.
    """
    asked = adapt_lib.parsed(value, self._picture_px)
    if asked is None:
      return self
    models = {}
    for label, entry in self.entries.items():
      adapt_lib.check_name(entry.name)
      values = entry.model_dump(exclude_unset=True) | {"label": ""}
      models[label] = values
      for name, adapt in adapt_lib.entries(asked, label).items():
        models[name] = {**values, "adapt": adapt}
    levels = adapt_lib.levels(asked, self.data.severities)
    data = self.data.model_copy(update={"severities": levels})
    update = {"data": data, "batch_size": asked.batch_size, "model": None}
    out = self.model_copy(update=update)
    out.model_fields_set.discard("model")
    return out.replace_models(models)

  @property
  def _picture_px(self) -> int:
    """The side of the pictures that corruptions take; 0 if they differ."""
    rule = self.data.geometry or ""
    # Of the models' own crop the size is not known yet.
    edition = self.builder.edition_of("" if rule == "model" else rule)
    return base.Setting(self.data.name, edition).edition_px

  def called(self, name: str) -> RunSpec:
    """Return the spec with a label for a model of the user's that does not have one."""
    model = self.model
    if not model or model.label or ":" not in model.name:
      return self
    labelled = model.model_copy(update={"label": name})
    return self.model_copy(update={"model": labelled})

  def replace_data(self, key: str, value: str) -> RunSpec:
    """Return the spec with another value of a key of `data`."""
    changed = self.data.model_copy(update={key: value})
    return self.model_copy(update={"data": changed})


def defaults(
  config: ml_collections.ConfigDict, groups: Sequence[str]
) -> dict[str, Any]:
  """Return the keys of a group that a command may set, with their defaults.

  Args:
    config: the config of a file.
    groups: names that lead to the group: `("models", "a")`; none: the top.
  """
  place, path = config, list(groups)
  if not path:
    return settings.defaults(RunSpec)
  if path[0] == "adapt":
    return adapt_lib.defaults(path)
  if path == ["data"]:
    return {k: v for k, v in settings.defaults(Data).items() if k != "own"}
  depth = {"model": 1, "models": 2}.get(path[0], len(path) + 1)
  for name in path[:depth]:
    place = place.get(name) or {}
  if len(path) < depth or not place:
    return {}
  if not path[depth:]:
    return settings.defaults(Model)
  if path[depth:] == ["spec"]:
    return settings.placeholders(spec_fields.kinds())
  schemas: dict[str, type[settings.Group]] = {
    "train": Train,
    "last_layer": LastLayer,
  }
  inside = schemas.get(path[depth])
  return settings.defaults(inside) if inside and path[-1] in place else {}


def from_config(config: ml_collections.ConfigDict) -> RunSpec:
  """Read the config of a file and a command.

  Raises:
    UserError: see `from_values`.
  """
  if not isinstance(config, ml_collections.ConfigDict):
    raise errors.UserError(
      "config: get_config() must return an ml_collections.ConfigDict, got"
      f" {type(config).__name__}."
    )
  return from_values(config.to_dict())


def from_values(values: Mapping[str, Any]) -> RunSpec:
  """Check the values of a run.

  Raises:
    UserError: begins with the key: `config.data.limit: got -1, expected a whole
      number from 0`; of unknown keys with the nearest one.
  """
  values, own = own_metrics.taken(values)
  values = adapt_lib.merged(_without_empty(values))
  resolved, builder = dataset_config.resolved(values)
  given = settings.plain(dataset_config.add_conditions(resolved))
  entries = given.pop("models", None)
  model = given.pop("model", None)
  adapt = given.pop("adapt", None)
  out = settings.validated(RunSpec, given)
  out._own = builder
  out._own_metrics = own(out.builder) if own else None
  if model and entries:
    raise errors.UserError(
      "config.model and config.models are both set, and a run reads one of them:"
      " put all models into config.models."
    )
  if model is not None:
    return out.replace_model(model).adapted(adapt)
  if not isinstance(entries or {}, Mapping):
    raise errors.UserError(
      f"config.models: got {entries!r}, expected a group of settings."
    )
  return out.replace_models(entries).adapted(adapt) if entries else out


def _model(key: str, values: Mapping[str, Any]) -> Model:
  """Check the values of a model, which stand in the config under `key`."""
  if isinstance(values, Mapping):
    values = settings.plain(values)
  model = settings.validated(Model, values, f"config.{key}")
  model._key = key
  for recipe in (model.train, model.last_layer):
    if recipe:  # `config.json` has these of every recipe
      recipe.model_fields_set.update(("split", "seed"))
  _check_spec(f"config.{key}", model)
  return model


def _without_empty(value: Any) -> Any:
  """Return the values without empty ones.

  Those are empty recipes, models without a name, and a subset of no name.
  """
  if not isinstance(value, Mapping):
    return value
  out = {k: _without_empty(v) for k, v in value.items()}
  if not out.get("train", True):
    del out["train"]
  if out.get("subset", None) == "":
    del out["subset"]
  model = out.get("model")
  if (
    "models" in out
    and isinstance(model, Mapping)
    and not model.get("name", True)
  ):
    del out["model"]  # `models` is read then
  return out


def _check_spec(path: str, model: Model) -> None:
  """Refuse fields that no spec has, and values that they cannot have."""
  kinds = spec_fields.kinds() if model.spec else {}
  for name, value in model.spec.items():
    key = f"{path}.spec.{name}"
    if name not in kinds:
      raise errors.UserError(
        f"{key}: {errors.unknown_error('key', name, kinds)}"
      )
    try:
      kinds[name].checked({name: value})
    except errors.UserError as e:
      expected = kinds[name].fields()[name].description
      raise errors.UserError(
        f"{key}: got {value!r}, expected {expected}."
      ) from e


def check_keys(task: base.Task) -> None:
  """Refuse keys of `data` that the task does not read.

  Raises:
    UserError: begins with the key.
  """
  data, name = task.setting.data, task.facts.task
  read = (*task.condition_keys(), *task.own_keys)
  for key in _OF_SOME_TASKS:
    if key in data and key not in read:
      raise errors.UserError(
        f"config.data.{key}: got {data[key]!r}, which task {name} does not read."
        f" Leave it out; of such keys it reads {', '.join(read) or 'none'}."
      )

"""The keywords of `evaluate` as a `RunSpec`, the same that a command's config becomes.

They change the values of the config that runs the data set, and bring models that
are objects.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from eval import tasks
from eval.run import dataset_config, own_metrics
from eval.run import plan as plan_lib
from eval.run import spec as spec_lib
from eval.run.model.definitions import ModelObject
from eval.run.spec import RunSpec
from eval.tasks import base
from eval.tasks.headlines import baselines
from models.model import Model
from robust_tfds import errors, missing, user_data
from robust_tfds.building import own_set
from robust_tfds.building.base import Builder
from robust_tfds.storage import paths

# Keywords that are keys of the config's `data` under the same name.
_DATA = {*spec_lib.Data.model_fields, *dataset_config.SOURCE_KEYS} - {
  "classes",
  "limit",
  "name",
  "severities",
}
_MASKS = "masks:"  # whose classes are named, not the models' outputs
# Of a model's part of the config: what its spec says where it is an object.
_OF_SPEC = ("dtype", "long_px", "num_classes", "short_px", "train")
Keywords = Mapping[str, Any]


# Those of streams (`eval/run/ccc`), which other sets refuse.
OF_STREAMS: Keywords = {
  "matrix": None,
  "difficulty": "medium",
  "speed": 1000,
  "stream_seed": 43,
}
# The keywords of `evaluate`, with its defaults.
DEFAULTS: Keywords = {
  "conditions": None,
  "severities": (1, 2, 3, 4, 5),
  "limit": 0,
  "workdir": None,
  "batch_size": 64,
  "variables": None,
  "checkpoint": None,
  "seed": 0,
  "baseline": None,
  "name": "",
  "size": None,
  "classes": None,
  "prompts": None,
  "class_names": None,
  "outputs": "auto",
  "allow_random": False,
  "adapt": None,
  **OF_STREAMS,
  "metric": None,
  "targets": None,
  "target": None,
  "better": None,
  "keep_outputs": False,
  **dict.fromkeys(sorted(_DATA - {"corruptions", "own", "set_name"})),
}


def spec_of(
  predict: Any, dataset: Any, keywords: Keywords
) -> tuple[RunSpec, dict[str, ModelObject]]:
  """Return the spec of a call of `evaluate`, and label -> model for model objects.

  Args:
    keywords: all of `DEFAULTS`.
  """
  values = _values(dataset, keywords)
  if _names_masks(dataset):
    keywords = {**keywords, "classes": None}
  example = values.pop("model", None) or {}
  values.pop("models", None)
  spec = spec_lib.from_values(values)
  _check_read(spec.data, _data_keys(keywords))
  if not isinstance(predict, Mapping):
    given, entry = _model(predict, "", example, spec, keywords)
    label = entry["label"] or entry["name"]
    run = spec.replace_model(entry).adapted(keywords["adapt"])
    return run, {label: given} if given else {}
  if not predict:
    raise errors.UserError("predict: got no model, expected one or several.")
  entries, objects = {}, {}
  for label, each in predict.items():
    given, entries[label] = _model(each, label, example, spec, keywords)
    if given:
      objects[label] = given
  return spec.replace_models(entries).adapted(keywords["adapt"]), objects


def typed(
  predict: Any,
  dataset: Any,
  keywords: Keywords,
  lacks: Sequence[missing.Lack],
) -> str:
  """Return the call as one types it, with the arguments that it lacks."""
  given = {}
  for name, value in keywords.items():
    default = DEFAULTS[name]  # arrays are compared item by item
    if not (isinstance(value, type(default)) and value == default):
      given[name] = value
  given |= missing.arguments(lacks)
  words = [_plainly("predict", predict), _plainly("dataset", dataset)]
  words += [f"{name}={_plainly(name, value)}" for name, value in given.items()]
  return f"evaluate({', '.join(words)})"


def _plainly(name: str, value: Any) -> str:
  """Return a value as one types it, or the argument's name for other objects."""
  if isinstance(value, (str, os.PathLike)):
    return json.dumps(os.fspath(value), ensure_ascii=False)
  plain = isinstance(value, (int, float, list, tuple))
  return repr(value) if plain else name


def _data_keys(keywords: Keywords) -> dict[str, Any]:
  """Return the keys of `data` that the call names."""
  return {
    name: os.fspath(value) if isinstance(value, os.PathLike) else value
    for name, value in keywords.items()
    if name in _DATA and value is not None
  }


def _check_read(data: spec_lib.Data, values: Mapping[str, Any]) -> None:
  """Refuse keys of data that are set although the set does not use them."""
  known = data.model_fields_set
  for key, value in values.items():
    if value and key not in known and key not in dataset_config.SOURCE_KEYS:
      raise errors.UserError(
        f"{key}={value!r}: {data.name} is read without it. Leave it out; it has"
        f" {', '.join(sorted(known - {'name', 'own'}))}."
      )


def _model(
  predict: Any,
  label: str,
  example: Mapping[str, Any],
  spec: RunSpec,
  keywords: Keywords,
) -> tuple[ModelObject | None, dict[str, Any]]:
  """Return a model if it is an object (else None), and its part of the config.

  Args:
    predict: what was handed over.
    label: its name where several are; empty of one.
    example: a model's part of the data set's config.
  """
  given = _model_object(predict, label, spec, keywords)
  return given, _entry(predict, given, example, keywords)


def _values(dataset: Any, keywords: Keywords) -> dict[str, Any]:
  """Return the values of the data set's config with the keywords, but no models."""
  values = dataset_config.config_values(dataset)
  data, given, name = values["data"], _data_keys(keywords), keywords["name"]
  values["seed"], data["limit"] = keywords["seed"], keywords["limit"]
  values["baseline"] = _baseline(dataset, keywords)
  data.update(given)
  if _names_masks(dataset) and keywords["classes"] is not None:
    data["classes"] = _plain_classes(keywords["classes"])
  if name:
    _check_own(dataset, name)
    data["set_name"] = name
  own = _own_metric(keywords)
  values |= own
  builder = dataset_config.builder_class(data, own)
  if builder.OWN or not builder.RUN_BY:
    data["name"] = builder  # lists files once
  if own:
    values["task"] = own_metrics.task_of("own", builder)
  task = values.get("task") or dataset_config.task_of(builder)
  values["batch_size"] = _batch_size(tasks.get(task), keywords["batch_size"])
  _set_conditions(data, builder, keywords)
  return values


def _own_metric(keywords: Keywords) -> dict[str, Any]:
  """Return the keywords of a custom metric as values of a config."""
  target, targets = keywords["target"], keywords["targets"]
  if target not in (None, "clean") or target and targets is not None:
    raise errors.UserError(
      f"target={target!r}: expected 'clean', the model's own answer to the clean"
      " picture, and no targets= beside it."
    )
  given = {key: keywords[key] for key in own_metrics.KEYS}
  given["targets"] = target or targets
  return {k: v for k, v in given.items() if v is not None and v is not False}


def _names_masks(dataset: Any) -> bool:
  return isinstance(dataset, str) and dataset.startswith(_MASKS)


def _check_own(dataset: Any, name: str) -> None:
  if isinstance(dataset, str) and not user_data.is_source(dataset):
    raise errors.UserError(
      f"name={name!r}: {dataset} has a name; name= is for data of your own."
      " Leave it out."
    )


def _set_conditions(
  data: dict[str, Any], builder: type[Builder], keywords: Keywords
) -> None:
  """Set the conditions, under the key that the data set's config has for them."""
  dataset, family = builder.set_name(), builder.FAMILY
  keys = (f"{family.noun}s" if family else "", "corruptions", "perturbations")
  key = next((k for k in keys if k in data), "")
  chosen, severities = keywords["conditions"], keywords["severities"]
  if key and chosen is not None:
    data[key] = chosen
  elif key and data[key] != "none" and keywords.get(key) is None:
    data[key] = dataset_config.default_conditions(builder)
  elif chosen is not None:
    raise errors.UserError(
      f"conditions={chosen!r}: {dataset} is natural data, shown as it is. Leave"
      " conditions out."
    )
  if "severities" in data:
    data["severities"] = severities
  elif severities != DEFAULTS["severities"]:
    remedy = " Use difficulties=." if "difficulties" in data else ""
    raise errors.UserError(
      f"severities={severities!r}: {dataset} has none.{remedy}"
    )


def _baseline(dataset: Any, keywords: Keywords) -> str:
  """Return the papers' baseline if its numbers are for these pictures, else ''."""
  if keywords["baseline"] is not None:
    baseline: str = keywords["baseline"]
    return baseline
  if keywords["geometry"] not in (None, "", "imagenet") or keywords["metric"]:
    return ""
  return baselines.default(dataset)


def _batch_size(task: type[base.Task], pictures: int) -> int:
  """Return the examples of a batch: a multiple of the number of devices."""
  if not isinstance(pictures, int) or pictures < 1:
    raise errors.UserError(
      f"batch_size: got {pictures!r}, expected a whole number from 1."
    )
  examples = dataset_config.batch_size(task.set_kind, pictures)
  count = len(jax.devices())
  return -(-examples // count) * count


def _model_object(
  predict: Any, label: str, spec: RunSpec, keywords: Keywords
) -> ModelObject | None:
  """Return the model as an object; None for a name without variables."""
  size, classes = keywords["size"], keywords["classes"]
  variables, checkpoint = keywords["variables"], keywords["checkpoint"]
  if size is not None and (not isinstance(size, int) or size < 1):
    raise errors.UserError(
      f"size={size!r}: expected a whole number of px from 1."
    )
  if size and isinstance(predict, (str, Model)):
    raise errors.UserError(
      f"size={size}: {predict} states its own size; size= is for plain"
      " functions. Leave it out."
    )
  if isinstance(predict, str):
    if variables is None:
      return None
    import models

    return ModelObject(models.get(predict), variables)
  if isinstance(predict, Model):
    if predict.is_external and checkpoint is not None:
      raise errors.UserError(
        f"checkpoint={checkpoint}: {predict.name} brings its own weights."
      )
    return ModelObject(predict, variables)
  if variables is not None or checkpoint is not None:
    raise errors.UserError(
      "variables= and checkpoint= are for models of the catalogue; a function"
      " has its own weights."
    )
  plain = None if classes is None else _plain_classes(classes)
  return ModelObject(plan_lib.function_model(spec, predict, size, plain, label))


def _plain_classes(classes: Any) -> Any:
  """Return classes in a config's form: a path, names, or (name, outputs).

  Raises:
    UserError: without an order, as a set.
  """
  if isinstance(classes, (str, os.PathLike)) and paths.is_file(
    paths.parse(classes, "classes")
  ):
    return os.fspath(classes)
  if isinstance(classes, str) and classes in own_set.ORDERS:
    return classes
  plain: list[Any] = []
  if isinstance(classes, Mapping):
    plain = [[str(k), np.atleast_1d(v).tolist()] for k, v in classes.items()]
    whole = all(type(o) is int for _, outputs in plain for o in outputs)
    plain = plain if whole else []
  elif isinstance(classes, (list, tuple, np.ndarray)):
    plain = [str(name) for name in classes]
  if not plain:
    raise errors.UserError(
      f"classes={classes!r}: expected a file of names that is there, a list of names"
      " in the order of the outputs, name -> the numbers of its outputs, or, where"
      " the names are numbers, 'textual' or 'numeric' for their order."
    )
  return plain


def _plain_words(names: Any) -> Any:
  """Return words for classes in a config's form: a path, or lines."""
  if isinstance(names, Mapping):
    return [f"{name}\t{words}" for name, words in names.items()]
  return os.fspath(names) if isinstance(names, os.PathLike) else names


def _entry(
  predict: Any,
  model_object: ModelObject | None,
  example: Mapping[str, Any],
  keywords: Keywords,
) -> dict[str, Any]:
  """Return the model's part of the config."""
  catalogued = isinstance(predict, str) and ":" not in predict
  left_out = ("train",) if catalogued and not model_object else _OF_SPEC
  entry = {k: v for k, v in example.items() if k not in left_out}
  name = model_object.model.name if model_object else predict
  entry["name"] = predict if isinstance(predict, str) else name
  entry["label"] = "" if entry["name"] == name else name
  checkpoint, outputs = keywords["checkpoint"], keywords["outputs"]
  entry.pop("checkpoint", None)
  if checkpoint is not None:
    entry["checkpoint"] = os.fspath(checkpoint)
  if keywords["classes"] is not None:
    entry["classes"] = _plain_classes(keywords["classes"])
  prompts = keywords["prompts"]
  if prompts is not None:
    is_path = isinstance(prompts, os.PathLike)
    entry["prompts"] = os.fspath(prompts) if is_path else prompts
  if keywords["class_names"] is not None:
    entry["class_names"] = _plain_words(keywords["class_names"])
  if keywords["allow_random"]:
    entry["allow_random"] = True
  if outputs != "auto":
    entry["spec"] = {**entry.get("spec", {}), "outputs": outputs}
  return entry

"""The preprocessing that a checkpoint was trained with: its source, or a doubt.

Arrays say nothing about pixels, and their names little: timm's and
torchvision's ResNet-50 have the same names, but another crop and another
interpolation. The first of these that states it counts:

1. the source: `torchvision:`, `timm:`, `hf:` or a known package;
2. files beside the checkpoint (`sidecar`);
3. a known file: its sha256 begins with the digits in a published file's name;
4. names that only one family of preprocessing has.

Our own names (`.npz` that `robust-tfds convert` wrote, orbax) stand for the
model's spec. Otherwise there is a doubt: a sentence.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from models import catalogue
from models.convert import known
from models.convert.sidecar import Declared, network
from models.model import NetworkModel
from models.spec import ModelSpec, Spec
from robust_tfds import errors

# The fields of a spec about pixels; `resize` decides between `resize_px` and
# `crop_fraction`.
FIELDS = (
  "input_px",
  "resize",
  "resize_px",
  "crop_fraction",
  "interpolation",
  "channel_order",
  "scale",
  "mean",
  "std",
)
_SIDES = ("input_px", "resize", "resize_px", "crop_fraction")
_BY_FRACTION = ("fraction", "centre_fraction")
_SHOWN = 3  # ways of preprocessing that a doubt shows

Prepared = tuple[tuple[str, Any], ...]


def judge(
  model: NetworkModel,
  origin: str,
  labels: Iterable[str],
  declared: Declared,
  weights: str = "",
) -> Declared:
  """Judge the declarations about a checkpoint that fits a model.

  Args:
    model: the model of the arrays.
    origin: name of the checkpoint in messages.
    labels: families of preprocessing (as `ModelSpec.weights`) that have files
      with these names; none for a file with our own names.
    declared: statements of the source or the files beside it.
    weights: the family that the user states; '' if none.

  Raises:
    UserError: `weights` is no family with these names, or a family with several
      ways of preprocessing.
  """
  verdict = _judged(model, origin, labels, declared, weights)
  other = network.differs(model, declared.network)
  if not other or weights:
    return verdict
  doubt = _other_network(model, declared.origin, other)
  return dataclasses.replace(verdict, doubt=doubt)


def _judged(
  model: NetworkModel,
  origin: str,
  labels: Iterable[str],
  declared: Declared,
  weights: str,
) -> Declared:
  """Judge the declarations about pixels."""
  pictures = type(model.spec) is Spec  # other models are judged by name alone
  if pictures and declared.doubt:
    return Declared(origin=declared.origin, doubt=declared.doubt)
  if pictures and declared.fields:
    return _declared_fields(model, declared.fields, declared.origin)
  ways = _ways(model, labels)
  if weights:
    return _user_choice(model, origin, ways, weights)
  every = set().union(*ways.values())
  if all(ways.values()) and every <= {prepared(model.spec)}:
    return Declared()
  if model.spec.weights not in ways and len(ways) == 1 and len(every) < 2:
    return Declared(doubt=_other_family(model, *ways))
  return Declared(doubt=_several(model, origin, ways))


def differences(spec: ModelSpec, fields: Mapping[str, Any]) -> dict[str, tuple]:
  """Return (stated value, spec's value) of the fields that matter and differ."""
  if not isinstance(spec, Spec):
    return {}
  has, says = dict(prepared(spec)), dict(prepared(spec, fields))
  return {
    name: (value, has.get(name))
    for name, value in says.items()
    if has.get(name) != value
  }


def prepared(
  spec: Spec | ModelSpec, fields: Mapping[str, Any] | None = None
) -> Prepared:
  """Return a spec's preprocessing as (name, value) pairs; `fields` override it."""
  values = {
    name: value
    for name, value in dataclasses.asdict(spec).items()
    if name in FIELDS
  } | {name: value for name, value in (fields or {}).items() if name in FIELDS}
  fraction = values.get("resize") in _BY_FRACTION
  values.pop("resize_px" if fraction else "crop_fraction", None)
  return tuple(sorted(values.items()))


def _declared_fields(
  model: NetworkModel, declared: Mapping[str, Any], origin: str
) -> Declared:
  """Return what an origin declares, if the network can take such pictures."""
  fields = dict(declared)
  spec: Any = model.spec
  classes = fields.pop("num_classes", spec.num_classes)
  background = spec.num_classes + int(model.family.drops_background)
  if classes not in (spec.num_classes, background):
    return Declared(
      origin=origin,
      doubt=f"{origin} says {classes} classes, the arrays have"
      f" {spec.num_classes}: it belongs to another checkpoint.",
    )
  side = fields.get("input_px", spec.input_px)
  resized = spec.fixed_px != model.variant.spec.fixed_px
  if resized:  # of a user: positions are interpolated, other pixels stay
    fields = {k: v for k, v in fields.items() if k not in _SIDES}
  elif spec.fixed_px is not None and side != spec.fixed_px:
    return Declared(
      origin=origin,
      doubt=f"{origin} says pictures of {side} px, {model.name} takes only"
      f" {spec.fixed_px} px: load it into a model of that size.",
    )
  return Declared(fields, origin)


def _other_network(model: NetworkModel, origin: str, difference: str) -> str:
  """Return the doubt if arrays fit but may belong to another network."""
  return (
    f"{origin} says {difference}, which {model.name} is not known to have:"
    " networks with the same arrays may differ in padding, activation or"
    " constants. Load it into a model of that network; if both are known to be"
    f" the same, set config.model.spec.weights={model.spec.weights}."
  )


def _user_choice(
  model: NetworkModel,
  origin: str,
  ways: Mapping[str, Mapping[Prepared, str]],
  weights: str,
) -> Declared:
  """Return the preprocessing of the family that a user names."""
  if weights == model.spec.weights or not ways:
    return Declared()
  if weights not in ways:
    raise errors.unknown_error(
      f"family of preprocessing of {origin}", weights, ways
    )
  if len(ways[weights]) != 1:
    raise errors.UserError(
      f"{origin}: {weights}'s files with these names are prepared in"
      f" {len(ways[weights])} ways ({_ways_text(ways[weights])}). Set the fields of"
      " config.model.spec instead."
    )
  (only,) = ways[weights]
  return Declared(dict(only), f"weights={weights}")


def _ways(
  model: NetworkModel, labels: Iterable[str]
) -> dict[str, dict[Prepared, str]]:
  """Return the ways of each family of preprocessing, with an example of each."""
  ours, own = model.spec.weights, prepared(model.spec)
  alike_families = {
    x for group in model.family.alike if ours in group for x in group
  }
  alike_families.discard(ours)
  same = set(_same_network(model))
  ways: dict[str, dict[Prepared, str]] = {}
  for label in labels:
    ways[label] = {own: model.name} if label in {ours, *alike_families} else {}
    for name, spec in _family_models(model, label):
      ways[label].setdefault(prepared(spec), name)
    if type(model.spec) is Spec and label not in alike_families:
      for row in _rows(same, label, model.spec.num_classes):
        ways[label].setdefault(prepared(Spec(), row.spec_fields), row.name)
  return ways


def _family_models(
  model: NetworkModel, label: str
) -> Iterator[tuple[str, ModelSpec]]:
  """Yield models of the same network whose published weights are a family's."""
  for name in _same_network(model):
    spec = model.family.variants[name].spec
    if spec.weights == label:
      yield name, spec


def _same_network(model: NetworkModel) -> Iterator[str]:
  """Yield models with the same arrays: of the same family, with the same options."""
  for name, variant in model.family.variants.items():
    if variant.options == model.variant.options:
      yield name


def _rows(models: set[str], label: str, num_classes: int) -> list[known.Known]:
  """Return known checkpoints of a family; with the same number of classes, if any."""
  rows = [
    row
    for row in known.every()
    if row.weights == label and row.spec_fields and models & set(row.models)
  ]
  same = [row for row in rows if row.num_classes == num_classes]
  return same or rows


def plain_labels(model: NetworkModel) -> list[str]:
  """Return the families whose files have our names in torch's words.

  These are the families with empty rules, or the model's own if there are none;
  and those with a file in the tables but without rules.
  """
  family = model.family
  first = {style.split(" ")[0] for style in family.checkpoints}
  declared = [
    style.split(" ")[0]
    for style, rules in family.checkpoints.items()
    if not rules
  ]
  same = set(_same_network(model))
  listed = {row.weights for row in known.every() if same & set(row.models)} | {
    family.variants[name].spec.weights for name in same
  }
  listed.discard("robust_tfds")  # weights trained in a run are not published
  return sorted({*(declared or [model.spec.weights]), *(listed - first)})


def _several(
  model: NetworkModel,
  origin: str,
  ways: Mapping[str, Mapping[Prepared, str]],
) -> str:
  """Return the doubt if names fit several ways of preprocessing."""
  ours = model.spec.weights
  ordered = sorted(ways, key=lambda label: label != ours)
  firsts = [list(ways[label].items())[:1] for label in ordered]
  listed = [*firsts, *(ways[label].items() for label in ordered)]
  every: dict[Prepared, str] = {}
  for way, name in itertools.chain.from_iterable(listed):
    every.setdefault(way, name)
  whose = " and ".join(f"{label}'s" for label in ordered)
  differ = f"prepared in {len(every)} ways ({_ways_text(every)})"
  if len(every) < 2:
    differ = "of networks that may differ in what has no arrays"
  return (
    f"{origin}: its arrays have the names of {whose} files, which are {differ},"
    " and nothing says which. Load it by"
    " its name (torchvision:WEIGHTS, timm:NAME.TAG), put its config.json or"
    " preprocessor_config.json beside it, or set it in the config:"
    f" config.model.spec.weights={ours} if {model.name}'s own is right, else"
    " the fields of config.model.spec."
  )


def _ways_text(ways: Mapping[Prepared, str]) -> str:
  """Return a few ways in words, with an example of each."""
  listed = [
    f"{name}: {_words(dict(way))}" for way, name in list(ways.items())[:_SHOWN]
  ]
  return "; ".join([*listed, *["..."] * (len(ways) > _SHOWN)])


def _words(way: Mapping[str, Any]) -> str:
  amount = way.get("resize_px", way.get("crop_fraction"))
  return (
    f"{way['resize']} {amount}, {way['input_px']} px, {way['interpolation']},"
    f" mean {way['mean'][0]:.3g}"
  )


def _other_family(model: NetworkModel, label: str) -> str:
  """Return the doubt if names belong to another family than the model's."""
  shapes = model.shapes()
  fitting = [
    name
    for name, variant in model.family.variants.items()
    if variant.spec.weights == label
    and catalogue.network(name, model.spec.num_classes).shapes() == shapes
  ]
  remedy = "Give `apply` preprocessed pixels"
  if fitting:
    remedy = f"Load it into {' or '.join(fitting)}, or give `apply` such pixels"
  return (
    f"This checkpoint is {label}'s, and {model.name} prepares uint8 pixels as"
    f" {model.spec.weights}'s weights need them. {remedy}; in a run set the"
    " fields of config.model.spec, or put its config.json or"
    " preprocessor_config.json beside it."
  )

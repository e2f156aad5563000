"""The definitions of a run's models, each made once, and their checkpoints."""

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import models
from eval.run import spec as spec_lib
from eval.run.model import timm_networks, training_data
from eval.tasks import base
from models.convert import known, match, preprocessing, sources
from models.convert.sidecar import network
from models.model import Model, NetworkModel
from models.zero_shot import texts as texts_lib
from robust_tfds import errors, missing

OfFunction = Callable[..., Model]
OfTimm = Callable[[str, int | None], Model]
_LISTED = 3  # checkpoints that a refusal names


@dataclasses.dataclass(frozen=True, eq=False)
class ModelObject:
  """A model that is handed over as an object, not by a name.

  Attributes:
    model: the model.
    variables: its weights; None: it brings them, or a checkpoint has them.
  """

  model: Model
  variables: Any = None


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
  """A model of a run.

  Attributes:
    model: with the spec that the run prepares its pictures by: its own, then
      what the checkpoint's source says, then what the config says.
    checkpoint: its weights from a file; None where it has none. Of a model with
      prompts the classes' embeddings in it are zeros.
    notes: what a run prints of it: its route, and who said its preprocessing.
    head: what makes the embeddings of a model with prompts.
  """

  model: Model
  checkpoint: match.Loaded | None = None
  notes: tuple[str, ...] = ()
  head: texts_lib.Head | None = None


def define(
  entries: Mapping[str, spec_lib.Model],
  objects: Mapping[str, ModelObject],
  kind: base.ModelKind,
  of_function: OfFunction | None = None,
  lacks: list[missing.Lack] | None = None,
  *,
  fetch: bool = True,
  texts: Mapping[str, texts_lib.Texts] | None = None,
) -> dict[str, Definition]:
  """Return label -> definition.

  Args:
    entries: label -> the model's part of the config.
    objects: label -> the model object, of models that are not named.
    kind: what the task needs.
    of_function: makes a model of a plain function; None: it is refused.
    lacks: gets the checkpoints that are not there; None: they are refused.
    fetch: download checkpoints; else their models go without.
    texts: label -> the texts of the classes, of models with prompts.

  Raises:
    UserError: an unknown name or dtype, a model of another kind, settings that
      do not suit it, a checkpoint that does not fit, or one with unknown
      preprocessing.
  """
  return {
    label: _define(
      label,
      entry,
      objects.get(label),
      kind,
      of_function,
      lacks,
      fetch,
      (texts or {}).get(label),
    )
    for label, entry in entries.items()
  }


def _define(
  label: str,
  entry: spec_lib.Model,
  model_object: ModelObject | None,
  kind: base.ModelKind,
  of_function: OfFunction | None,
  lacks: list[missing.Lack] | None,
  fetch: bool,
  texts: texts_lib.Texts | None,
) -> Definition:
  _check_sides(label, entry, kind)
  stated = entry
  entry = entry if model_object else training_data.as_trained(entry)
  timm_network = functools.partial(_timm_network, label, entry, lacks, fetch)
  if texts:
    from models.zero_shot import tower

    tower.check(entry.name)
    entry = entry.model_copy(update={"num_classes": len(texts.names)})
  model = _model(label, entry, model_object, kind, of_function, timm_network)
  if texts and model_object:  # other models are known by name
    if model_object.variables is not None:
      raise errors.UserError(
        f"Model {label}: prompts are read by the text tower in a checkpoint: set"
        " checkpoint= in place of variables=."
      )
    model = model.with_fields({"num_classes": len(texts.names)})
  notes = [model.route] if model.route else []
  if entry.name != stated.name:
    notes.append(f"{entry.name}: as {entry.checkpoint} was trained")
  checkpoint = head = None
  if entry.name.startswith(timm_networks.START):
    pass  # it has its weights
  elif entry.checkpoint and not fetch and sources.is_fetched(entry.checkpoint):
    model = _as_known(entry.checkpoint, model)
    notes.append(
      f"{entry.checkpoint}: fetched by the run, or kept from another"
    )
  elif entry.checkpoint:
    with missing.collected(lacks):
      checkpoint, head = _checkpoint(label, entry, model, texts)
  if checkpoint:
    if checkpoint.declared.fields and _is_as_published(model):
      model = model.with_fields(checkpoint.declared.fields)
      notes.append(_words(checkpoint))
    notes += checkpoint.notes
  said = head or texts
  notes += said.notes if said else ()
  model = _set_fields(label, entry, model)
  return Definition(model, checkpoint, tuple(notes), head)


def _set_fields(label: str, entry: spec_lib.Model, model: Model) -> Model:
  """Return a model with the spec fields that the config sets."""
  fields = {**_sides(entry), **entry.spec}
  try:
    return model.with_fields(fields) if fields else model
  except errors.UserError as e:
    raise errors.UserError(f"Model {label}: spec: {e}") from e


def _model(
  label: str,
  entry: spec_lib.Model,
  model_object: ModelObject | None,
  kind: base.ModelKind,
  of_function: OfFunction | None,
  of_timm: OfTimm,
) -> Model:
  """Return a model before checkpoint and config change its spec."""
  if of_function:
    of_function = functools.partial(of_function, classes=entry.classes)
  if model_object is None:
    return models.get(
      entry.name,
      num_classes=_num_classes(label, entry),
      dtype=entry.dtype or "float32",
      kind=kind,
      of_function=of_function,
      of_timm=of_timm,
    )
  if model_object.model.kind != kind:
    raise errors.UserError(
      f"{label} is a model of kind {model_object.model.kind}, expected {kind}: the"
      " task needs another kind of answers. The class of its spec says the kind."
    )
  return model_object.model


def _timm_network(
  label: str,
  entry: spec_lib.Model,
  lacks: list[missing.Lack] | None,
  fetch: bool,
  name: str,
  num_classes: int | None,
) -> Model:
  """Return a network of timm; its weights are random if they are missing."""

  def weights(published: str) -> sources.Located | None:
    checkpoint = entry.checkpoint or published
    if not fetch and sources.is_fetched(checkpoint):
      return None
    with missing.collected(lacks):
      if not checkpoint:
        raise missing_weights_error(label, entry, "timm names no place of any.")
      try:
        return sources.locate(checkpoint)
      except FileNotFoundError as e:
        raise missing_weights_error(label, entry, str(e)) from e
    return None

  return timm_networks.build(name, num_classes, weights)


def _num_classes(label: str, entry: spec_lib.Model) -> int | None:
  """Return the classes of a model's head; None for the published one.

  Raises:
    UserError: `num_classes` and `spec.num_classes` differ.
  """
  stated = entry.num_classes or None
  spec_classes: int | None = entry.spec.get("num_classes")
  if stated and spec_classes and stated != spec_classes:
    raise errors.UserError(
      f"Model {label}: num_classes is {stated} and spec.num_classes {spec_classes}:"
      " set one of them."
    )
  if not (stated or spec_classes):
    disclosed = training_data.read_disclosure(entry)
    return len(disclosed.classes) if disclosed else None
  return stated or spec_classes


def _checkpoint(
  label: str,
  entry: spec_lib.Model,
  model: Model,
  texts: texts_lib.Texts | None,
) -> tuple[match.Loaded, texts_lib.Head | None]:
  """Return the weights of a model of the catalogue, and what embeds its texts.

  Raises:
    UserError: see `define`.
  """
  assert entry.checkpoint  # who calls this asked
  try:
    located = sources.locate(entry.checkpoint)
    head = texts_lib.head(entry.name, located, texts) if texts else None
    loaded = match.load(
      entry.name,
      located,
      num_classes=model.spec.num_classes,
      input_px=_side(model, entry.spec),
      weights=entry.spec.get("weights") or "",
      head={"text": head.placeholder} if head else None,
    )
  except FileNotFoundError as e:
    raise missing_weights_error(label, entry, str(e)) from e
  stated = set(entry.spec) & {"weights", *preprocessing.FIELDS}
  if loaded.declared.doubt and not stated and _is_as_published(model):
    said = located.declared()
    other = network.differs(loaded.model, said.network)
    if not head or other or said.fields or said.doubt:
      raise errors.UserError(f"Model {label}: {loaded.declared.doubt}")
    loaded = dataclasses.replace(
      loaded, notes=(*loaded.notes, _activation(loaded))
    )
  return loaded, head


def _activation(loaded: match.Loaded) -> str:
  """Return which activation a CLIP model takes on its name's word alone."""
  quick = loaded.model.variant.options["quick"]
  return (
    f"{'QuickGELU' if quick else 'GELU'}, as {loaded.model.name} says; nothing in or"
    " beside the checkpoint does. OpenAI's weights (and OpenCLIP's -quickgelu) are"
    " of clip_..., OpenCLIP's others of openclip_...: the wrong one costs points"
  )


def missing_weights_error(
  label: str, entry: spec_lib.Model, fault: str
) -> missing.MissingError:
  """Return the error of missing weights, with the known checkpoints."""
  rows = known.for_model(entry.name)[:_LISTED]
  name = rows[0].name if rows else "FILE"
  kinds = "one of these, which is fetched, or a file" if rows else "a file"
  return missing.MissingError(
    missing.Lack(
      f"{label}: the weights of {entry.name}",
      fault,
      tuple(
        missing.file_line(row.name, sha256=row.says_sha256, page=row.where)
        for row in rows
      ),
      get=f"name {kinds} of weights, as below; evaluate also takes variables=",
      options=((f"{entry.key}.checkpoint", name),),
    )
  )


def _as_known(checkpoint: str | os.PathLike[str], model: Model) -> Model:
  """Return a model that prepares pictures as the checkpoint table says."""
  row = known.named(os.fspath(checkpoint))
  if row is None or not row.spec_fields or not _is_as_published(model):
    return model
  return model.with_fields(row.spec_fields)


def _side(model: Model, spec: Mapping[str, Any]) -> int | None:
  """Return the side that a config asks for, where variables depend on it."""
  sized = isinstance(model, NetworkModel) and model.family.sized
  return spec.get("input_px") if sized else None


def _is_as_published(model: Model) -> bool:
  """Return whether a catalogue model's preprocessing is unchanged."""
  own = models.get(model.name).spec
  differ = preprocessing.differences(own, dataclasses.asdict(model.spec))
  return not differ


def _words(checkpoint: match.Loaded) -> str:
  fields = ", ".join(f"{k} {v}" for k, v in checkpoint.declared.fields.items())
  return f"preprocessing as {checkpoint.declared.origin} says: {fields}"


def _sides(entry: spec_lib.Model) -> dict[str, int]:
  """Return the resize rule of a detector, if the config has one."""
  sides = {"short_px": entry.short_px, "long_px": entry.long_px}
  return {name: side for name, side in sides.items() if side is not None}


def _check_sides(
  label: str, entry: spec_lib.Model, kind: base.ModelKind
) -> None:
  sides = list(_sides(entry))
  if sides and (kind != "detection" or len(sides) == 1):
    raise errors.UserError(
      f"Model {label}: {sides[0]} is for detectors, which take"
      " short_px and long_px together."
    )

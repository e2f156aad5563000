"""Files beside a checkpoint, and their statements about its preprocessing.

In the checkpoint's folder, `config.json` (timm's `pretrained_cfg`; HF's labels)
and `preprocessor_config.json` (HF's) are read if they can belong to no other
file: the checkpoint has the name that hubs use (`model.safetensors`,
`pytorch_model.bin`), or it is the folder's only one. `NAME.npz.report.json`,
which `robust-tfds convert` writes, is read too.
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from etils import epath

from models.convert import formats
from models.convert.sidecar import (
  hf_processor,
  network,
  timm_config,
)
from robust_tfds import errors, reading
from robust_tfds.storage import paths

CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
REPORT = ".report.json"
_TIMM_KEY = "pretrained_cfg"
# huggingface_hub's and timm's names for the one checkpoint of a repository.
_HUB_STEMS = ("model", "pytorch_model", "open_clip_model")


@dataclasses.dataclass(frozen=True)
class Declared:
  """The statements of a source, a file, a table or the user about a checkpoint.

  Attributes:
    fields: fields of `models.spec.Spec`; empty if nothing is stated beyond the
      model's own spec.
    origin: source of the statements.
    doubt: a sentence if the preprocessing is not stated, cannot be expressed,
      or belongs to another model; else empty.
    network: facts about the network beyond its arrays, as `network.differs`
      takes them.
  """

  fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  origin: str = ""
  doubt: str = ""
  network: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def declared(checkpoint: epath.Path, *, alone: bool = False) -> Declared:
  """Return the statements of the files beside a checkpoint.

  Args:
    checkpoint: a file, or a folder as orbax or a hub writes it.
    alone: whether files beside it can belong to no other checkpoint; else their
      names decide.

  Raises:
    UserError: a file is no JSON object.
  """
  file = formats.file_of(checkpoint)
  if file is None:
    return Declared()
  try:
    return _declared(file, alone)
  except _Trouble as e:
    return Declared(origin=e.origin, doubt=str(e))


class _Trouble(Exception):
  """The error of a statement that cannot be expressed."""

  def __init__(self, origin: str, reason: errors.UserError):
    super().__init__(str(reason))
    self.origin = origin


def _declared(checkpoint: epath.Path, alone: bool) -> Declared:
  report = checkpoint.with_name(checkpoint.name + REPORT)
  if paths.is_file(report):
    return _read_report(checkpoint, report)
  if alone or _is_alone(checkpoint):
    return _read_folder(checkpoint)
  return Declared()


def _read_folder(checkpoint: epath.Path) -> Declared:
  config = _json(checkpoint.with_name(CONFIG))
  facts = network.config_facts(config)
  processor = _json(checkpoint.with_name(PROCESSOR))
  if processor:
    origin = str(checkpoint.with_name(PROCESSOR))
    fields = _expressed(hf_processor.fields, processor, origin)
    fields |= _expressed(
      hf_processor.labels, config, str(checkpoint.with_name(CONFIG))
    )
    return Declared(fields, origin, network=facts)
  if isinstance(config.get(_TIMM_KEY), Mapping):
    origin = f"{checkpoint.with_name(CONFIG)}: {_TIMM_KEY}"
    classes = {k: v for k, v in config.items() if k == "num_classes"}
    fields = _expressed(
      timm_config.fields, {**classes, **config[_TIMM_KEY]}, origin
    )
    return Declared(fields, origin, network=facts)
  origin = str(checkpoint.with_name(CONFIG)) if facts else ""
  return Declared(origin=origin, network=facts)


def _read_report(checkpoint: epath.Path, report: epath.Path) -> Declared:
  """Return what `robust-tfds convert` knew, if the file is still the same."""
  facts = _json(report)
  fields = facts.get("spec_fields")
  if not isinstance(fields, Mapping):
    return Declared()
  if facts.get("npz_sha256") != paths.sha256(checkpoint):
    raise errors.UserError(
      f"{report}: belongs to another file than {checkpoint}: the sha256 differ."
      " Convert the checkpoint again, or remove the report."
    )
  listed = {
    k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()
  }
  return Declared(listed, str(report), str(facts.get("doubt") or ""))


def model_of_report(checkpoint: epath.Path) -> str:
  """Return the model that `robust-tfds convert` wrote a file for; '' if unknown."""
  report = _json(checkpoint.with_name(checkpoint.name + REPORT))
  return str(report.get("model") or "")


def _is_alone(checkpoint: epath.Path) -> bool:
  """Return whether files beside a checkpoint can belong to no other one."""
  stem = checkpoint.name.split(".")[0].split("-0")[0]
  if stem in _HUB_STEMS:
    return True
  weights = [
    name
    for name in paths.names(checkpoint.parent)
    if os.path.splitext(name)[1].lower() in formats.ENDINGS
  ]
  return weights == [checkpoint.name]


def _expressed(
  read: Any, facts: Mapping[str, Any], origin: str
) -> dict[str, Any]:
  try:
    return dict(read(facts, origin))
  except errors.UserError as e:
    raise _Trouble(origin, e) from e


def _json(path: epath.Path) -> Mapping[str, Any]:
  """Return the object in a file; {} if there is no file."""
  if not paths.is_file(path):
    return {}
  value = reading.json_file(path)
  if not isinstance(value, Mapping):
    raise errors.UserError(
      f"{path}: got a {type(value).__name__}, expected a JSON object."
    )
  return value

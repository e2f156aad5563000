"""A run's config.json: its schema, its versions, and what may change on resuming."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import ml_collections
import pydantic
from etils import epath

from eval.cells import provenance
from eval.cells.files import damage
from robust_tfds import errors, reading, records
from robust_tfds.storage import disk

# Version of the layout and of the meaning of a cell's columns. Others are refused.
VERSION = 4
# Key in the config of predictions that another program made beside a run: `mark` of
# that run's config.
REFERENCE_KEY = "beside"
# What may differ between two launches of one workdir: nothing here can change
# a number.
_RESUMABLE = (
  "batch_size",
  "data.block_mib",
  "data.data_dir",
  "data.left_out",  # left-out cells are made later or not shown
  "data.manual_dir",
  "data.own",
  "keep_outputs",
  "reports",
  "targets",  # their content is in the fingerprint
)


class _OtherVersionError(errors.UserError):
  """An error for a valid workdir of another version."""


_Names = str | list[str]
_Levels = int | list[int]


class _Settings(pydantic.BaseModel):
  """The settings that readers of a workdir need; other keys are ignored.

  The full schema of a run is `eval/run/spec.py`. This one is for any workdir.
  """

  model_config = pydantic.ConfigDict(extra="allow", strict=True)


class _Versions(_Settings):
  workdir: int
  pixels: int


class _Data(_Settings):
  """The `data` settings: the source and what was made of it."""

  name: Annotated[str, pydantic.Field(min_length=1)]
  corruptions: _Names = ""
  perturbations: _Names = ""
  left_out: _Names = ""
  severities: _Levels = 1
  difficulties: _Levels = 1
  limit: Annotated[int, pydantic.Field(ge=0)] | None = 0
  subset: str | None = ""
  split: str | None = ""
  source: str | None = ""
  codec: str | None = ""
  geometry: str | None = ""
  rules: str | None = ""
  sampling: str | None = ""
  label_space: str | None = ""
  merge: str | None = ""
  views: Annotated[int, pydantic.Field(ge=1)] = 1


class _Model(_Settings):
  """One model of a run; None if `models` contains them."""

  name: str | None
  label: str | None = ""


class _Config(_Settings):
  """The settings that every config has; `models` holds objects or only labels."""

  task: str
  seed: int
  baseline: str = ""
  data: _Data
  model: _Model | None = None
  models: dict[str, _Model] | list[str] = pydantic.Field(default={})
  versions: _Versions
  checksum: str


def read(path: epath.Path, *, any_pixels: bool = False) -> dict[str, Any]:
  """Return the settings with the file's `versions` and `checksum`.

  Args:
    any_pixels: whether cells with another version of the pixels are accepted,
      for reading only.

  Raises:
    UserError: it is no workdir, or one of another version.
    DamagedError: the file was changed; the message names the field.
  """
  if not disk.exists(path):
    raise errors.UserError(
      f"{path.parent} is no workdir: it has no config.json."
    )
  try:
    config = reading.json_file(path)
    if not isinstance(config, dict):
      raise errors.UserError(
        f"{path}: expected an object, got {type(config).__name__}."
      )
    _check_versions(path.parent, config.get("versions"), any_pixels)
    reading.records(config, _Config, str(path))
    records.check(path, config, spaces=True)
  except _OtherVersionError:
    raise
  except errors.UserError as e:
    raise damage.DamagedError(str(e), path) from e
  return config


def write(
  path: epath.Path, config: ml_collections.ConfigDict, pixels: int | None = None
) -> None:
  """Write the settings of a run.

  Args:
    pixels: version of the pixels of existing cells; the current one if None.
  """
  pixels = provenance.PIXELS_VERSION if pixels is None else pixels
  versions = {"workdir": VERSION, "pixels": pixels}
  settings = {**plain(config), "versions": versions}
  settings["checksum"] = records.checksum(settings, spaces=True)
  disk.write_text(path, json.dumps(settings, indent=1, sort_keys=True) + "\n")


def plain(config: ml_collections.ConfigDict) -> dict[str, Any]:
  """Return the settings as JSON values."""
  return reading.json_text(config.to_json_best_effort(), "config")


def mark(config: Mapping[str, Any]) -> str:
  """Return a hash of a run's settings: 12 hexadecimal digits."""
  return provenance.fingerprint(config)


def check_same(path: epath.Path, config: ml_collections.ConfigDict) -> None:
  """Refuse a config.json of another run.

  Raises:
    UserError: some settings differ, which the message names; or see `read`.
  """
  changed = differences(read(path), plain(config))
  if changed:
    listed = "; ".join(
      f"{k}: {then!r} there, {now!r} now" for k, (then, now) in changed.items()
    )
    raise errors.UserError(
      f"{path.parent} belongs to a run with another config ({listed}). Use"
      " another --workdir, or the old settings to continue that run."
    )


def differences(
  before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
  """Return the differences of two configs that can change a number.

  Returns:
    `data.name` and so on -> both values; None for a missing one.
  """
  first, second = _flat(_labelled(before)), _flat(_labelled(after))
  return {
    k: (first.get(k), second.get(k))
    for k in sorted(first.keys() | second.keys())
    if k not in _RESUMABLE
    and k != "checksum"
    and not k.startswith("versions.")
    and not k.endswith(".allow_random")  # a permission; the fingerprint has it
    and first.get(k) != second.get(k)
  }


def _check_versions(
  workdir: epath.Path, versions: Any, any_pixels: bool
) -> None:
  stated = versions if isinstance(versions, dict) else {}
  for name, expected in (
    ("workdir", VERSION),
    ("pixels", provenance.PIXELS_VERSION),
  ):
    version = stated.get(name)
    if version != expected and not (name == "pixels" and any_pixels):
      raise _OtherVersionError(
        f"{workdir}: versions.{name}: got {version!r}, this code reads and writes"
        f" {expected}. Its table.csv stays readable: run again in a new --workdir,"
        " or use the robust_tfds that wrote it."
      )


def _labelled(config: Mapping[str, Any]) -> dict[str, Any]:
  """Return the config with its only model's label, which defaults to the name."""
  out, model = dict(config), config.get("model")
  if isinstance(model, Mapping):
    out["model"] = {**model, "label": model.get("label") or model.get("name")}
  return out


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
  if not isinstance(tree, Mapping):
    return {prefix: tree}
  out: dict[str, Any] = {}
  for key, value in tree.items():
    out.update(_flat(value, f"{prefix}.{key}" if prefix else key))
  return out

"""The folder of a training: which training it belongs to, and its lock."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from etils import epath

from models import weights_file
from models.training.config import Config
from models.training.data.config import KEPT_PX
from robust_tfds import errors, hosts, reading
from robust_tfds.storage import disk, locks, paths

_CONFIG, _OF_CONFIG = "config.json", "config."
# Keys that may differ between two launches of one workdir: none can change a
# weight. The location of the data is no fact about them.
_RESUMABLE = ("data.data_dir", "data.manual_dir", "data.workers", "keep")
_LOCK = "training.lock"


@contextlib.contextmanager
def held(workdir: epath.Path, host: hosts.Host) -> Iterator[None]:
  """Lock the folder against other processes; wait for them first."""
  if host.index or not paths.is_local(workdir):
    yield
    return
  with disk.writing(workdir):
    workdir.mkdir(parents=True, exist_ok=True)
    disk.remove_temporary(workdir)
  place = pathlib.Path(workdir) / _LOCK
  with locks.exclusive(place, f"{workdir} is trained in"):
    yield


def facts(config: Config) -> dict[str, Any]:
  """Return the config's values that a weight may depend on, as JSON."""
  flat = dict(_flat(config.model_dump(), ()))
  if flat.pop("data.cache"):  # its place is no fact, its pixels are
    flat["data.cache"] = f"shorter side {KEPT_PX} px"
  kept = {
    f"{_OF_CONFIG}{key}": value
    for key, value in flat.items()
    if not any(key == r or key.startswith(f"{r}.") for r in _RESUMABLE)
  }
  return reading.json_text(json.dumps(kept, default=os.fspath), "config")


def check(workdir: epath.Path, now: Mapping[str, Any]) -> bool:
  """Return whether a training began there that this one may continue.

  Args:
    now: result of `facts`; with those of data and weights once they are read.

  Raises:
    UserError: the workdir belongs to another config or other data (the message
      says what differs), or the folder holds something else.
  """
  file = workdir / _CONFIG
  if not disk.exists(file):
    _check_free(workdir)
    return False
  before = reading.json_file(file)
  if not isinstance(before, dict) or not any(map(_is_of_config, before)):
    raise errors.UserError(
      f"{workdir} is no workdir of a training: its {_CONFIG} is of something else."
      " Name another --workdir."
    )
  if differ := differences(before, now):
    raise errors.UserError(
      f"{workdir} is the workdir of another training: {differ}."
      " Name another --workdir, or run the config that it began with."
    )
  return True


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
  """Return the facts that differ, in words.

  Facts of data and weights are compared once they are read.
  """
  return "; ".join(
    f"{key}: {before.get(key)!r} there, {now.get(key)!r} now"
    for key in sorted({*before, *now})
    if before.get(key) != now.get(key) and (key in now or _is_of_config(key))
  )


def begin(workdir: epath.Path, now: Mapping[str, Any]) -> None:
  """Write the facts that `check` reads."""
  text = json.dumps(now, indent=1, sort_keys=True)
  disk.write_text(workdir / _CONFIG, f"{text}\n")


def _check_free(workdir: epath.Path) -> None:
  """Refuse a folder with weights that a training would replace."""
  for name in (weights_file.FILE, weights_file.EMA_FILE):
    if disk.exists(workdir / name):
      raise errors.UserError(
        f"{workdir / name}: weights that no training of this folder made (it has no"
        f" {_CONFIG}), and that one would replace. Name another --workdir."
      )


def _is_of_config(key: str) -> bool:
  return key.startswith(_OF_CONFIG)


def _flat(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
  if isinstance(value, dict):
    for key, inner in value.items():
      yield from _flat(inner, (*keys, key))
  else:
    yield ".".join(keys), value

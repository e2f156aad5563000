"""Weights, code, data or settings that change between two starts of a run."""

import pathlib
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.building.sources import small_sets
from tests.faults import runs, scored
from tests.faults.case import Case

_MODULE = """
import numpy as np
from models import adapters
from models import spec as spec_lib

SCALE = 1.0
{more}

def build():
  weights = {weights}
  spec = spec_lib.Spec(input_px=32, resize_px=32, num_classes=10)

  def call(images):
    import jax.numpy as jnp
    level = jnp.mean(images.astype(jnp.float32), (1, 2, 3))
    return jnp.cos(SCALE * level[:, None] * jnp.asarray(weights))

  return adapters.get("callable")(call, spec, name="mine")
"""
_SEED = "np.random.default_rng({}).standard_normal(10)"
_CONFIG = """
import ml_collections

def get_config():
  return ml_collections.ConfigDict({{
    "task": "classification", "seed": 0, "batch_size": 16, "baseline": "",
    "reports": False,
    "data": {{
      "name": "{name}", "split": "test", "source": "fly", "codec": "raw",
      "corruptions": "brightness", "severities": {severities}, "limit": 0,
      "data_dir": "", "manual_dir": "{manual}", "frost_dir": "",
      "file_format": "", "block_mib": 1,
    }},
    "model": {{"name": "{model}", "label": "mine", "checkpoint": "{checkpoint}"}},
  }}).lock()
"""
_SECONDS = 400


def cases() -> Iterator[Case]:
  """After a change the table is wholly the new one, or the run is refused."""
  yield _of_module("weights in the closure", _SEED.format(0), _SEED.format(1))
  yield _of_module(
    "a constant of the module",
    "np.arange(10)",
    "np.arange(10)",
    ("SCALE = 1.0", "SCALE = 3.0"),
  )
  yield _of_module(
    "weights in a file", "np.load({path!r})", "np.load({path!r})", new_file=True
  )
  yield _of_module(
    "a random model",
    "np.random.default_rng().standard_normal(10)",
    "np.random.default_rng().standard_normal(10)",
    refuse=True,
  )
  yield _of_module(
    "a comment of the module",
    "np.arange(10)",
    "np.arange(10)",
    ("SCALE = 1.0", "SCALE = 1.0  # the scale"),
  )
  yield _of_module(
    "odd: nothing", "np.arange(10)", "np.arange(10)", refuse=False
  )
  yield Case(
    "a checkpoint",
    _checkpoint,
    ("mine|checkpoint|digits_linear",),
    _fresh,
    seconds=_SECONDS,
    slow=True,
  )
  yield Case(
    "pictures in the manual dir",
    _pictures,
    ("test_batch|data|manual",),
    _of_one_state,
    seconds=_SECONDS,
    slow=True,
  )


Table = list[dict[str, str]]
Result = tuple[Table, Table, Table]  # before, continued, of a new workdir


def _fresh(tables: Result) -> bool:
  """Whether the continued table is that of a new workdir."""
  _, continued, fresh = map(runs.numbers, tables)
  assert continued == fresh, [r for r in continued if r not in fresh][:2]
  return True


def _of_one_state(tables: Result) -> bool:
  """Whether the continued table is wholly of one state of the data.

  The clean set is prepared once and kept: old pictures stay old.
  """
  before, continued, fresh = map(runs.numbers, tables)
  return before != fresh and continued in (before, fresh)


def _config(
  folder: pathlib.Path, severities: tuple[int, ...], **settings: str
) -> Any:
  values = {
    "name": "cifar10_c",
    "manual": str(folder),
    "checkpoint": "",
    "model": "my_own_module:build",
    **settings,
  }
  path = folder / "config.py"
  path.write_text(_CONFIG.format(severities=severities, **values))
  return path


def _twice(
  folder: pathlib.Path, change: Callable[[], Any], **settings: str
) -> Result:
  """Runs severity 1, changes something, continues with severity 3 too."""
  sys.path.insert(0, str(folder))
  sys.dont_write_bytecode = True
  if not (folder / "cifar-10-batches-bin").exists():
    small_sets.cifar10(folder)
  run = folder / "run"
  runs.run(run, _config(folder, (1, 3), **settings))
  before = scored.table(run)
  # As after a kill: one cell is not there yet.
  shutil.rmtree(run / "cells/mine/cifar10_c/brightness_3")
  change()
  config = _config(folder, (1, 3), **settings)
  runs.run(folder / "fresh", config)
  runs.run(run, config)
  return before, scored.table(run), scored.table(folder / "fresh")


def _of_module(
  kind: str,
  weights: str,
  later: str,
  more: tuple[str, str] = ("", ""),
  new_file: bool = False,
  refuse: bool | None = None,
) -> Case:
  def act(folder: pathlib.Path) -> Any:
    path = str(folder / "weights.npy")
    np.save(path, np.arange(10.0))

    def write(weights: str, change: tuple[str, str]) -> None:
      text = _MODULE.format(weights=weights.format(path=path), more="")
      if change[0]:
        text = text.replace(*change)
      (folder / "my_own_module.py").write_text(text)

    def change() -> None:
      write(later, more)
      if new_file:
        np.save(path, np.arange(10.0)[::-1] ** 2)

    write(weights, ("", ""))
    return _twice(folder, change)

  names = () if refuse is False else ("mine|my_own_module",)
  return Case(
    kind, act, names, None if refuse else _fresh, seconds=_SECONDS, slow=True
  )


def _checkpoint(folder: pathlib.Path) -> Any:
  path = folder / "digits_linear.npz"

  def draw(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = {
      k: rng.standard_normal(s).astype(np.float32) for k, s in _shapes()
    }
    np.savez(path, **arrays)

  draw(0)
  return _twice(
    folder, lambda: draw(1), model="digits_linear", checkpoint=str(path)
  )


def _shapes() -> list[tuple[str, tuple[int, ...]]]:
  from tests.models.convert import checkpoints

  flat = checkpoints.drawn("digits_linear")
  return [("/".join(p), a.shape) for p, a in flat.items()]


def _pictures(folder: pathlib.Path) -> Any:
  (folder / "my_own_module.py").write_text(
    _MODULE.format(weights="np.arange(10)", more="")
  )
  small_sets.cifar10(folder)
  path = folder / "cifar-10-batches-bin" / "test_batch.bin"

  def change() -> None:
    data = bytearray(path.read_bytes())
    data[1:2000] = bytes(1999)
    path.write_bytes(bytes(data))

  return _twice(folder, change)

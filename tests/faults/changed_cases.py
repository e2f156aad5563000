"""A checkpoint or data that change between two starts of a run.

Modules that change are in tests/eval/run/model/own_models_test.py.
"""

import functools
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


def build():
  weights = np.arange(10)
  spec = spec_lib.Spec(input_px=32, resize_px=32, num_classes=10)

  def call(images):
    import jax.numpy as jnp
    level = jnp.mean(images.astype(jnp.float32), (1, 2, 3))
    return jnp.cos(level[:, None] * jnp.asarray(weights))

  return adapters.get("callable")(call, spec, name="mine")
"""
_CONFIG = """
import ml_collections

def get_config():
  return ml_collections.ConfigDict({{
    "task": "classification", "seed": 0, "batch_size": 16, "baseline": "",
    "reports": False,
    "data": {{
      "name": "cifar10_c", "split": "test", "source": "fly", "codec": "raw",
      "corruptions": "brightness", "severities": (1, 3), "limit": 0,
      "data_dir": "", "manual_dir": "{manual}", "frost_dir": "",
      "file_format": "", "block_mib": 1,
    }},
    "model": {{"name": "{model}", "label": "mine", "checkpoint": "{checkpoint}"}},
  }}).lock()
"""
Table = list[dict[str, str]]
Result = tuple[Table, Table, Table]  # before, continued, of a new workdir


def cases() -> Iterator[Case]:
  """After a change the table is wholly the new one, or the run is refused."""
  make = functools.partial(Case, seconds=400, slow=True)
  words = ("mine|checkpoint|digits_linear",)
  yield make("a checkpoint", _checkpoint, words, _fresh)
  words = ("test_batch|data|manual",)
  yield make("pictures in the manual dir", _pictures, words, _of_one_state)


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


def _twice(
  folder: pathlib.Path,
  change: Callable[[], Any],
  model: str = "my_own_module:build",
  checkpoint: str = "",
) -> Result:
  """Runs, loses a cell as after a kill, changes something, and runs again."""
  sys.path.insert(0, str(folder))
  sys.dont_write_bytecode = True
  if not (folder / "cifar-10-batches-bin").exists():
    small_sets.cifar10(folder)
  run, config = folder / "run", folder / "config.py"
  config.write_text(
    _CONFIG.format(manual=folder, model=model, checkpoint=checkpoint)
  )
  runs.run(run, config)
  before = scored.table(run)
  shutil.rmtree(run / "cells/mine/cifar10_c/brightness_3")
  change()
  runs.run(folder / "fresh", config)
  runs.run(run, config)
  return before, scored.table(run), scored.table(folder / "fresh")


def _write_module(folder: pathlib.Path) -> None:
  (folder / "my_own_module.py").write_text(_MODULE)


def _checkpoint(folder: pathlib.Path) -> Any:
  from tests.models.convert import checkpoints

  path = folder / "digits_linear.npz"
  flat = checkpoints.drawn("digits_linear")

  def draw(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = {
      "/".join(p): rng.standard_normal(a.shape).astype(np.float32)
      for p, a in flat.items()
    }
    np.savez(path, **arrays)

  draw(0)
  return _twice(folder, lambda: draw(1), "digits_linear", str(path))


def _pictures(folder: pathlib.Path) -> Any:
  _write_module(folder)
  small_sets.cifar10(folder)
  path = folder / "cifar-10-batches-bin" / "test_batch.bin"

  def change() -> None:
    data = path.read_bytes()
    path.write_bytes(data[:1] + bytes(1999) + data[2000:])

  return _twice(folder, change)

"""Traced steps, stored between runs: tracing one takes ten times its loading.

JAX finds a compiled program by its trace, so a second process traces everything
again. Steps that only depend on this package's code are stored as StableHLO
(`jax.export`): data, no Python code. A file's name has a hash of its
dependencies and the sha256 of its bytes; a changed file is removed, and the
step is traced again. The first run compiles what it wrote, so that all runs
have the same program.
"""

import contextlib
import dataclasses
import hashlib
import os
import pathlib
from typing import Any

import jax
from jax import export
from jax.sharding import NamedSharding

from robust_tfds.storage import disk

_MAX_FILES = (
  1024  # files, of about 50 KiB; those that were not used for longest go
)


@dataclasses.dataclass(frozen=True)
class _Place:
  """The folder of the files, and a text of what all of them depend on."""

  folder: pathlib.Path
  depends: str


_places: list[_Place] = []  # one, once `keep_in` was told


def keep_in(folder: pathlib.Path, depends: str) -> None:
  """Store traced steps from now on.

  Args:
    folder: folder of trusted files.
    depends: code, packages and devices, in words.
  """
  _places[:] = [_Place(folder, depends)]


def lower(
  step: Any, name: str, args: tuple[Any, ...], out: NamedSharding
) -> jax.stages.Lowered:
  """Lower a jitted step for some arguments, without compiling it.

  Args:
    step: from `jax.jit`.
    name: all dependencies of the step besides the code and the shapes of its
      arguments; empty: it has others and is not stored.
    args: arrays or shapes.
    out: sharding of the outputs; steps over several devices are not stored.
  """
  if not name or not _places or out.mesh.size > 1:
    return step.lower(*args)
  (place,) = _places
  shapes = jax.tree.map(lambda x: f"{x.dtype}{list(x.shape)}", args)
  text = f"{place.depends}\n{name}\n{shapes}"
  stem = f"trace-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
  exported = _taken(place.folder, stem)
  if exported is None:
    exported = export.export(step)(*args)
    _keep(place.folder, stem, bytes(exported.serialize()))
  return jax.jit(exported.call, out_shardings=out).lower(*args)


def _taken(folder: pathlib.Path, stem: str) -> export.Exported | None:
  """Return a stored step; None if there is none, or it is damaged and removed."""
  for path in folder.glob(f"{stem}-*"):
    with contextlib.suppress(OSError):
      data = path.read_bytes()
      if path.name == _name(stem, data):
        os.utime(path)
        return export.deserialize(bytearray(data))
      path.unlink()
  return None


def _keep(folder: pathlib.Path, stem: str, data: bytes) -> None:
  """Write a step and remove the oldest files."""
  with contextlib.suppress(OSError):  # a DiskError is one
    disk.write_bytes(folder / _name(stem, data), data, sync=False)
    files = sorted(folder.glob("trace-*"), key=os.path.getmtime)
    for old in files[:-_MAX_FILES]:
      old.unlink(missing_ok=True)


def _name(stem: str, data: bytes) -> str:
  return f"{stem}-{hashlib.sha256(data).hexdigest()}"

"""Traced steps, kept between runs: tracing one takes ten times its loading.

JAX finds a compiled program by what was traced, so that a second process traces
everything again. Steps that this package's code alone decides are kept here as
StableHLO (`jax.export`): data, no code of Python. A file's name says what it
depends on and the sha256 of its bytes; one that is not what was written is
removed, and the step is traced again. The first run compiles what it wrote, so
that all runs have one program.
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

_MOST = 1024  # files, of about 50 KiB; those that were not used for longest go


@dataclasses.dataclass(frozen=True)
class _Place:
  """Where they lie, and what all of them depend on, in words."""

  folder: pathlib.Path
  depends: str


_places: list[_Place] = []  # one, once `keep_in` was told


def keep_in(folder: pathlib.Path, depends: str) -> None:
  """Keeps traced steps from now on.

  Args:
    folder: of files that are read without asking who wrote them.
    depends: code, packages and devices.
  """
  _places[:] = [_Place(folder, depends)]


def lower(
  step: Any, name: str, args: tuple[Any, ...], out: NamedSharding
) -> jax.stages.Lowered:
  """A jitted step for some arguments, not yet compiled.

  Args:
    step: from `jax.jit`.
    name: everything that the step depends on beside the code and the shapes of its
      arguments; empty: something else, so that it is not kept.
    args: arrays or shapes.
    out: sharding of the outputs; steps over several devices are not kept.
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
  """A kept step; None where there is none, or it is damaged: that is removed."""
  for path in folder.glob(f"{stem}-*"):
    with contextlib.suppress(OSError):
      data = path.read_bytes()
      if path.name == _name(stem, data):
        os.utime(path)
        return export.deserialize(bytearray(data))
      path.unlink()
  return None


def _keep(folder: pathlib.Path, stem: str, data: bytes) -> None:
  """Writes a step whole, if the folder has room; the oldest go."""
  with contextlib.suppress(OSError):  # a DiskError is one
    disk.write_bytes(folder / _name(stem, data), data, sync=False)
    files = sorted(folder.glob("trace-*"), key=os.path.getmtime)
    for old in files[:-_MOST]:
      old.unlink(missing_ok=True)


def _name(stem: str, data: bytes) -> str:
  return f"{stem}-{hashlib.sha256(data).hexdigest()}"

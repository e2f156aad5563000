"""Compiled programs, kept between commands: the second need not wait for them.

All commands that compile share them. Weights that a run trained on embedded data lie
beside them (`eval/run/model/kept_weights.py`).
"""

import hashlib
import os
import pathlib
import platform

from robust_tfds.storage import cache

_MAX_BYTES = 4 << 30  # the programs that were not used for longest go first
_MIN_SECONDS = 0.1  # what is compiled sooner is not kept


def keep(what: str = "compiled programs") -> str:
  """Keep programs from now on, unless JAX was told where, or not to.

  Args:
    what: what the caller keeps there, in words.

  Returns:
    Where they lie, in words; empty where this did not choose it.
  """
  import jax
  from jax.experimental.compilation_cache import compilation_cache

  named = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
  if named is not None:
    return ""
  place = _folder()
  try:
    place.mkdir(parents=True, exist_ok=True)
  except OSError:
    return ""
  jax.config.update("jax_compilation_cache_dir", str(place))
  jax.config.update("jax_compilation_cache_max_size", _MAX_BYTES)
  jax.config.update("jax_persistent_cache_min_compile_time_secs", _MIN_SECONDS)
  jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
  compilation_cache.reset_cache()  # it may have looked already
  return f"{what} are kept in {place}"


def folder() -> pathlib.Path | None:
  """Return where programs are kept; None unless `keep` chose it."""
  import jax

  chosen = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
  return _folder() if chosen == str(_folder()) else None


def _folder() -> pathlib.Path:
  return cache.folder() / "programs" / _machine()


def _machine() -> str:
  """Return the processor's mark: its programs may not run on another."""
  parts = [platform.machine(), platform.processor()]
  cpuinfo = pathlib.Path("/proc/cpuinfo")
  if os.access(cpuinfo, os.R_OK):
    lines = cpuinfo.read_text("utf-8", "replace").splitlines()
    parts += sorted({x for x in lines if x.startswith(("flags", "Features"))})
  digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
  return f"{platform.machine() or 'unknown'}-{digest}"

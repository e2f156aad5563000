"""Compiled programs and traced steps that are kept between runs."""

import functools
import hashlib
import json
import os
import pathlib
from importlib import metadata
from typing import Any

import jax

import models
import robust_tfds
from eval import pipeline, run
from eval.pipeline import kept_traces
from robust_tfds import kept_programs

# Packages that draw pictures, trace steps or compute weights.
_PACKAGES = (
  "flax",
  "jax",
  "jaxlib",
  "numpy",
  "optax",
  "scikit-learn",
  "scipy",
)
# Settings that a user may have changed and that change arithmetic or draws.
_OPTIONS = (
  "jax_default_matmul_precision",
  "jax_default_prng_impl",
  "jax_enable_x64",
  "jax_numpy_dtype_promotion",
  "jax_random_seed_offset",
  "jax_threefry_partitionable",
)


def keep() -> str:
  """Keep programs and traced steps from now on; see `kept_programs.keep`."""
  where = kept_programs.keep("compiled programs and trained weights")
  folder = kept_programs.folder()
  if folder is not None:
    kept_traces.keep_in(folder, json.dumps(surroundings(), sort_keys=True))
  return where


def surroundings() -> dict[str, Any]:
  """Return code, packages, options and devices."""
  return {
    "code": _code(),
    "packages": {name: metadata.version(name) for name in _PACKAGES},
    "options": {name: str(getattr(jax.config, name)) for name in _OPTIONS},
    "devices": [d.device_kind for d in jax.devices()],
    "cores": os.cpu_count(),
  }


@functools.cache
def _code() -> str:
  """Return the sha256 of all modules that draw, train or compute."""
  digest = hashlib.sha256()
  for package in (robust_tfds, pipeline, run, models):
    root = pathlib.Path(str(package.__file__)).parent
    for path in sorted(root.rglob("*.py")):
      digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
  return digest.hexdigest()

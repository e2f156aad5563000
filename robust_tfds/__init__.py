"""Robustness benchmarks as TFDS datasets; importing this registers them.

  import robust_tfds
  import tensorflow_datasets as tfds
  ds = tfds.load("digits_c/gaussian_noise_3", split="test")
  ds = robust_tfds.load("digits_c/gaussian_noise/3", split="test")

Loads neither TensorFlow nor JAX: builders do when they build.
"""

import pathlib
import signal
import sys


def _is_command() -> bool:
  """Whether this program is ours: `robust-tfds`, `python -m models.card`."""
  if sys.argv[:1] != ["-m"]:  # a module's parents are imported under that name
    return pathlib.Path(*sys.argv[:1]).name == "robust-tfds"
  ours = tuple(f"-m {name}." for name in ("eval", "models", "robust_tfds"))
  return " ".join(sys.orig_argv[1:3]).startswith(ours)


# A command's imports take seconds: Ctrl-C ends them without a traceback, until
# `robust_tfds.stopping` listens.
if _is_command():
  signal.signal(signal.SIGINT, signal.SIG_DFL)
_HERE = pathlib.Path(__file__).resolve().parent
# A wheel has `eval`, `models` and `configs` in here; a clone has them beside.
if not (_HERE / "eval").exists() and (_HERE.parent / "eval/main.py").exists():
  __path__.append(str(_HERE.parent))

from robust_tfds import datasets, version  # noqa: E402

__version__ = version.VERSION

load = datasets.load
datasets.register()

__all__ = ("datasets", "load")

"""Robustness benchmarks as TFDS datasets; importing this registers them.

  import robust_tfds
  import tensorflow_datasets as tfds
  ds = tfds.load("digits_c/gaussian_noise_3", split="test")
  ds = robust_tfds.load("digits_c/gaussian_noise/3", split="test")

Loads neither TensorFlow nor JAX: builders do when they build.
"""

import pathlib
import re
import signal
import sys

# A command's imports take seconds: Ctrl-C ends them without a traceback, until
# `robust_tfds.stopping` listens. Of `python -m models.card` the parents are imported
# under the name -m.
_words = sys.orig_argv[1:3] if sys.argv[:1] == ["-m"] else sys.argv[:1]
if re.search(
  r"(^|[/\\])robust-tfds$|^-m (eval|models|robust_tfds)\.", " ".join(_words)
):
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

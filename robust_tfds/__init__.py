"""Robustness benchmarks as TFDS datasets; importing this registers them.

  import robust_tfds
  import tensorflow_datasets as tfds
  ds = tfds.load("digits_c/gaussian_noise_3", split="test")
  ds = robust_tfds.load("digits_c/gaussian_noise/3", split="test")

Loads neither TensorFlow nor JAX: builders do when they build.
"""

from robust_tfds import datasets, version

__version__ = version.VERSION

load = datasets.load
datasets.register()

__all__ = ("datasets", "load")

"""Which packages are installed; everything else is declared in pyproject.toml."""

import sys

import setuptools

packages = setuptools.find_namespace_packages(
  include=["robust_tfds*"], exclude=["*.dummy_data*"]
)
if "editable_wheel" in sys.argv:
  # As in a clone: the short names of the same modules (robust_tfds/short_names.py).
  packages += ["eval", "models", "configs"]
setuptools.setup(packages=packages)

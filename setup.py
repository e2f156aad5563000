"""Which packages are installed; everything else is declared in pyproject.toml."""

import sys

import setuptools

# They lie at the top of the repository; a wheel has them inside robust_tfds.
TOP = ("eval", "models", "configs")


def _packages(top: str) -> list[str]:
  return setuptools.find_namespace_packages(
    include=[top, f"{top}.*"], exclude=["*.dummy_data*"]
  )


packages = _packages("robust_tfds")
if "editable_wheel" in sys.argv:
  # As in a clone: robust_tfds/__init__.py finds them beside itself, and the short
  # names are importable too (robust_tfds/short_names.py).
  setuptools.setup(packages=[*packages, *TOP])
else:
  packages += [f"robust_tfds.{p}" for top in TOP for p in _packages(top)]
  setuptools.setup(
    packages=packages, package_dir={f"robust_tfds.{top}": top for top in TOP}
  )

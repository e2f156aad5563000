"""Our data sets as TFDS finds them: by name, each imported when it is asked for.

A set is a folder of `robust_tfds/datasets` with a file `NAME_dataset_builder.py`; the
folder is the registry.
"""

import functools
import importlib
import pathlib
from typing import Any

import tensorflow_datasets as tfds

_FOLDER = pathlib.Path(__file__).parent / "datasets"


class _Provider:
  """Answers `tfds.builder` and `tfds.load`; of TFDS's `DatasetBuilderProvider`."""

  def has_dataset(self, name: str) -> bool:
    """Return whether a name is of one of our sets."""
    return name in names()

  def get_builder_cls(self, name: str) -> Any:
    """Return the class of a set's builder."""
    return builder_class(name)


@functools.cache
def names() -> tuple[str, ...]:
  """Return the names of all data sets of this package, sorted."""
  files = _FOLDER.glob("*/*_dataset_builder.py")
  folders = [f.parent.name for f in files if _is_of_its_folder(f)]
  return tuple(sorted(folders))


def _is_of_its_folder(file: pathlib.Path) -> bool:
  return file.name == f"{file.parent.name}_dataset_builder.py"


def builder_class(name: str) -> Any:
  """Import the builder of one of `names()`."""
  module = f"{__package__}.datasets.{name}.{name}_dataset_builder"
  return importlib.import_module(module).Builder


def register() -> None:
  """Make every set known to TFDS, before its own sets, which take seconds."""
  tfds.core.add_dataset_builder_provider(_Provider(), index=0)

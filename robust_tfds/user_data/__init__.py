"""Users' own sets, named by a text that says where they are.

  folder:/data/pets        a folder a class, pictures of any sizes
  imagenet_a               a natural set that is known by name: `natural_sets`
  tfds:oxford_iiit_pet     a TFDS set of labelled pictures; `tfds:my_module:Builder`
  videos:/data/clips       a folder a class, videos of any sizes and lengths
  coco:/data/mine.json     boxes, and perhaps masks, in COCO's format
  masks:/data/mine         images/ and masks/: a class id a pixel

A kind is the name before the colon and a file of this package, whose
`builder_class(place, options)` says three things: the classes in label order, the
files with their ids and labels, and which kind of `robust_tfds/building` serves
them. All else is what the benchmarks use. What such a builder says of its set is
its `OWN`, an `OwnSet` (`robust_tfds/building/own_set.py`).
"""

import dataclasses
import importlib
import os
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds import errors, natural_sets, reading
from robust_tfds.building import base
from robust_tfds.building.own_set import Options
from robust_tfds.storage import paths

# What a text begins with -> the file that reads it.
KINDS = {
  "folder": "folder",
  "tfds": "tfds_set",
  "coco": "coco",
  "videos": "videos",
  "masks": "masks",
}
# An option that not all kinds have -> the kinds.
_OPTIONS = {
  "groups": ("videos",),
  "images": ("coco",),
  "drop_alpha": ("folder",),
  "labels": ("folder", "videos"),
  "skip_errors": ("folder", "videos", "coco", "masks"),
  "classes": ("masks",),
  "ignore": ("masks",),
  "target": ("tfds",),
}
NO_OPTIONS = Options()


def is_source(name: object) -> bool:
  """Return whether a text or a TFDS builder is a user's own or a natural set.

  No benchmark has a colon or slash.

  >>> is_source("folder:/data/pets"), is_source("imagenet_c")
  (True, False)
  """
  if isinstance(name, str):
    has_separator = bool({":", "/", os.sep} & set(name))
    return has_separator or natural_sets.is_natural(name)
  return isinstance(name, tfds.core.DatasetBuilder)


def builder_class(
  source: str | tfds.core.DatasetBuilder, options: Options = NO_OPTIONS
) -> type[base.Builder]:
  """Return the builder of a source's set; list its files, and read none.

  Args:
    source: `kind:place`, a natural set, or a builder object in place of `tfds:...`.
    options: what else is said of it.

  Raises:
    UserError: an unknown kind, with the nearest; or a place that holds no such
      set, in words.
  """
  if isinstance(source, str) and natural_sets.is_natural(source):
    check_options(source, options)
    with_classes = dataclasses.replace(options, without_classes=False)
    return _load("natural", source, with_classes)
  kind, place = _split(source) if isinstance(source, str) else ("tfds", source)
  check_options(kind, options)
  made = _load(KINDS[kind], place, options)
  if natural_sets.is_taken(made.set_name()):
    raise errors.UserError(
      f"{made.set_name()!r} is the name of a natural set. If the data are that,"
      " name it alone; else call them otherwise: name= of evaluate,"
      " --config.data.set_name, --set_name of robust-tfds build."
    )
  return made


def class_names(classes: Any) -> tuple[str, ...]:
  """Return the class names: from a file, a comma-separated text, or a list.

  Raises:
    UserError: something in the list is no name.
  """
  if not classes:
    return ()
  if isinstance(classes, str) and paths.is_file(paths.parse(classes)):
    classes = reading.line_list(paths.parse(classes))
  elif isinstance(classes, str):
    classes = classes.split(",")
  pairs = [each for each in classes if isinstance(each, (list, tuple))]
  if pairs:
    raise errors.UserError(
      f"classes= gives {pairs[0][0]!r} the ids {pairs[0][1]}, expected names alone:"
      " a list in the order of the ids 0, 1, ..."
    )
  return tuple(str(name).strip() for name in classes)


def _split(source: str) -> tuple[str, str]:
  """Split a source into kind and place."""
  kind, _, place = source.partition(":")
  if not place or "/" in kind:
    raise errors.UserError(
      f"{source!r} is no benchmark. Data of your own are named by what they are"
      f" and where they lie: {', '.join(f'{k}:...' for k in KINDS)}, e.g."
      " folder:/data/pets for pictures in a folder a class."
    )
  if kind not in KINDS:
    raise errors.unknown_error("kind of data", kind, KINDS)
  return kind, place


def check_options(kind: str, options: Options) -> None:
  """Refuse options that a kind of data does not have.

  Raises:
    UserError: begins with the option, and names the kinds that have it.
  """
  for option, kinds in _OPTIONS.items():
    value = getattr(options, option)
    unset = value is False or value in (None, "", ())  # 0 is an id
    if not unset and kind not in kinds:
      raise errors.UserError(
        f"{option}={value!r}: only {':, '.join(kinds)}: has this option, {kind}: has"
        " not. Leave it out."
      )
  if options.split not in ("", "test") and kind != "tfds":
    raise errors.UserError(
      f"split={options.split!r}: {kind}: has none. Name the folder of the split."
    )


def _load(file: str, place: object, options: Options) -> type[base.Builder]:
  module: Any = importlib.import_module(f"{__name__}.{file}")
  made: type[base.Builder] = module.builder_class(place, options)
  return made

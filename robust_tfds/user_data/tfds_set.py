"""`tfds:NAME`: labelled pictures of a TFDS set, or of a user's own TFDS builder.

  tfds:oxford_iiit_pet      a set that TFDS knows; `NAME/CONFIG` if it has configs
  tfds:cifar10:3.0.2        a version of it, as TFDS writes them
  tfds:my_module:Builder    a builder's class, in a module on Python's path

Ids, and the copy from which pictures are read: `copied_set`.
"""

import dataclasses
import functools
import importlib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import errors
from robust_tfds.building import base, file_formats, own_set
from robust_tfds.reading import picture_folders
from robust_tfds.user_data import copied_set, folder, labelled

_SPLITS = ("test", "validation")  # the first existing one is the default
_VERSION = re.compile(r":[\d.*]+$")


class TfdsSet(copied_set.CopiedSet):
  """The labelled pictures of a builder's split.

  Attributes:
    builder: a TFDS builder.
    part: the split, or a slice of it.
  """

  kind = "tfds"
  of_data_dir = True

  def __init__(
    self, builder: Any, options: own_set.Options, where: str, labels: str = ""
  ):
    """Read the builder's features and splits; prepare and read no data.

    Args:
      builder: a TFDS builder.
      options: see the class.
      where: the source's text.
      labels: the feature of the classes, if known; it may be a sequence.

    Raises:
      UserError: the examples are not pictures with one class each.
    """
    self.builder, self.target = builder, options.target
    self.without_classes = options.without_classes
    if self.without_classes:
      self.image, self.label = _picture(builder, where), ""
      names, several = list(own_set.WITHOUT_CLASSES), False
      if self.target and self.target not in builder.info.features:
        raise errors.unknown_error(
          f"feature of {where}", self.target, builder.info.features
        )
    else:
      self.image, self.label = (
        ("image", labels) if labels else _features(builder, where)
      )
      feature = builder.info.features[self.label]
      several = isinstance(feature, tfds.features.Sequence)
      names = (feature.feature if several else feature).names
    if len(names) < 2 and not self.without_classes:
      raise errors.UserError(
        f"{where}: {self.label} has {len(names)} classes, expected two or more."
      )
    ours = type(builder).__module__.startswith(f"{__name__.partition('.')[0]}.")
    name = options.name or f"{'tfds_' * ours}{builder.name}"
    self.part = _split(builder, options.split)  # may be a slice
    super().__init__(name, where, names, self.part.partition("[")[0])
    self.several = several

  @property
  def is_here(self) -> bool:
    """Whether the set is prepared, or all its pictures are known to have one size."""
    return None not in self._shape or self.builder.is_prepared()

  @property
  def _shape(self) -> tuple[int | None, ...]:
    """The (height, width) of all pictures in the features; None where they vary."""
    shape: tuple[int | None, ...] = self.builder.info.features[self.image].shape
    return shape[:2]

  @functools.cached_property
  def _sizes(self) -> frozenset[tuple[int, int]]:
    """The sizes of the pictures; they are read only if the features state no size."""
    height, width = self._shape
    if height is None or width is None:
      return super()._sizes
    return frozenset([(height, width)])

  def described(self) -> Sequence[str]:
    """Return lines that identify the set: full name, split, and labels if several."""
    several = [f"{i}\t{known}" for i, known in sorted(self.labels.items())]
    return [f"{self.builder.info.full_name} {self.part}", *several]

  @property
  def place(self) -> object:
    """The folder of the prepared set."""
    return self.builder.data_path

  def prepare(self) -> None:
    """Let TFDS prepare the set unless it is prepared.

    Raises:
      UserError: it cannot be prepared, or it does not have the split.
    """
    try:
      self.builder.download_and_prepare(
        file_format=file_formats.foreign_format(self.builder)
      )
    except errors.UserError:
      raise
    except ModuleNotFoundError as e:
      raise errors.missing_package_error(
        "TensorFlow", "tf", f"{self.where}, which is not prepared,"
      ) from e
    except Exception as e:  # of a download or of the user's code
      raise errors.UserError(
        f"{self.where}: it is not prepared in {self.builder.data_dir}, and preparing"
        f" it failed: {errors.user_fault(e)}"
      ) from e
    check_split(self.builder, self.part, self.where)

  def examples(self) -> Iterator[dict[str, Any]]:
    """Yield pictures as bytes, labels and features that name examples."""
    features = dict(self.builder.info.features.items())
    names = [
      n
      for n in copied_set.IDS
      if isinstance(features.get(n), tfds.features.Text)
    ]
    others = filter(None, (self.label, self.target))
    needed = tuple(dict.fromkeys((self.image, *others, *names)))
    chosen: Any = file_formats.skipping([self.image])
    if not file_formats.is_array_record(self.builder):
      needs = dict.fromkeys(needed, True)
      chosen = tfds.decode.PartialDecoding(needs, decoders=chosen)
    try:
      for row in file_formats.rows(self.builder, self.part, chosen):
        yield {name: row[name] for name in needed}
    except errors.MissingPackageError:
      raise
    except Exception as e:  # from TFDS or TensorFlow, e.g. InvalidArgumentError
      raise errors.UserError(
        f"{self.builder.data_path}: its examples are not what the builder of"
        f" {self.where} says: {errors.user_fault(e)} Remove that folder, which"
        " another version of the builder may have prepared, or name another"
        " data_dir."
      ) from e


def check_split(builder: Any, part: str, where: str) -> None:
  """Refuse unknown splits of a prepared set, empty slices and overlapping ones.

  Examples in two added slices would be read twice.

  Args:
    part: a split, or a slice of one.
    where: the set, in words.

  Raises:
    UserError: says which splits there are, or how a slice is written.
  """
  splits = builder.info.splits
  for split in split_names(part):
    if split not in splits:
      raise errors.unknown_error(f"split of {where}", split, splits)
  try:
    count = splits[part].num_examples
  except Exception:  # TFDS raises several kinds
    count = 0
  if count < 1:
    raise errors.UserError(
      f"split={part!r}: no part of {split}, which has"
      f" {splits[split].num_examples:,} examples. Expected one such as"
      f" {split}[:100] or {split}[50%:]."
    )
  spec = tfds.core.ReadInstruction.from_spec(part)
  ranges = sorted(
    (r.splitname, r.from_ or 0, r.to or splits[r.splitname].num_examples)
    for r in spec.to_absolute(splits)
  )
  for (split, _, end), (following, start, _) in itertools.pairwise(ranges):
    if split == following and start < end:
      raise errors.UserError(
        f"split={part!r}: its parts overlap from example {start:,} of {split}"
        " on, which would be read twice. Name parts that do not overlap."
      )


def split_names(part: str) -> list[str]:
  """List the splits of a part; `+` adds several.

  >>> split_names("train[:50%]+test")
  ['train', 'test']
  """
  return [each.partition("[")[0].strip() for each in part.split("+")]


def builder_class(
  place: str | tfds.core.DatasetBuilder, options: own_set.Options
) -> type[base.Builder]:
  """Return the builder of a TFDS set, which is given by its name or TFDS builder."""
  if isinstance(place, tfds.folder_dataset.ImageFolder):
    split = _split(place, options.split)
    name = options.name or picture_folders.name_of(str(place.data_dir))
    options = dataclasses.replace(options, split="", name=name)
    return folder.builder_class(f"{place.data_dir}/{split}", options)
  text, builder = getattr(place, "name", place), place
  if isinstance(place, str):
    builder = builder_of(place, options.data_dir)
  own = TfdsSet(builder, options, f"tfds:{text}")
  return labelled.builder_class(own, options.sequences)


def builder_of(place: str, data_dir: str) -> Any:
  """Return TFDS's builder, preferably in a folder where the set is prepared."""
  named = ":" not in _VERSION.sub("", place)
  made = functools.partial(tfds.builder, place) if named else _class(place)
  # A name may be found in TFDS's default folder too; a class has one folder.
  roots = list(dict.fromkeys([data_dir or None, *[None] * named]))
  try:
    builders = [made(data_dir=root) for root in roots]
  except tfds.core.DatasetNotFoundError as e:
    raise errors.unknown_error("TFDS set", place, tfds.list_builders()) from e
  except Exception as e:  # of the user's code
    raise errors.UserError(
      f"tfds:{place}: its builder fails: {errors.user_fault(e)}"
    ) from e
  return next((b for b in builders if b.is_prepared()), builders[0])


def _class(place: str) -> Any:
  module, _, name = place.partition(":")
  try:
    defined = vars(importlib.import_module(module))
  except Exception as e:  # of the user's code
    raise errors.UserError(
      f"tfds:{place}: its module cannot be imported: {errors.user_fault(e)}"
    ) from e
  builders = {
    key: value
    for key, value in defined.items()
    if isinstance(value, type) and issubclass(value, tfds.core.DatasetBuilder)
  }
  if name not in builders:
    raise errors.unknown_error(
      f"class of a TFDS builder in {module}", name, builders
    )
  return builders[name]


def _picture(builder: Any, where: str) -> str:
  """Return the name of the first picture feature; others are ignored."""
  features = dict(builder.info.features.items())
  keys = builder.info.supervised_keys or ()
  for name in (*keys[:1], "image", *features):
    picture = features.get(str(name))
    if (
      isinstance(picture, tfds.features.Image)
      and np.dtype(picture.np_dtype) == np.uint8
    ):
      return str(name)
  raise errors.UserError(
    f"{where}: expected a picture (Image of uint8) in each example; it has"
    f" {', '.join(features)}."
  )


def _features(builder: Any, where: str) -> tuple[str, str]:
  """Return the names of the features that hold the picture and its class."""
  features = dict(builder.info.features.items())
  for pair in (builder.info.supervised_keys, ("image", "label")):
    picture, label = (features.get(str(name)) for name in (pair or (0, 0))[:2])
    if (
      isinstance(picture, tfds.features.Image)
      and np.dtype(picture.np_dtype) == np.uint8
      and isinstance(label, tfds.features.ClassLabel)
      and label.names
    ):
      return pair[:2]
  held = ", ".join(f"{k}: {type(v).__name__}" for k, v in features.items())
  raise errors.UserError(
    f"{where}: expected a picture (Image of uint8) and one class of it (ClassLabel"
    f" with names) in each example; it has {held}."
    f" {errors.NOT_HERE}; sets of boxes have no class per picture."
  )


def _split(builder: Any, split: str) -> str:
  """Choose the split to read; refuse an unknown one if the set is prepared."""
  there = list(builder.info.splits)
  if split and there and not {*split_names(split)} <= {*there}:
    raise errors.unknown_error(f"split of {builder.name}", split, there)
  usual = [name for name in _SPLITS if name in there]
  return split or [*usual, *there, _SPLITS[0]][0]

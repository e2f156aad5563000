"""`tfds:NAME`: labelled pictures of a TFDS set, or of a user's own TFDS builder.

  tfds:oxford_iiit_pet      a set that TFDS knows; `NAME/CONFIG` if it has configs
  tfds:cifar10:3.0.2        a version of it, as TFDS writes them
  tfds:my_module:Builder    a builder's class, in a module on Python's path

An example's id is the set's own id or file name, if these are unique, else its
position (`test_00042`). The stored bytes of all pictures are copied once into one
temporary file, from which all conditions read in any order.
"""

import dataclasses
import functools
import importlib
import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import errors, strings
from robust_tfds.building import base, file_formats, own_set, source
from robust_tfds.reading import archives, picture_folders
from robust_tfds.user_data import folder, labelled

# Features that may name an example. The first one with unique values is used.
IDS = ("example_id", "id", "file_name", "filename", "image/filename")
_SPLITS = ("test", "validation")  # the first existing one is the default
_VERSION = re.compile(r":[\d.*]+$")


@dataclasses.dataclass(frozen=True)
class _Stored(source.File):
  """A picture in the copy; messages name its set and id."""

  @property
  def where(self) -> str:
    """The beginning of a message about the picture."""
    return f"{self.path}: {self.name}"


class TfdsSet(own_set.OwnSet):
  """The labelled pictures of a builder's split.

  Attributes:
    builder: a TFDS builder.
    part: the split, or a slice of it.
    image: name of the picture's feature.
    label: name of the feature with its class.
    unlabelled: whether pictures with the label -1 (no class) are read too.
  """

  kind = "tfds"
  of_data_dir = True
  unlabelled = False

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

  def files(self) -> Sequence[source.File]:
    """Return the files by id; the first call copies all pictures."""
    return self._files

  @functools.cached_property
  def _files(self) -> list[source.File]:
    self.prepare()
    # Removed with this object, which the run's builder holds.
    self._copy = tempfile.NamedTemporaryFile(
      prefix="robust_tfds_", suffix=".pictures"
    )  # noqa: SIM115
    places, labels, named, without = [], [], [], 0
    targets: list[Any] = []
    for example in self._examples():
      data = example.pop(self.image)
      if self.target:
        targets.append(example[self.target])
      label = example.pop(self.label) if self.label else 0
      known = np.atleast_1d(label).tolist()
      if not known:
        without += 1
        continue
      places.append((self._copy.tell(), self._copy.write(data)))
      labels.append(known)
      named.append(example)
    self._copy.flush()
    ids = ids_of(named, self.split)
    if self.several:
      self.labels = dict(zip(ids, labels, strict=True))
    self.targets = dict(zip(ids, targets))
    self.notes = [
      *self.notes,
      *own_set.counted({"pictures without a label left out": without}),
      f"read from {self.builder.data_path}",
    ]
    rows = zip(ids, labels, places, strict=True)
    files = [self._file(i, known[0], *place) for i, known, place in rows]
    return sorted(files, key=lambda file: file.name)

  def _file(self, name: str, label: int, offset: int, size: int) -> source.File:
    if not (self.unlabelled or 0 <= label < len(self.classes)):
      raise errors.UserError(
        f"{self.where}: {name} has the label {label}, expected 0 to"
        f" {len(self.classes) - 1}. Choose a split with labels."
      )
    member = archives.Member(self._copy.name, name, size, offset)
    return _Stored(name, self.where, member, label)

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

  def _examples(self) -> Iterator[dict[str, Any]]:
    """Yield the examples: picture as bytes, label, and the features of `IDS`."""
    features = dict(self.builder.info.features.items())
    names = [n for n in IDS if isinstance(features.get(n), tfds.features.Text)]
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


def ids_of(named: Sequence[Mapping[str, Any]], split: str) -> Sequence[str]:
  """Return the ids of a split's examples: the first feature of `IDS` without repeats.

  If every feature repeats a value, the ids are positions.

  Args:
    named: for every example, the features that may name it.
    split: name of the split, without a slice.
  """
  for feature in (f for f in IDS if named and f in named[0]):
    ids = [strings.text(each[feature]) for each in named]
    if len(set(ids)) == len(ids):
      return ids
  return [f"{split}_{number:05d}" for number in range(len(named))]


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

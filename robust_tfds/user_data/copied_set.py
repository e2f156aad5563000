"""Labelled pictures inside larger records: copied once, then read in any order.

An example's id is the set's own id or file name, if these are unique, else its
position (`test_00042`). The stored bytes of all pictures are copied once into one
temporary file, from which all conditions read.
"""

import abc
import dataclasses
import functools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import errors, strings
from robust_tfds.building import own_set, source
from robust_tfds.reading import archives

# Features that may name an example. The first one with unique values is used.
IDS = ("example_id", "id", "file_name", "filename", "image/filename")


@dataclasses.dataclass(frozen=True)
class _Stored(source.File):
  """A picture in the copy; messages name its set and id."""

  @property
  def where(self) -> str:
    """The beginning of a message about the picture."""
    return f"{self.path}: {self.name}"


class CopiedSet(own_set.OwnSet):
  """Labelled pictures inside larger records, copied once into a temporary file.

  Attributes:
    image: name of the picture's feature.
    label: name of the feature with its class, or its classes; empty for none.
    target: name of the feature with the target of a custom metric, or empty.
    unlabelled: whether pictures with the label -1 (no class) are read too.
  """

  image: str
  label: str
  target: str = ""
  unlabelled = False

  @property
  @abc.abstractmethod
  def place(self) -> object:
    """The folder of the records."""

  @abc.abstractmethod
  def examples(self) -> Iterator[dict[str, Any]]:
    """Yield pictures as bytes, labels and features of `IDS`, in the set's order."""

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
    for example in self.examples():
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
      f"read from {self.place}",
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

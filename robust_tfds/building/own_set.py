"""What a set of somebody's own says of itself: its name, classes and content."""

import abc
import collections
import concurrent.futures
import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from robust_tfds import errors
from robust_tfds.building import source
from robust_tfds.reading import pictures
from robust_tfds.storage import paths

_DIGITS = 12  # of a content's sha256, where it is a fact
_READERS = 8  # files that are read at once
_LISTED = 5  # classes that are printed


@dataclasses.dataclass(frozen=True)
class Options:
  """What is said of a set beside its place; empty where nothing is.

  Attributes:
    name: of the set; else its kind's default.
    split: of a TFDS set.
    sequences: pictures become ImageNet-P's sequences.
    data_dir: where a TFDS set is looked for, before TFDS's own folder.
    manual_dir: where natural sets that TFDS does not know are looked for.
    groups: of videos, a regular expression whose one part in brackets is, in an
      example's id, what it was cut from: those are drawn together.
    images: the folder of a COCO file's pictures; else its own.
    drop_alpha: leave transparency of a folder's pictures aside.
  """

  name: str = ""
  split: str = ""
  sequences: bool = False
  data_dir: str = ""
  manual_dir: str = ""
  groups: str = ""
  images: str = ""
  drop_alpha: bool = False


class OwnSet(abc.ABC):
  """One set: what does not depend on a condition.

  Attributes:
    kind: the name before the colon; of a natural set its name.
    conditions: that a run shows where none are asked for.
    several: whether several classes of an example may be right.
    reading: of every picture: `border_px`, `upright` of `source.Picture`.
    of_data_dir: whether it is read from a data_dir, of TFDS' other sets.
    members: which of ImageNet's 1,000 classes each is; empty where nobody knows.
    name: of tables, boards and example keys; no path.
    where: the source's text.
    classes: names in label order.
    split: of the builder.
    notes: what a run prints of the files beside the examples, in words.
    labels: of `several`, id -> all right classes, the first is `File.label`.
  """

  kind: str
  conditions: ClassVar[str] = "common"
  several: bool = False
  reading: ClassVar[Mapping[str, Any]] = {}
  of_data_dir: ClassVar[bool] = False
  members: Sequence[Sequence[int]] = ()

  def __init__(
    self,
    name: str,
    where: str,
    classes: Sequence[str],
    split: str = "test",
    notes: Sequence[str] = (),
  ):
    """Refuses a name of a class, or of the set, that no table can hold."""
    self.name, self.where = _checked_name(name), where
    self.split, self.notes = split, notes
    self.classes = tuple(classes)
    self.labels: dict[str, list[int]] = {}
    for each in self.classes:
      if not each.isprintable():
        raise errors.UserError(f"{each!r}: no name of a class: rename it.")

  @abc.abstractmethod
  def files(self) -> Sequence[source.File]:
    """Every example's file: `name` is its id; sorted by it, listed once."""

  def noted(self, file: source.File) -> Sequence[str]:
    """What a run prints of how many files, in words."""
    del file
    return ()

  def described(self) -> Sequence[str]:
    """What else the content is of, e.g. a version; a line each."""
    return ()

  @property
  def is_here(self) -> bool:
    """Whether its files can be listed without preparing it first."""
    return True

  def prepare(self) -> None:  # noqa: B027
    """Make its files, where `is_here` is False."""

  @property
  def sizes(self) -> frozenset[tuple[int, int]]:
    """(height, width) of its upright pictures that can be read; empty: not here."""
    return self._sizes if self.is_here else frozenset()

  @functools.cached_property
  def _sizes(self) -> frozenset[tuple[int, int]]:
    with concurrent.futures.ThreadPoolExecutor(_READERS) as pool:
      sizes = pool.map(self._size_or_none, self.files())
      return frozenset(size for size in sizes if size)

  def _size_or_none(self, file: source.File) -> tuple[int, int] | None:
    try:
      return self.size_of(file)
    except errors.UserError:  # refused where it is read
      return None

  def size_of(self, file: source.File) -> tuple[int, int]:
    """Return (height, width) of a picture; reads its header alone."""
    of = file.path if file.member is None else file.data()
    turned = not self.reading.get("upright", False)
    return pictures.size(of, file.where, ignore_orientation=turned)

  @functools.cached_property
  def content(self) -> str:
    """sha256 over the ids, classes and bytes of all files, in 12 digits.

    Raises:
      UserError: one file in two classes, or a file that cannot be read.
    """
    files = self.files()
    with concurrent.futures.ThreadPoolExecutor(_READERS) as pool:
      digests = list(pool.map(_sha256, files))
      noted = collections.Counter(itertools.chain(*pool.map(self.noted, files)))
    first: dict[str, source.File] = {}
    lines = []
    for file, digest in zip(files, digests, strict=True):
      other = first.setdefault(digest, file)
      if other.label != file.label:
        raise errors.UserError(
          f"{file.where} (class {self._class(file)}) and {other.where} (class"
          f" {self._class(other)}) are one file, byte for byte. Remove it"
          " from the class that it is not of."
        )
      noted["files that repeat another of their class, byte for byte"] += (
        other is not file
      )
      lines.append(f"{file.name}\t{self._class(file)}\t{digest}")
    self.notes = [*self.notes, *counted(noted)]
    text = "\n".join([*self.described(), *sorted(lines)])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

  @property
  def words(self) -> str:
    """Name, size, classes and content, for the screen; reads all files."""
    listed = ", ".join(self.classes[:_LISTED])
    more = ", ..." if len(self.classes) > _LISTED else ""
    examples = f"{len(self.files()):,} examples"
    of_classes = f"{len(self.classes)} classes ({listed}{more})"
    whole = f"{self.name}: {examples} of {of_classes}, content {self.content}"
    return "; ".join([whole, *self.notes]) + "."

  def _class(self, file: source.File) -> str:
    return "" if file.label is None else self.classes[file.label]


def counted(counts: Mapping[str, int]) -> list[str]:
  """`words: number` of what there is any of."""
  return [f"{words}: {n:,}" for words, n in counts.items() if n]


def _checked_name(name: str) -> str:
  """A set's name; it stands in tables, file names and lists with commas."""
  if not name.strip() or not name.isprintable() or set(name) & set(",:;/\\"):
    raise errors.UserError(
      f"{name!r} cannot name a set of data: expected letters, digits, spaces, - _"
      " and dots. Give another one: name= of evaluate, --config.data.set_name,"
      " --set_name of robust-tfds build."
    )
  return name


def check_distinct(names: Sequence[str], what: str) -> None:
  """Refuses names that are one on systems that take large letters for small.

  Args:
    names: normalized by Unicode's NFC.
    what: they name, for the refusal.
  """
  first: dict[str, str] = {}
  counts = collections.Counter(name.casefold() for name in names)
  for name in (n for n in names if counts[n.casefold()] > 1):
    other = first.setdefault(name.casefold(), name)
    if other is not name:
      raise errors.UserError(
        f"{what} {other!r} and {name!r} differ by case or by the form of their"
        " Unicode alone, and are one on other systems. Rename one."
      )


def _sha256(file: source.File) -> str:
  try:
    if file.member is None:
      return paths.sha256(file.path)
    return hashlib.sha256(file.data()).hexdigest()
  except OSError as e:
    raise errors.UserError(
      f"{file.where}: cannot be read: {e.strerror}."
    ) from e

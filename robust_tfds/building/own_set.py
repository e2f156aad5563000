"""The description of a user's own set: its name, classes and content."""

import abc
import collections
import concurrent.futures
import dataclasses
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from robust_tfds import errors
from robust_tfds.building import source
from robust_tfds.reading import pictures
from robust_tfds.storage import paths

_DIGITS = 12  # digits of a content's sha256 in facts
_READERS = 8  # files that are read at once
_LISTED = 5  # classes that are printed
ORDERS = ("textual", "numeric")  # of classes with numbers as names
_SHOWN = 12  # classes of an order in a refusal
_NAMED = 10  # files that cannot be read in a refusal
WITHOUT_CLASSES = ("example",)  # the only class of sets without classes


@dataclasses.dataclass(frozen=True)
class Options:
  """The options of a set besides its place; empty if not set.

  Attributes:
    name: name of the set; default: its kind's.
    split: split of a TFDS set.
    sequences: whether pictures become ImageNet-P's sequences.
    data_dir: folder that is searched for a TFDS set before TFDS's own.
    manual_dir: folder that is searched for natural sets that TFDS does not
      know.
    groups: for videos, a regular expression whose only group matches, in an
      example's id, the name of its source: clips of one source are drawn
      together.
    images: the folder of a COCO file's pictures; default: the file's own.
    drop_alpha: whether transparency of a folder's pictures is ignored.
    labels: for a folder without class folders, a table of `path` and `label`.
    skip_errors: whether unreadable files are left out.
    without_classes: whether classes are not asked for: all examples are of one.
    target: for a TFDS set, the feature that holds each example's target.
    classes: for masks, the names of the ids 0, 1, ...
    ignore: for masks, the id of pixels that do not count; None: 255.
  """

  name: str = ""
  split: str = ""
  sequences: bool = False
  data_dir: str = ""
  manual_dir: str = ""
  groups: str = ""
  images: str = ""
  drop_alpha: bool = False
  labels: str = ""
  skip_errors: bool = False
  without_classes: bool = False
  target: str = ""
  classes: tuple[str, ...] = ()
  ignore: int | None = None


class OwnSet(abc.ABC):
  """A user's own set: everything that does not depend on a condition.

  Attributes:
    kind: the name before the colon; for a natural set its name.
    annotated: the classes that have any boxes; empty if all have.
    conditions: the conditions of a run that names none.
    several: whether several classes of an example may be right.
    reading: options of every picture: `border_px`, `upright` of
      `source.Picture`.
    of_data_dir: whether it is read from a data_dir, like TFDS's other sets.
    members: which of ImageNet's 1,000 classes each class is; empty if unknown.
    joined: what a class of several members gets of their probabilities: the
      `best` or the `mean`.
    is_squashed: whether both sides are resized to a model's, without its crop.
    is_ordered: whether the set itself defines the order of its classes; folders
      do not.
    name: its name in tables, boards and example keys; not a path.
    where: the source's text.
    classes: names in label order.
    split: the builder's split.
    notes: what a run prints about other files, in words.
    labels: with `several`, id -> all right classes; the first is `File.label`.
    left_out: number of unreadable files that were left out.
    targets: id -> the target of a custom metric, where the set holds them.
  """

  kind: str
  annotated: Sequence[str] = ()
  conditions: ClassVar[str] = "common"
  several: bool = False
  reading: ClassVar[Mapping[str, Any]] = {}
  of_data_dir: ClassVar[bool] = False
  members: Sequence[Sequence[int]] = ()
  joined: Literal["best", "mean"] = "best"
  is_squashed: bool = False
  is_ordered: ClassVar[bool] = True
  left_out: int = 0

  def __init__(
    self,
    name: str,
    where: str,
    classes: Sequence[str],
    split: str = "test",
    notes: Sequence[str] = (),
  ):
    """Create the set; refuse a name of a class, or of the set, that no table
    can hold.
    """
    self.name, self.where = _checked_name(name), where
    self.split, self.notes = split, notes
    self.classes = tuple(classes)
    self.labels: dict[str, list[int]] = {}
    self.targets: dict[str, Any] = {}
    for each in self.classes:
      if not each.isprintable():
        raise errors.UserError(f"{each!r}: no name of a class: rename it.")

  @property
  def two_orders(self) -> str:
    """The two orders of classes that are numbers, in words; '' if they agree."""
    if self.is_ordered or _numbers(self.classes) is None:
      return ""
    orders = {order: ordered(self.classes, order) for order in ORDERS}
    if orders["textual"] == orders["numeric"]:
      return ""
    more = ", ..." * (len(self.classes) > _SHOWN)
    return "; ".join(
      f"{order} {', '.join(names[:_SHOWN])}{more}"
      for order, names in orders.items()
    )

  @abc.abstractmethod
  def files(self) -> Sequence[source.File]:
    """Return every example's file: `name` is its id; sorted by it, listed once."""

  def file_notes(self, file: source.File) -> Sequence[str]:
    """Return what a run prints about a file, counted over files, in words."""
    del file
    return ()

  def decode(self, file: source.File) -> None:
    """Decode a file as a run does.

    Raises:
      UserError: it cannot be decoded.
    """
    source.Picture(file, **self.reading).read()

  def check_decoded(self) -> None:
    """Refuse the set if files cannot be decoded, naming them all."""
    files = self.files()
    self._refuse(self._each(self._decoded, files)[1], len(files))

  def without_broken(self, files: Sequence[source.File]) -> list[source.File]:
    """Return the files that can be decoded, counting the others.

    Raises:
      UserError: none can be decoded.
    """
    _, faults = self._each(self._decoded, files)
    if len(faults) == len(files):
      self._refuse(faults, len(files))
    self.left_out = len(faults)
    named = ", ".join([*faults][:_NAMED]) + ", ..." * (len(faults) > _NAMED)
    if faults:
      words = f"files that cannot be read left out: {len(faults):,} ({named})"
      self.notes = [*self.notes, words]
    return [file for file in files if file.name not in faults]

  def _each(
    self, look: Callable[[source.File], Any], files: Sequence[source.File]
  ) -> tuple[list[Any], dict[str, str]]:
    """Return the results of `look` for every file, and id -> why it fails."""
    faults: dict[str, str] = {}

    def tried(file: source.File) -> Any:
      try:
        return look(file)
      except errors.MissingPackageError:
        raise
      except errors.UserError as e:
        faults[file.name] = str(e)
      except OSError as e:
        faults[file.name] = f"{file.where}: cannot be read: {e.strerror}."

    with concurrent.futures.ThreadPoolExecutor(_READERS) as pool:
      seen = list(pool.map(tried, files))
    return seen, dict(sorted(faults.items()))

  def _decoded(self, file: source.File) -> None:
    self.file_notes(file)
    self.decode(file)

  def _refuse(self, faults: Mapping[str, str], count: int) -> None:
    """Refuse files that cannot be used, if there are any."""
    if not faults:
      return
    lines = [
      f"{self.where}: {len(faults):,} of {count:,} files cannot be used:"
    ]
    lines += [*faults.values()][:_NAMED]
    if len(faults) > _NAMED:
      lines.append(f"... and {len(faults) - _NAMED:,} more.")
    lines.append(
      "Mend or remove them; skip_errors=True of evaluate"
      " (--config.data.skip_errors) leaves them out."
    )
    raise errors.UserError("\n".join(lines))

  def described(self) -> Sequence[str]:
    """Return other descriptions of the content, e.g. a version, one per line."""
    return ()

  @property
  def is_here(self) -> bool:
    """Whether its files can be listed without preparing it first."""
    return True

  def prepare(self) -> None:  # noqa: B027
    """Prepare its files, if `is_here` is False."""

  @property
  def sizes(self) -> frozenset[tuple[int, int]]:
    """The sizes (height, width) of its upright readable pictures; empty if not
    here.
    """
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
    """Return (height, width) of a picture; only its header is read."""
    stored = file.path if file.member is None else file.data()
    turned = not self.reading.get("upright", False)
    return pictures.size(stored, file.where, ignore_orientation=turned)

  @functools.cached_property
  def content(self) -> str:
    """Return 12 hexadecimal digits of a sha256 over ids, classes and bytes of
    all files.

    Raises:
      UserError: one file in two classes, or a file that cannot be read.
    """
    files = self.files()
    seen, faults = self._each(self.file_notes, files)
    self._refuse(faults, len(files))
    remarks = collections.Counter(itertools.chain(*seen))
    with concurrent.futures.ThreadPoolExecutor(_READERS) as pool:
      digests = list(pool.map(_sha256, files))
    first: dict[str, source.File] = {}
    lines = []
    for file, digest in zip(files, digests, strict=True):
      other = first.setdefault(digest, file)
      if other.label != file.label and not self.several:
        raise errors.UserError(
          f"{file.where} (class {self._class(file)}) and {other.where} (class"
          f" {self._class(other)}) are one file, byte for byte. Remove it"
          " from the class that it is not of."
        )
      remarks["files that repeat another of their class, byte for byte"] += (
        other is not file
      )
      lines.append(f"{file.name}\t{self._class(file)}\t{digest}")
    self.notes = [*self.notes, *counted(remarks)]
    left_out = [f"left out\t{self.left_out}"] * bool(self.left_out)
    text = "\n".join([*self.described(), *left_out, *sorted(lines)])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

  @property
  def words(self) -> str:
    """Return name, size, classes and content, for the screen; this reads all
    files.
    """
    listed = ", ".join(self.classes[:_LISTED])
    more = ", ..." if len(self.classes) > _LISTED else ""
    examples = f"{len(self.files()):,} examples"
    of_classes = f" of {len(self.classes)} classes ({listed}{more})"
    of_classes *= self.classes != WITHOUT_CLASSES
    whole = f"{self.name}: {examples}{of_classes}, content {self.content}"
    return "; ".join([whole, *self.notes]) + "."

  def _class(self, file: source.File) -> str:
    return "" if file.label is None else self.classes[file.label]


def ordered(names: Sequence[str], order: str) -> list[str]:
  """Return the names in an order of `ORDERS`.

  >>> ordered(["c10", "c2", "c1"], "numeric"), ordered(["10", "9"], "textual")
  (['c1', 'c2', 'c10'], ['10', '9'])

  Raises:
    UserError: `numeric`, of names that are no numbers.
  """
  if order == "textual":
    return sorted(names)
  numbers = _numbers(names)
  if numbers is None:
    few = ", ".join(names[:3]) or "unknown"
    raise errors.UserError(
      f"classes={order!r}: the classes are {few}, ..., expected numbers."
    )
  return sorted(names, key=lambda name: (numbers[name], name))


def _numbers(names: Sequence[str]) -> dict[str, float] | None:
  """Return the number of each name, if all are numbers, have one text around
  numbers, or begin with a number (`1_cat`).
  """
  found = [re.fullmatch(r"(\D*)(\d+)(\D*)", name) for name in names]
  parts = [match.groups() for match in found if match]
  if len(parts) == len(names) and len({(a, b) for a, _, b in parts}) == 1:
    return {n: int(p[1]) for n, p in zip(names, parts, strict=True)}
  first = {n: int(m[0]) for n in names if (m := re.match(r"\d+", n))}
  if len(first) == len(names) == len({*first.values()}):
    return dict(first)
  try:
    return {name: float(name) for name in names} or None
  except ValueError:
    return None


def counted(counts: Mapping[str, int]) -> list[str]:
  """Return `words: number` for the non-zero counts."""
  return [f"{words}: {n:,}" for words, n in counts.items() if n]


def _checked_name(name: str) -> str:
  """Check a set's name, which appears in tables, file names and comma-separated
  lists.
  """
  if not name.strip() or not name.isprintable() or set(name) & set(",:;/\\"):
    raise errors.UserError(
      f"{name!r} cannot name a set of data: expected letters, digits, spaces, - _"
      " and dots. Give another one: name= of evaluate, --config.data.set_name,"
      " --set_name of robust-tfds build."
    )
  return name


def check_distinct(names: Sequence[str], what: str) -> None:
  """Refuse names that are equal on case-insensitive systems.

  Args:
    names: names normalized by Unicode's NFC.
    what: the word for what they name, for the message.
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

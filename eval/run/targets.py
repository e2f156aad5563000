"""Targets of a metric of one's own, by the ids of examples.

{id: anything}        a mapping; a JSON object by id
labels.csv            a row an id (column `id`, `example_id` or `path`); the other
                      columns become an array, of numbers if all are
folder:PATH           `.npy`, pictures (as stored) or `.json` beside: of the
                      example `cat/1.jpg` the file `cat/1.*` below the folder
f(id)                 a function
tfds:FEATURE          a feature of the TFDS set that is run
clean                 the model's own answer to the clean picture
"""

import dataclasses
import functools
import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eval.tasks.parts import own_metrics
from models.own import source as own_source
from robust_tfds import errors, reading
from robust_tfds.building import base
from robust_tfds.reading import picture_folders, pictures
from robust_tfds.storage import paths

FOLDER, TFDS = "folder:", "tfds:"
_DIGITS = 12
_IDS = ("id", "example_id", "path")  # columns that name an example
_SUFFIXES = (".npy", ".json", *sorted(picture_folders.EXTENSIONS))
_FEW = 3


@dataclasses.dataclass(frozen=True)
class Mapped:
  """Targets in memory."""

  by_id: Mapping[str, Any]

  @property
  def ids(self) -> Sequence[str]:
    """The ids of all targets."""
    return list(self.by_id)

  @functools.cached_property
  def digest(self) -> str:
    """A hash of ids and targets."""
    return digest(sorted(self.by_id.items()))

  def of(self, example_id: str) -> Any:
    """Return the target of an example."""
    return self.by_id[example_id]


@dataclasses.dataclass(frozen=True)
class Nothing:
  """No targets: a metric gets None."""

  ids: None = None
  digest: str = ""

  def of(self, example_id: str) -> None:
    """Return None."""


@dataclasses.dataclass(frozen=True)
class Called:
  """Targets of a function of the id."""

  function: Callable[[str], Any]
  ids: None = None

  @functools.cached_property
  def digest(self) -> str:
    """A hash of its source."""
    return source_digest(self.function)

  def of(self, example_id: str) -> Any:
    """Return the target of an example.

    Raises:
      UserError: the function fails.
    """
    try:
      return self.function(example_id)
    except Exception as e:
      raise errors.UserError(
        f"targets: the function fails on the id {example_id!r}:"
        f" {errors.user_fault(e)}."
      ) from e


@dataclasses.dataclass(frozen=True)
class Files:
  """Targets in files below a folder, read one by one.

  Attributes:
    place: the folder, in words.
    by_id: path without its suffix -> file.
    examples: the ids of the data set's examples by their paths without suffix.
  """

  place: str
  by_stem: Mapping[str, str]
  examples: Mapping[str, str]

  @property
  def ids(self) -> Sequence[str]:
    """The ids of all targets; of no example the path below the folder."""
    return [self.examples.get(stem, stem) for stem in self.by_stem]

  @functools.cached_property
  def digest(self) -> str:
    """A hash of the paths and bytes of all files."""
    return digest([(k, paths.sha256(v)) for k, v in self.by_stem.items()])

  def of(self, example_id: str) -> Any:
    """Return the target of an example."""
    path = self.by_stem[_stem(example_id)]
    if path.endswith(".npy"):
      return reading.npy_file(path)
    if path.endswith(".json"):
      return reading.json_file(path)
    with pictures.opened(path) as image:
      return np.asarray(image)


def read(
  targets: Any, builder: type[base.Builder]
) -> own_metrics.Targets | None:
  """Return targets as they were named; None of the clean answer.

  Args:
    targets: see the module; None or '': no targets.
    builder: of the data set, whose ids they are of.

  Raises:
    UserError: no such file, folder or feature, or targets of another kind.
  """
  if targets is None or isinstance(targets, str) and not targets:
    return Nothing()
  if isinstance(targets, Mapping):
    return Mapped(_by_text(targets))
  if callable(targets):
    return Called(targets)
  if not isinstance(targets, (str, os.PathLike)):
    raise errors.UserError(
      f"targets: got a {type(targets).__name__}, expected a mapping from ids, a"
      " .json or .csv file, folder:PATH, tfds:FEATURE, or a function of the id."
    )
  text = os.fspath(targets)
  if text == own_metrics.CLEAN:
    return None
  if text.startswith(TFDS):
    own = builder.OWN
    if own is None or own.kind != "tfds":
      raise errors.UserError(
        f"targets={text!r}: {builder.set_name()} is no TFDS set. Name the data"
        " tfds:NAME, or targets of another kind."
      )
    return Mapped(_Late(lambda: own.targets))
  if text.startswith(FOLDER):
    return _files(text, builder)
  return Mapped(_file(text))


def check(
  targets: own_metrics.Targets | None,
  ids: Sequence[str],
  builder: type[base.Builder],
) -> None:
  """Refuse targets that lack, or that are of no example.

  Args:
    ids: of the examples that are used.

  Raises:
    UserError: names the first ids.
  """
  if targets is None or targets.ids is None:
    return
  there = set(targets.ids)
  every = set(ids)
  if builder.OWN:
    every |= {file.name for file in builder.OWN.files()}
  lacking = [i for i in ids if i not in there]
  others = sorted(there - every) if builder.OWN else []
  if not lacking and not others:
    return
  faults = []
  if lacking:
    faults.append(
      f"{len(lacking):,} of {len(ids):,} examples have none: {_few(lacking)}"
    )
  if others:
    faults.append(f"{len(others):,} are of no example: {_few(others)}")
  raise errors.UserError(
    f"targets: {'; '.join(faults)}. Expected one for each example's id, such as"
    f" {_few(ids[:1])} (the path below the folder; of TFDS sets their own)."
  )


def digest(value: Any) -> str:
  """Return 12 hexadecimal digits of a value's content."""
  out = hashlib.sha256()
  for part in _bytes(value):
    out.update(part)
  return out.hexdigest()[:_DIGITS]


def source_digest(function: Callable[..., Any]) -> str:
  """Return 12 hexadecimal digits of a function's source, or of its code."""
  known: Any = own_source.code_hashes(function)
  if not known:  # typed in, or of an installed package
    code = getattr(function, "__code__", None)
    parts = (code.co_code, repr(code.co_consts), code.co_names) if code else ()
    name = getattr(function, "__qualname__", type(function).__qualname__)
    known = (getattr(function, "__module__", ""), name, *map(repr, parts))
  return digest(known)


class _Late(Mapping[str, Any]):
  """A mapping that is made when it is first read: a set may not be prepared."""

  def __init__(self, make: Callable[[], Mapping[str, Any]]):
    self._make = make

  @functools.cached_property
  def _all(self) -> Mapping[str, Any]:
    return self._make()

  def __getitem__(self, key: str) -> Any:
    return self._all[key]

  def __iter__(self) -> Iterator[str]:
    return iter(self._all)

  def __len__(self) -> int:
    return len(self._all)


def _bytes(value: Any) -> Iterator[bytes]:
  if isinstance(value, Mapping):
    value = sorted(value.items())
  if isinstance(value, np.ndarray) and value.dtype != np.object_:
    yield f"{value.dtype}{value.shape}".encode()
    yield np.ascontiguousarray(value).tobytes()
  elif isinstance(value, (list, tuple)):
    yield f"[{len(value)}".encode()
    for each in value:
      yield from _bytes(each)
  elif isinstance(value, (str, int, float, bool, type(None))):
    yield f"{type(value).__name__}{value!r};".encode()
  else:
    try:
      yield pickle.dumps(value)
    except Exception as e:
      raise errors.UserError(
        f"targets: a {type(value).__name__} cannot be hashed, and a run could not"
        f" tell whether it changed: {errors.user_fault(e)}. Use arrays, numbers,"
        " texts, lists and dicts of them."
      ) from e


def _by_text(targets: Mapping[Any, Any]) -> dict[str, Any]:
  for key in targets:
    if not isinstance(key, str):
      raise errors.UserError(
        f"targets: got the id {key!r} ({type(key).__name__}), expected texts: the"
        " ids of examples."
      )
  return dict(targets)


def _file(text: str) -> Mapping[str, Any]:
  path = paths.parse(text, "targets")
  if path.suffix == ".csv":
    return _table(text)
  if path.suffix != ".json":
    raise errors.UserError(
      f"targets={text!r}: expected a .json or .csv file, folder:PATH, tfds:FEATURE"
      " or clean."
    )
  found = reading.json_file(path)
  if not isinstance(found, Mapping):
    raise errors.UserError(
      f"targets={text!r}: expected an object by id, got a {type(found).__name__}."
    )
  return {key: _as_array(value) for key, value in found.items()}


def _as_array(value: Any) -> Any:
  """Return lists of numbers as arrays; anything else as it is."""
  if isinstance(value, Mapping):
    return {key: _as_array(each) for key, each in value.items()}
  if isinstance(value, list):
    try:
      array = np.asarray(value)
    except ValueError:  # lists of unequal length
      return value
    return array if array.dtype.kind in "biuf" else value
  return value


def _table(text: str) -> dict[str, np.ndarray]:
  out: dict[str, list[str]] = {}
  for line, row in reading.csv_file(text):
    key = next((name for name in _IDS if name in row), "")
    if not key or len(row) < 2:
      raise errors.UserError(
        f"targets={text!r}: got the columns {', '.join(row)}, expected one of"
        f" {', '.join(_IDS)}, and others for the target."
      )
    name = row.pop(key)
    if name in out:
      raise errors.UserError(f"targets={text!r}: line {line}: {name!r} twice.")
    out[name] = list(row.values())
  try:
    return {name: np.array(row, np.float64) for name, row in out.items()}
  except ValueError:  # texts
    return {name: np.array(row, np.str_) for name, row in out.items()}


def _files(text: str, builder: type[base.Builder]) -> Files:
  place = text.removeprefix(FOLDER)
  root = paths.parse(place, "targets")
  if not root.is_dir():
    raise errors.UserError(f"targets={text!r}: there is no such folder.")
  by_stem: dict[str, str] = {}
  walk = picture_folders.Walk(root, _SUFFIXES)
  for path in sorted(walk.files()):
    stem = _stem(picture_folders.example_id(path, root))
    if stem in by_stem:
      raise errors.UserError(
        f"targets={text!r}: {by_stem[stem]} and {path} are both of {stem}. Keep"
        " one."
      )
    by_stem[stem] = os.fspath(path)
  if not by_stem:
    raise errors.UserError(
      f"targets={text!r}: it holds no .npy, .json or pictures."
    )
  own = builder.OWN
  examples = {_stem(f.name): f.name for f in own.files()} if own else {}
  return Files(text, by_stem, examples)


def _stem(example_id: str) -> str:
  return os.path.splitext(example_id)[0]


def _few(ids: Sequence[str]) -> str:
  more = ", ..." * (len(ids) > _FEW)
  return ", ".join(json.dumps(i, ensure_ascii=False) for i in ids[:_FEW]) + more

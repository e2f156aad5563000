"""Targets of a custom metric, by the ids of examples.

{id: anything}    a mapping, or the file of a JSON object, whose lists become arrays
labels.csv        a row per id (column `id`, `example_id` or `path`); the other
                  columns become an array, of numbers if all of them are numbers
folder:PATH       for the example `cat/1.jpg`, the file `cat/1.*` below the folder: a
                  `.npy`, a `.json` or a picture as it is stored
f(id)             a function
tfds:FEATURE      a feature of the TFDS set that is run
clean             the model's own answer to the clean picture
"""

import dataclasses
import functools
import hashlib
import json
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.tasks.parts import own_metrics
from models.own import source as own_source
from robust_tfds import errors, reading
from robust_tfds.building import base
from robust_tfds.reading import picture_folders, pictures
from robust_tfds.storage import paths

FOLDER, TFDS = "folder:", "tfds:"
_IDS = ("id", "example_id", "path")  # columns that name an example
_SUFFIXES = (".npy", ".json", *sorted(picture_folders.EXTENSIONS))


@dataclasses.dataclass(frozen=True)
class Targets:
  """Targets that are looked up when they are first needed.

  Attributes:
    find: returns id -> item, the target or its file; None: `load` takes any id.
    load: makes a target from an item, or from an id if `find` is None.
    hashed: returns the part of an item, or of `load`, that the digest covers.
  """

  find: Callable[[], Mapping[str, Any]] | None
  load: Callable[[Any], Any] = lambda target: target
  hashed: Callable[[Any], Any] = lambda target: target

  @functools.cached_property
  def items(self) -> Mapping[str, Any] | None:
    """The items by id; None if `load` takes any id."""
    return self.find() if self.find else None

  @functools.cached_property
  def digest(self) -> str:
    """A hash of the content, or of the function's source."""
    if self.items is None:
      return digest(self.hashed(self.load))
    return digest({key: self.hashed(each) for key, each in self.items.items()})

  def target(self, example_id: str) -> Any:
    """Return the target of an example.

    Raises:
      UserError: a function of the user's fails, or a file cannot be read.
    """
    if self.items is not None:
      return self.load(self.items[example_id])
    try:
      return self.load(example_id)
    except Exception as e:
      raise errors.UserError(
        f"targets: the function fails on the id {example_id!r}:"
        f" {errors.user_fault(e)}."
      ) from e


def read(targets: Any, builder: type[base.Builder]) -> Targets | None:
  """Return the targets that a keyword names, see the module; None for `clean`.

  Raises:
    UserError: no such file, folder or feature, or another kind of thing.
  """
  if isinstance(targets, Mapping):
    if wrong := [key for key in targets if not isinstance(key, str)]:
      raise errors.UserError(
        f"targets: got the id {wrong[0]!r} ({type(wrong[0]).__name__}), expected"
        " texts: the ids of examples."
      )
    return Targets(lambda: targets)
  if callable(targets):
    return Targets(None, targets, source_digest)
  text = os.fspath(targets) if isinstance(targets, os.PathLike) else targets
  if text is None:
    return Targets(None, lambda _: None, lambda _: "")
  if isinstance(text, str) and text == own_metrics.CLEAN:
    return None
  if isinstance(text, str) and text.startswith(TFDS):
    return Targets(lambda: _tfds_targets(text, builder))
  if isinstance(text, str) and text.startswith(FOLDER):
    return Targets(lambda: _files(text, builder), _loaded, paths.sha256)
  if isinstance(text, str) and text.endswith((".json", ".csv")):
    found = _table(text) if text.endswith(".csv") else _json(text)
    return Targets(lambda: found)
  raise errors.UserError(
    f"targets={targets!r}: expected a mapping from ids, a .json or .csv file,"
    " folder:PATH, tfds:FEATURE, a function of the id, or 'clean'."
  )


def check(
  targets: Targets | None, ids: Sequence[str], builder: type[base.Builder]
) -> None:
  """Refuse targets if a used id has none, or if one belongs to no example.

  Raises:
    UserError: it names the first such ids.
  """
  if targets is None or targets.items is None:
    return
  own = builder.OWN
  every = {*ids, *(file.name for file in (own.files() if own else ()))}
  lacking = [i for i in ids if i not in targets.items]
  others = [i for i in targets.items if own and i not in every]
  faults = [
    *[f"{len(lacking):,} of {len(ids):,} examples have none: {_few(lacking)}"]
    * bool(lacking),
    *[f"{len(others):,} belong to no example: {_few(others)}"] * bool(others),
  ]
  if faults:
    raise errors.UserError(
      f"targets: {'; '.join(faults)}. Expected one for each example's id, such as"
      f" {_few(ids[:1])} (the path below the folder; of TFDS sets their own)."
    )


def digest(value: Any) -> str:
  """Return 12 hexadecimal digits of a value's content."""
  text = json.dumps(value, sort_keys=True, default=_content)
  return hashlib.sha256(text.encode()).hexdigest()[:12]


def source_digest(function: Any) -> str:
  """Return 12 hexadecimal digits of a function's source and of its state.

  The state is its closure, its defaults, the arguments of a partial function and the
  attributes of an object. Without a source file, the bytecode is hashed instead.
  """

  def held(thing: Any, *names: str) -> list[Any]:
    return [_content(getattr(thing, name, None)) for name in names]

  code: Any = getattr(function, "__code__", None)
  closure: Any = getattr(function, "__closure__", None) or ()
  return digest(
    [
      own_source.code_hashes(function)
      or held(code, "co_code", "co_names", "co_consts"),
      held(function, "__qualname__", "__defaults__", "args", "keywords"),
      held(function, "__dict__"),
      [_content(cell.cell_contents) for cell in closure],
    ]
  )


def _content(value: Any) -> Any:
  """Return what represents an object in a hash: its bytes, else only its type."""
  try:
    array = np.asarray(value)
    is_plain = array.dtype != np.object_
    data = array.tobytes() if is_plain else pickle.dumps(value)
  except Exception:  # lists of unequal length, and what cannot be pickled
    return [type(value).__qualname__]
  return [str(array.dtype), array.shape, hashlib.sha256(data).hexdigest()]


def _tfds_targets(text: str, builder: type[base.Builder]) -> Mapping[str, Any]:
  own = builder.OWN
  if own is None or own.kind != "tfds":
    raise errors.UserError(
      f"targets={text!r}: {builder.set_name()} is no TFDS set (tfds:NAME)."
    )
  own.files()
  return own.targets


def _json(text: str) -> dict[str, Any]:
  found = reading.json_file(paths.parse(text, "targets"))
  if not isinstance(found, Mapping):
    raise errors.UserError(
      f"targets={text!r}: expected an object by id, got a {type(found).__name__}."
    )
  return {key: _lists_as_arrays(value) for key, value in found.items()}


def _lists_as_arrays(value: Any) -> Any:
  """Return a JSON value with arrays for lists of numbers."""
  if isinstance(value, Mapping):
    return {key: _lists_as_arrays(each) for key, each in value.items()}
  try:
    array = np.asarray(value if isinstance(value, list) else None)
  except ValueError:  # lists of unequal length
    return value
  return array if array.dtype.kind in "biuf" else value


def _table(text: str) -> dict[str, np.ndarray]:
  rows: dict[str, list[str]] = {}
  for line, row in reading.csv_file(text):
    key = next((name for name in _IDS if name in row), "")
    if not key or len(row) < 2 or row[key] in rows:
      raise errors.UserError(
        f"targets={text!r}: line {line}: {row}: expected one of the columns"
        f" {', '.join(_IDS)}, each id once, and others for the target."
      )
    name = row.pop(key)
    rows[name] = list(row.values())
  try:
    return {name: np.array(row, np.float64) for name, row in rows.items()}
  except ValueError:  # texts
    return {name: np.array(row, np.str_) for name, row in rows.items()}


def _files(text: str, builder: type[base.Builder]) -> dict[str, str]:
  """Return example id -> file; a file of no example has its path as the id."""
  root = paths.parse(text.removeprefix(FOLDER), "targets")
  if not root.is_dir():
    raise errors.UserError(f"targets={text!r}: there is no such folder.")
  own = builder.OWN
  stems = {_stem(f.name): f.name for f in (own.files() if own else ())}
  out: dict[str, str] = {}
  for path in sorted(picture_folders.Walk(root, _SUFFIXES).files()):
    stem = _stem(picture_folders.example_id(path, root))
    name = stems.get(stem, stem)
    if name in out:
      raise errors.UserError(
        f"targets={text!r}: {out[name]} and {path} are both of {stem}. Keep one."
      )
    out[name] = os.fspath(path)
  return out


def _loaded(path: str) -> Any:
  if path.endswith((".npy", ".json")):
    is_json = path.endswith(".json")
    return (
      _lists_as_arrays(reading.json_file(path))
      if is_json
      else reading.npy_file(path)
    )
  with pictures.opened(path) as image:
    return np.asarray(image)


def _stem(example_id: str) -> str:
  return os.path.splitext(example_id)[0]


def _few(ids: Sequence[str]) -> str:
  return ", ".join(map(json.dumps, ids[:3])) + ", ..." * (len(ids) > 3)

"""Opens JSON, and holds it against a type: the field at fault is named."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, TypeVar, cast

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.reading import text as text_lib

_T = TypeVar("_T")
_SHOWN = 60  # characters of a value that a message repeats


def json_file(path: str | os.PathLike) -> Any:
  """What a JSON file holds: dicts, lists, strings, numbers, None.

  Raises:
    UserError: see `reading.file_bytes` and `json_text`.
  """
  data = text_lib.file_bytes(path, limit=limits.JSON_BYTES)
  return json_text(data, str(path))


def json_text(data: bytes | str, source: str) -> Any:
  """What a JSON text holds.

  NaN and Infinity, which Python and NumPy write, are read; whether a field may
  be one is for its schema (`records`).

  Args:
    data: UTF-8 bytes or text.
    source: what a refusal begins with, a path or `archive: member`.

  Raises:
    UserError: not JSON, cut off, nested too deep, or one key twice in one
      object.
  """
  content = data if isinstance(data, str) else text_lib.decode(data, source)
  if not content.strip():
    raise errors.UserError(f"{source}: the file is empty, expected JSON.")
  try:
    return json.loads(content, object_pairs_hook=_unique)
  except json.JSONDecodeError as e:
    raise errors.UserError(
      f"{source}: line {e.lineno}, column {e.colno}: not JSON ({e.msg}). The"
      " file may be cut off: write or download it again."
    ) from e
  except RecursionError as e:
    raise errors.UserError(
      f"{source}: nested too deep for JSON of a benchmark."
    ) from e
  except ValueError as e:
    raise errors.UserError(f"{source}: not JSON: {e}.") from e


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
  content = dict(pairs)
  if len(content) != len(pairs):
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    raise ValueError(f"the key {twice!r} stands twice in one object")
  return content


@functools.cache
def _adapter(kind: Any) -> Any:
  import pydantic

  return pydantic.TypeAdapter(kind)


def records(value: Any, kind: type[_T], source: str) -> _T:
  """The value as the type, if it fits: a schema's check.

  Strict: `1.0`, `"1"` and `true` are not integers. Types are what pydantic
  knows: its models, dataclasses, TypedDict, lists of them.

  Args:
    value: what `json_file` gave.
    kind: the type.
    source: what a refusal begins with, a path or `archive: member`.

  Returns:
    The value of that type.

  Raises:
    UserError: it does not fit: `path: annotations.3.id: got 1.5, expected a
      valid integer`.
  """
  import pydantic

  try:
    return _adapter(cast(Any, kind)).validate_python(value, strict=True)
  except pydantic.ValidationError as e:
    raise errors.UserError(_mismatch(e, source)) from e


def _mismatch(error: Any, source: str) -> str:
  first = error.errors(include_url=False, include_context=False)[0]
  field = ".".join(str(part) for part in first["loc"])
  got = repr(first["input"])
  got = got if len(got) <= _SHOWN else got[: _SHOWN - 3] + "..."
  expected = first["msg"].removeprefix("Value error, ")
  expected = expected.replace("Input should be ", "expected ", 1)
  if first["type"] == "missing":
    return f"{source}: {field}: missing in {got}."
  more = error.error_count() - 1
  tail = f" ({more:,} more like this.)" if more else ""
  place = f"{field}: " if field else ""
  return f"{source}: {place}got {got}, {expected}.{tail}"

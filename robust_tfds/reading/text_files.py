"""Opens text files: lists, CSV, JSON, XML.

UTF-8 alone, with a limit; every refusal begins with the path, and names the line,
or the field at fault.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import paths

if TYPE_CHECKING:
  from xml.etree.ElementTree import Element

_T = TypeVar("_T")
_SHOWN = 60  # characters of a value that a message repeats
_GZIP = b"\x1f\x8b"
_SIGNATURES = {
  b"\xff\xfe\x00\x00": "UTF-32 text",
  b"\x00\x00\xfe\xff": "UTF-32 text",
  b"\xff\xfe": "UTF-16 text",
  b"\xfe\xff": "UTF-16 text",
  _GZIP: "a gzip file",
  b"BZh": "a bzip2 file",
  b"\xfd7zXZ\x00": "an xz file",
  b"PK\x03\x04": "a zip file",
  b"\x93NUMPY": "a NumPy file",
  b"\x89PNG": "a PNG picture",
  b"\xff\xd8\xff": "a JPEG picture",
  b"%PDF": "a PDF document",
}
_BOM = b"\xef\xbb\xbf"


def file_bytes(path: str | os.PathLike, *, limit: int) -> bytes:
  """Read all bytes of a file that is not larger than the limit.

  Args:
    limit: in bytes, one of `limits`.

  Raises:
    UserError: there is no such file, it is a folder, it cannot be read or is
      larger than the limit.
  """
  size = file_size(path)
  limits.check(size, limit, str(path), "bytes")
  try:
    with paths.opened(path) as file:
      return file.read()
  except OSError as e:
    raise _refusal(path, e) from e


def file_size(path: str | os.PathLike) -> int:
  """Return the size of a file in bytes.

  Raises:
    UserError: there is no such file, or it is not a file.
  """
  try:
    if paths.is_local(path) and not os.path.isfile(path):
      os.stat(path)
      raise IsADirectoryError
    return paths.state(path).size
  except IsADirectoryError as e:
    raise errors.UserError(f"{path}: not a file, expected one.") from e
  except (OSError, ValueError) as e:
    if isinstance(e, errors.UserError):
      raise
    raise _refusal(path, e) from e


def _refusal(path: str | os.PathLike, error: Exception) -> errors.UserError:
  if isinstance(error, FileNotFoundError):
    return errors.UserError(f"{path}: there is no such file.")
  reason = error.strerror if isinstance(error, OSError) else str(error)
  return errors.UserError(f"{path!s}: cannot be read: {reason}.")


def decode(data: bytes, source: str) -> str:
  """Decode UTF-8 bytes, without a byte order mark.

  Args:
    data: the bytes.
    source: what a refusal begins with, a path or `archive: member`.

  Raises:
    UserError: another encoding, another kind of file, or NUL characters.
  """
  for signature, noun in _SIGNATURES.items():
    if data.startswith(signature):
      raise errors.UserError(
        f"{source}: this is {noun}, expected text in UTF-8. Save or unpack it"
        " as such."
      )
  try:
    text = data.removeprefix(_BOM).decode("utf-8")
  except UnicodeDecodeError as e:
    raise errors.UserError(
      f"{source}: byte {e.start} (0x{data[e.start]:02x}) is not UTF-8. Save the"
      " file as UTF-8 text."
    ) from e
  if "\0" in text:
    raise errors.UserError(
      f"{source}: character {text.index(chr(0))} is NUL, expected text in"
      " UTF-8. The file may be damaged, or be UTF-16."
    )
  return text


def text_file(
  path: str | os.PathLike,
  *,
  limit: int = limits.TEXT_BYTES,
  packed: bool = False,
) -> str:
  """Read the text of a file in UTF-8.

  Args:
    path: path of the file.
    limit: in bytes, one of `limits`.
    packed: whether it may be a gzip file.

  Raises:
    UserError: see `file_bytes` and `decode`; a gzip file is damaged.
  """
  data = file_bytes(path, limit=limit)
  if packed and data.startswith(_GZIP):
    data = _unpacked(data, limit, str(path))
  return decode(data, str(path))


def _unpacked(data: bytes, limit: int, source: str) -> bytes:
  """Return the bytes of a gzip file, no more than the limit."""
  unpacker = zlib.decompressobj(wbits=31)  # with gzip's header
  try:
    out = unpacker.decompress(data, limits.allowed(limit) + 1)
  except zlib.error as e:
    raise errors.UserError(f"{source}: a damaged gzip file: {e}.") from e
  limits.check(len(out), limit, source, "bytes")
  if not unpacker.eof:
    raise errors.UserError(f"{source}: a gzip file that is truncated.")
  return out


def line_list(path: str | os.PathLike) -> list[str]:
  """Read the lines of a text file without their ends, empty ones included.

  Raises:
    UserError: see `text_file`.
  """
  return text_file(path).splitlines()


def csv_file(
  path: str | os.PathLike, columns: Iterable[str] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
  """Read the rows of a table, by the names of its header.

  Args:
    path: path of a file in UTF-8, a header first.
    columns: columns that it must have (it may have more); None: none.

  Yields:
    The line (from 1, the header is the first) and its values by column. Empty
    lines are passed over.

  Raises:
    UserError: see `reading.text_file`; no header, a column twice, without a name
      or missing, a row of another length, a quote that is not closed.
  """
  text = text_file(path, limit=limits.JSON_BYTES)
  lines = csv_text(text, str(path))
  _, header = next(lines, (1, []))
  check_header(path, header, columns)
  for line, row in lines:
    if len(row) != len(header):
      if not row:
        continue
      raise errors.UserError(
        f"{path}: line {line}: {len(row)} values, the header has {len(header)}"
        " columns."
      )
    yield line, dict(zip(header, row, strict=True))


def csv_text(
  text: str, source: str, separator: str = ","
) -> Iterator[tuple[int, list[str]]]:
  """Read the rows of a CSV text, whatever their length.

  Args:
    text: all of it.
    source: what a refusal begins with, a path or `archive: member`.

  Yields:
    The line (from 1) on which a row ends, and its values; none of an empty line.

  Raises:
    UserError: a quote that is not closed, or text behind a closed one.
  """
  lines = io.StringIO(text, newline="")
  reader = csv.reader(lines, delimiter=separator, strict=True)
  try:
    for row in reader:
      yield reader.line_num, row
  except csv.Error as e:
    raise errors.UserError(
      f"{source}: line {reader.line_num}: not CSV: {e}."
    ) from e


def check_header(
  path: str | os.PathLike,
  header: list[str],
  columns: Iterable[str] | None = None,
) -> None:
  """Refuse a header that is not one.

  Args:
    header: its names, in order.
    columns: columns that must be among them; None: none.

  Raises:
    UserError: it is empty, or a name is empty, stands twice or is missing.
  """
  if not header:
    raise errors.UserError(f"{path}: empty, expected a header of column names.")
  if "" in header:
    raise errors.UserError(
      f"{path}: line 1: column {header.index('') + 1} has no name."
    )
  for name in header:
    if header.count(name) > 1:
      raise errors.UserError(
        f"{path}: line 1: the column {name!r} stands twice."
      )
  for name in columns or ():
    if name not in header:
      raise errors.UserError(
        f"{path}: line 1: no column {name!r}. It has: {', '.join(header)}."
      )


def json_file(path: str | os.PathLike) -> Any:
  """Read a JSON file: dicts, lists, strings, numbers, None.

  Raises:
    UserError: see `reading.file_bytes` and `json_text`.
  """
  data = file_bytes(path, limit=limits.JSON_BYTES)
  return json_text(data, str(path))


def json_text(data: bytes | str, source: str) -> Any:
  """Parse a JSON text.

  NaN and Infinity, which Python and NumPy write, are read; whether a field may
  be one is for its schema (`records`).

  Args:
    data: UTF-8 bytes or text.
    source: what a refusal begins with, a path or `archive: member`.

  Raises:
    UserError: not JSON, cut off, nested too deep, or one key twice in one
      object.
  """
  content = data if isinstance(data, str) else decode(data, source)
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
  """Return the value as the type; raise UserError if it does not fit the schema.

  Strict: `1.0`, `"1"` and `true` are not integers. Types are what pydantic
  knows: its models, dataclasses, TypedDict, lists of them.

  Args:
    value: what `json_file` gave.
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


def xml_text(data: bytes, source: str) -> Element:
  """Parse an XML text and return its root element.

  Args:
    data: the bytes, in UTF-8 or what their declaration says.
    source: what a refusal begins with, a path or `archive: member`.

  Raises:
    UserError: not XML, cut off, too large or too deep; it declares entities or
      a document type, which an annotation has no use for and which can ask for
      gigabytes or read other files.
  """
  from xml.etree.ElementTree import ParseError

  import defusedxml
  from defusedxml.ElementTree import fromstring

  limits.check(len(data), limits.XML_BYTES, source, "bytes of XML")
  try:
    root = fromstring(data, forbid_dtd=True)
  except ParseError as e:
    raise errors.UserError(f"{source}: not XML: {e}.") from e
  except defusedxml.DefusedXmlException as e:
    raise errors.UserError(
      f"{source}: declares a document type or entities, which are never read."
      " Remove the declaration."
    ) from e
  except (LookupError, ValueError) as e:
    raise errors.UserError(f"{source}: not XML: {e}.") from e
  _check_depth(root, source)
  return root


def _check_depth(root: Element, source: str) -> None:
  level = [root]
  for _ in range(limits.allowed(limits.XML_DEPTH)):
    level = [child for element in level for child in element]
    if not level:
      return
  raise errors.UserError(
    f"{source}: elements within each other, more than"
    f" {limits.allowed(limits.XML_DEPTH)} deep."
  )

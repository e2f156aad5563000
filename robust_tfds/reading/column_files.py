"""Opens tables of millions of rows by columns: CSV, NPZ and Parquet.

A column is text or whole numbers. Values are checked by columns, in pyarrow and
numpy; a refusal names the column and the first row at fault, counted from 1, the
header not among them. pyarrow reads CSV ten times faster than the standard
library's reader, and text that repeats (ids of a benchmark stand in every
condition) is kept once.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.reading import arrays, limits, text_files
from robust_tfds.storage import paths

CHARACTERS = (
  1000  # of one text; the longest ids of the benchmarks have about 60
)
_FLOAT_WHOLE = 2.0**53  # float64 holds every whole number up to here
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True)
class Texts:
  """A column of text.

  Attributes:
    codes: int32 `[N]`, which of `values` each row has.
    values: distinct.
  """

  codes: np.ndarray
  values: Sequence[str]

  def __len__(self) -> int:
    """Number of rows."""
    return len(self.codes)

  def tolist(self) -> list[str]:
    """Every row's text."""
    return [self.values[i] for i in self.codes]

  def array(self, rows: np.ndarray) -> np.ndarray:
    """The text of some rows: str `[len(rows)]`."""
    return np.array(self.values, np.str_)[self.codes[rows]]

  @classmethod
  def of(cls, texts: Sequence[str]) -> Texts:
    """A column of some texts."""
    values, codes = np.unique(np.asarray(texts, np.str_), return_inverse=True)
    return cls(codes.astype(np.int32), values.tolist())


@dataclasses.dataclass(frozen=True)
class ColumnFile:
  """A table of a file.

  Attributes:
    path: of the file.
    header: names of all its columns, in its order.
    columns: int64 `[N]` or `Texts` of those that were asked for and are there.
  """

  path: epath.Path
  header: Sequence[str]
  columns: Mapping[str, np.ndarray | Texts]

  def __len__(self) -> int:
    """Number of rows."""
    return len(next(iter(self.columns.values())))

  def numbers(self, name: str) -> np.ndarray:
    """A column of whole numbers: int64 `[N]`."""
    column = self.columns[name]
    assert isinstance(column, np.ndarray)
    return column

  def texts(self, name: str) -> Texts:
    """A column of text."""
    column = self.columns[name]
    assert isinstance(column, Texts)
    return column


def suffixes() -> tuple[str, ...]:
  """Endings of the files that can be read."""
  return tuple(_FORMATS)


def column_file(
  path: str | os.PathLike,
  *,
  required: Sequence[str],
  texts: Sequence[str],
  integers: Sequence[str],
) -> ColumnFile:
  """A file's columns, checked.

  Args:
    path: of a `.csv`, `.npz` or `.parquet` file.
    required: columns that it must have.
    texts: names of columns of text, required or not.
    integers: names of columns of whole numbers, required or not.

  Returns:
    Those of `texts` and `integers` that the file has.

  Raises:
    UserError: no such file, another kind, damaged or too large; a column that is
      missing, stands twice or is of another length; no rows; a value that is not
      of its column's kind, empty (numbers alone), with control characters or of
      more than `CHARACTERS` characters. Names the column and the row.
  """
  return _column_file(paths.of(path), required, texts, integers)


def _column_file(
  path: epath.Path,
  required: Sequence[str],
  texts: Sequence[str],
  integers: Sequence[str],
) -> ColumnFile:
  if path.suffix not in _FORMATS:
    raise errors.unknown(
      f"kind of predictions file, {path},", path.suffix, _FORMATS
    )
  text_files.file_size(path)
  header, read = _FORMATS[path.suffix](path)
  # Numbers of rows that a program wrote beside the columns have no name.
  text_files.check_header(path, [name for name in header if name])
  absent = [c for c in required if c not in header]
  if absent:
    raise errors.UserError(
      f"{path} lacks the columns {', '.join(absent)}; it has"
      f" {', '.join(header)}."
    )
  raw = read({c: c in integers for c in header if c in (*texts, *integers)})
  _check_lengths(path, {name: len(column) for name, column in raw.items()})
  return ColumnFile(
    path,
    header,
    {
      name: (_whole_numbers if name in integers else _texts)(
        f"{path}: column {name!r}", column
      )
      for name, column in raw.items()
    },
  )


def _check_lengths(path: epath.Path, lengths: Mapping[str, int]) -> None:
  first, rows = next(iter(lengths.items()))
  for name, length in lengths.items():
    if length != rows:
      raise errors.UserError(
        f"{path}: column {name!r} has {length} rows, {first!r} has {rows}: every"
        " column needs one value a row."
      )
  if not rows:
    raise errors.UserError(f"{path} holds no rows.")


# One function a format: the header, and a function that gives the columns asked
# for, name -> whether it is of whole numbers, as pyarrow's arrays.
_Read = Callable[[Mapping[str, bool]], dict[str, Any]]


def _csv(path: epath.Path) -> tuple[list[str], _Read]:
  data = text_files.file_bytes(path, limit=limits.JSON_BYTES)
  text_files.decode(data, str(path))  # refuses what is no text in UTF-8
  data = data.removeprefix(_BOM)
  return _csv_header(path, data), functools.partial(_csv_columns, path, data)


def _csv_header(path: epath.Path, data: bytes) -> list[str]:
  import csv

  lines = data[: 1 << 20].decode("utf-8", "replace").splitlines(keepends=True)
  filled = (line for line in lines if line.strip())
  try:
    return next(csv.reader(filled, strict=True), [])
  except csv.Error as e:
    raise errors.UserError(f"{path}: line 1: not CSV: {e}.") from e


def _csv_columns(
  path: epath.Path, data: bytes, asked: Mapping[str, bool]
) -> dict[str, Any]:
  import pyarrow as pa

  text = pa.dictionary(pa.int32(), pa.string())
  kinds = {n: pa.int64() if whole else text for n, whole in asked.items()}
  if b"0x" not in data.lower():  # pyarrow reads 0x1f as a number
    try:
      return _parse(data, kinds)
    except pa.ArrowInvalid:
      pass  # `1.0`, a word, a line of another length
  kinds = {n: pa.string() if whole else text for n, whole in asked.items()}
  try:
    return _parse(data, kinds)
  except pa.ArrowInvalid as e:
    for _ in text_files.csv_file(path, unnamed=True):
      pass  # names the line in its own words
    raise errors.UserError(f"{path}: not CSV: {e}.") from e


def _parse(data: bytes, kinds: Mapping[str, Any]) -> dict[str, Any]:
  import pyarrow as pa
  from pyarrow import csv

  table = csv.read_csv(
    pa.BufferReader(data),
    parse_options=csv.ParseOptions(newlines_in_values=True),
    convert_options=csv.ConvertOptions(
      column_types=kinds,
      include_columns=list(kinds),
      null_values=[],
      strings_can_be_null=False,
    ),
  )
  return {name: table.column(name) for name in kinds}


def _npz(path: epath.Path) -> tuple[list[str], _Read]:
  content = arrays.npz_file(path)

  def read(asked: Mapping[str, bool]) -> dict[str, Any]:
    return {n: _of_numpy(f"{path}: column {n!r}", content[n]) for n in asked}

  return list(content), read


def _of_numpy(source: str, array: np.ndarray) -> Any:
  import pyarrow as pa

  if array.ndim != 1:
    raise errors.UserError(
      f"{source} has the shape {list(array.shape)}; expected one value a row."
    )
  if array.dtype.kind not in "iufUS":
    raise errors.UserError(
      f"{source} holds {array.dtype}; expected whole numbers or text."
    )
  try:
    if array.dtype.kind == "S":
      array = np.char.decode(array, "utf-8")
    elif array.dtype.kind == "f":
      array = array.astype(np.float64)
    return pa.chunked_array(
      [pa.array(array.astype(array.dtype.newbyteorder("=")))]
    )
  except UnicodeError as e:
    raise errors.UserError(
      f"{source} holds text that is not UTF-8: {e}."
    ) from e


def _parquet(path: epath.Path) -> tuple[list[str], _Read]:
  import pyarrow as pa
  from pyarrow import parquet

  try:
    file = parquet.ParquetFile(_seekable(path), page_checksum_verification=True)
    limits.check_arrays(
      file.metadata.num_rows * 8 * max(file.metadata.num_columns, 1), str(path)
    )
  except (pa.ArrowException, OSError) as e:
    raise _not_parquet(path, e) from e

  def read(asked: Mapping[str, bool]) -> dict[str, Any]:
    try:
      table = file.read(columns=list(asked))
      table.validate(full=True)
      return {name: _plain(table.column(name)) for name in asked}
    except (pa.ArrowException, OSError) as e:
      raise _not_parquet(path, e) from e

  return list(file.schema_arrow.names), read


def _seekable(path: epath.Path) -> Any:
  """What pyarrow reads at any place: the path, or a bucket's file in memory."""
  import pyarrow as pa

  if paths.is_local(path):
    return os.fspath(path)
  return pa.BufferReader(text_files.file_bytes(path, limit=limits.ARRAY_BYTES))


def _plain(column: Any) -> Any:
  """A column in the types of CSV, where a program wrote the same in others."""
  import pyarrow as pa

  if pa.types.is_string_view(column.type):
    return column.cast(pa.large_string())
  if pa.types.is_decimal(column.type):  # checked for fractions below
    return column.cast(pa.float64())
  return column


def _not_parquet(path: epath.Path, error: Exception) -> errors.UserError:
  return errors.UserError(
    f"{path}: not a whole Parquet file: {error}. Write or download it again."
  )


_FORMATS: Mapping[str, Callable[[epath.Path], tuple[list[str], _Read]]] = {
  ".csv": _csv,
  ".npz": _npz,
  ".parquet": _parquet,
}


def _check_no_nulls(source: str, column: Any) -> None:
  if column.null_count:
    row = int(np.argmax(column.is_null().to_numpy()))
    raise errors.UserError(f"{source}: row {row + 1} is empty.")


def _whole_numbers(source: str, column: Any) -> np.ndarray:
  """A column as int64 `[N]`."""
  import pyarrow as pa

  _check_no_nulls(source, column)
  if pa.types.is_integer(column.type):
    try:
      return column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as e:
      raise errors.UserError(f"{source}: beyond 64 bits: {e}.") from e
  if pa.types.is_floating(column.type):
    return _whole_floats(source, column.to_numpy().astype(np.float64))
  if pa.types.is_dictionary(column.type):
    column = column.cast(column.type.value_type)
  if not (
    pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
  ):
    raise errors.UserError(
      f"{source} holds {column.type}; expected whole numbers."
    )
  return _parsed(source, column)


def _parsed(source: str, column: Any) -> np.ndarray:
  """Text as numbers, `7` or `7.0`."""
  import pyarrow as pa
  from pyarrow import compute

  trimmed = compute.utf8_trim_whitespace(column)
  hexadecimal = compute.match_substring_regex(trimmed, "^[+-]?0[xX]")
  if compute.any(hexadecimal).as_py():
    row = int(np.argmax(hexadecimal.to_numpy()))
    raise errors.UserError(
      f"{source}, row {row + 1}: {trimmed[row].as_py()[:40]!r} is not written in"
      " decimal digits; expected a whole number such as 7."
    )
  for kind in (pa.int64(), pa.float64()):
    try:
      numbers = trimmed.cast(kind).to_numpy()
    except pa.ArrowInvalid:
      continue
    whole = pa.types.is_integer(kind)
    return numbers if whole else _whole_floats(source, numbers)
  for row, text in enumerate(trimmed.to_pylist(), 1):
    try:
      pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
      raise errors.UserError(
        f"{source}, row {row}: {text[:40]!r} is not a number; expected a whole"
        " number."
      ) from None
  raise errors.UserError(f"{source}: expected whole numbers.")


def _whole_floats(source: str, numbers: np.ndarray) -> np.ndarray:
  wrong = ~(np.abs(numbers) <= _FLOAT_WHOLE) | (np.trunc(numbers) != numbers)
  if wrong.any():
    row = int(np.argmax(wrong))
    raise errors.UserError(
      f"{source}, row {row + 1}: expected a whole number, got {numbers[row]}."
    )
  return numbers.astype(np.int64)


def _texts(source: str, column: Any) -> Texts:
  """A column as text; whole numbers are written as such."""
  import pyarrow as pa

  _check_no_nulls(source, column)
  if pa.types.is_dictionary(column.type):
    column = column.cast(column.type.value_type)
  if pa.types.is_integer(column.type):
    column = column.cast(pa.string()).dictionary_encode()
  elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
    column = column.dictionary_encode().unify_dictionaries()
  else:
    raise errors.UserError(f"{source} holds {column.type}; expected text.")
  if not len(column):
    return Texts(np.zeros(0, np.int32), [])
  codes = np.concatenate([c.indices.to_numpy() for c in column.chunks])
  values = column.chunk(0).dictionary.to_pylist()
  texts = Texts(codes.astype(np.int32, copy=False), values)
  _check_texts(source, texts)
  return texts


def _check_texts(source: str, texts: Texts) -> None:
  for code, value in enumerate(texts.values):
    if not isinstance(value, str):
      raise errors.UserError(
        f"{source} holds {type(value).__name__}; expected text."
      )
    wrong = ""
    if len(value) > CHARACTERS:
      wrong = f"has {len(value):,} characters, the limit is {CHARACTERS:,}"
    elif _CONTROL.search(value):
      wrong = "has control characters"
    if wrong:
      rows = np.flatnonzero(texts.codes == code)
      row = f", row {int(rows[0]) + 1}" if len(rows) else ""
      raise errors.UserError(f"{source}{row}: {value[:40]!r} {wrong}.")

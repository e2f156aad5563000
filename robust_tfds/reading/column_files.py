"""A reader of tables with millions of rows, column by column: CSV, NPZ, Parquet.

Every column is read as text. Equal texts are stored once, because ids and classes
repeat in every condition; so values are checked and changed only once, too. An
error names the column and the first faulty row, counted from 1 without the header.
pyarrow reads CSV ten times faster than the standard library's reader.
"""

from __future__ import annotations

import dataclasses
import decimal
import functools
import os
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.reading import arrays, limits, text_files
from robust_tfds.storage import paths

CHARACTERS = 1000  # of one text; the longest ids of the benchmarks have 60
# Separators of CSV: word -> character, the usual one first.
SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|"}
_WHOLE = re.compile(r"\s*([+-]?\d{1,18})([.,]0*)?\s*", re.ASCII)  # in int64
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NUMBERS = (int, float, decimal.Decimal)
_BOM = b"\xef\xbb\xbf"
# Excel's line before the header.
_SEPARATOR_LINE = re.compile(rb"\A\s*sep=(.)[ \t]*\r?\n")


@dataclasses.dataclass(frozen=True)
class Texts:
  """A column of text.

  Attributes:
    codes: int32 `[N]`, the number of each row's text in `values`.
    values: the distinct texts.
  """

  codes: np.ndarray
  values: Sequence[str]

  def __len__(self) -> int:
    """Return the number of rows."""
    return len(self.codes)

  def tolist(self) -> list[str]:
    """Return the texts of all rows."""
    return [self.values[i] for i in self.codes]

  def text(self, row: int) -> str:
    """Return the text of a row."""
    return self.values[self.codes[row]]

  def array(self, rows: np.ndarray) -> np.ndarray:
    """Return the texts of some rows: str `[len(rows)]`."""
    return np.array(self.values, np.str_)[self.codes[rows]]

  def first(self, is_wrong: Callable[[str], object]) -> int | None:
    """Return the first row whose text is wrong; None if none is."""
    wrong = np.array([bool(is_wrong(value)) for value in self.values], bool)
    rows = np.flatnonzero(wrong[self.codes])
    return int(rows[0]) if rows.size else None

  @classmethod
  def from_texts(
    cls, texts: Sequence[str], codes: np.ndarray | slice = slice(None)
  ) -> Texts:
    """Create a column of texts, or of those that codes `[N]` select."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return cls(np.array([place[t] for t in texts], np.int32)[codes], [*place])


@dataclasses.dataclass(frozen=True)
class ColumnFile:
  """A table that was read from a file.

  Attributes:
    path: the file.
    header: the names of all its columns, in its order.
    columns: the requested columns that exist. A reader may replace texts by whole
      numbers, int64 `[N]`.
    names: name of each of these columns -> its name in the file.
    separator: a word of `SEPARATORS`; empty for files other than CSV.
  """

  path: epath.Path
  header: Sequence[str]
  columns: Mapping[str, np.ndarray | Texts]
  names: Mapping[str, str] = dataclasses.field(default_factory=dict)
  separator: str = ""

  def __len__(self) -> int:
    """Return the number of rows."""
    return len(next(iter(self.columns.values())))

  def numbers(self, name: str) -> np.ndarray:
    """Return a column of whole numbers: int64 `[N]`."""
    column = self.columns[name]
    assert isinstance(column, np.ndarray)
    return column

  def texts(self, name: str) -> Texts:
    """Return a column of text."""
    column = self.columns[name]
    assert isinstance(column, Texts)
    return column


def whole_number(text: str) -> int | None:
  """Parse a whole number as programs write it; return None for other texts.

  >>> [whole_number(text) for text in ("7", " 7.0", "-7,0", "7.5", "cat")]
  [7, 7, -7, None, None]
  """
  match = _WHOLE.fullmatch(text)
  return int(match[1]) if match else None


def suffixes() -> tuple[str, ...]:
  """Return the suffixes of the files that can be read."""
  return tuple(_FORMATS)


def column_file(
  path: str | os.PathLike,
  *,
  required: Sequence[str],
  optional: Sequence[str] = (),
  separator: str = "",
  renamed: Mapping[str, str] = types.MappingProxyType({}),
) -> ColumnFile:
  """Read and check columns of a file.

  Args:
    path: a `.csv`, `.tsv`, `.npz` or `.parquet` file.
    required: columns that it must have.
    optional: columns that it may have.
    separator: a word of `SEPARATORS` for CSV; if empty, the one in its first line
      (`sep=;`), else the most frequent one in the header.
    renamed: name of a column -> its name in the file, if they differ.

  Returns:
    The columns that the file has. Whole numbers have no decimals; a missing value
    is an empty text.

  Raises:
    UserError: no such file, an unknown kind, a damaged or too large file; a column
      that is missing, duplicate or of another length; no rows; a value that is
      neither text nor a number, or a text with control characters or more than
      `CHARACTERS` characters.
  """
  source = paths.parse(path)
  if source.suffix not in _FORMATS:
    raise errors.unknown_error(
      f"kind of predictions file, {source},", source.suffix, _FORMATS
    )
  text_files.file_size(source)
  written, separator, read = _FORMATS[source.suffix](source, separator)
  header = [name.strip() for name in written]
  # Numbers of rows that a program wrote beside the columns have no name.
  text_files.check_header(source, [name for name in header if name])
  _check_names(source, header, required, renamed)
  names = {n: renamed.get(n, n) for n in dict.fromkeys((*required, *optional))}
  names = {n: in_file for n, in_file in names.items() if in_file in header}
  raw = read([written[header.index(in_file)] for in_file in names.values()])
  _check_lengths(source, dict(zip(names, map(len, raw), strict=True)))
  # Blanks around the header's names are around values, too.
  blanks = header != list(written)
  columns = {
    name: _texts(f"{source}: column {in_file!r}", array, blanks)
    for (name, in_file), array in zip(names.items(), raw, strict=True)
  }
  return ColumnFile(source, header, columns, names, separator)


def _check_names(
  path: epath.Path,
  header: Sequence[str],
  required: Sequence[str],
  renamed: Mapping[str, str],
) -> None:
  """Refuse a header without a renamed or required column."""
  for name in renamed.values():
    if name not in header:
      raise errors.UserError(
        f"{path}: {errors.unknown_error('column', name, header)}"
      )
  absent = [n for n in required if renamed.get(n, n) not in header]
  if absent:
    raise errors.UserError(
      f"{path} lacks the columns {', '.join(absent)}; it has"
      f" {', '.join(header)}. If they have other names, use"
      f" --columns={absent[0]}=NAME,..."
    )


def _check_lengths(path: epath.Path, lengths: Mapping[str, int]) -> None:
  first, rows = next(iter(lengths.items()))
  for name, length in lengths.items():
    if length != rows:
      raise errors.UserError(
        f"{path}: column {name!r} has {length} rows, {first!r} has {rows}: every"
        " column needs one value per row."
      )
  if not rows:
    raise errors.UserError(f"{path} has no rows.")


# One function per format. It returns the header, the separator, and a function from
# names of columns to pyarrow's arrays.
_Read = Callable[[Sequence[str]], list[Any]]
_Open = Callable[[epath.Path, str], tuple[list[str], str, _Read]]


def _csv(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  data = text_files.file_bytes(path, limit=limits.JSON_BYTES)
  text_files.decode(data, str(path))  # refuses what is no text in UTF-8
  data = data.removeprefix(_BOM)
  by_line = _SEPARATOR_LINE.match(data)
  above = by_line.end() if by_line else 0
  head = data[above : above + (1 << 20)].decode("utf-8", "replace")
  line = by_line[1].decode() if by_line else head.strip().partition("\n")[0]
  word = separator or max(
    SEPARATORS, key=lambda word: line.count(SEPARATORS[word])
  )
  character = SEPARATORS[word]
  _, header = next(text_files.csv_text(head, str(path), character), (1, []))
  read = functools.partial(_csv_columns, path, data, above, character)
  return header, word, read


def _csv_columns(
  path: epath.Path,
  data: bytes,
  above: int,
  separator: str,
  names: Sequence[str],
) -> list[Any]:
  """Return columns of a CSV whose header follows the first `above` bytes."""
  import pyarrow as pa
  from pyarrow import csv

  try:
    table = csv.read_csv(
      pa.py_buffer(memoryview(data)[above:]),
      parse_options=csv.ParseOptions(
        delimiter=separator, newlines_in_values=True
      ),
      convert_options=csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=list(names),
        strings_can_be_null=False,
      ),
    )
  except pa.ArrowInvalid as e:
    _check_widths(path, data, above, separator)  # names the line
    raise errors.UserError(f"{path}: not CSV: {e}.") from e
  return [table.column(name) for name in names]


def _check_widths(
  path: epath.Path, data: bytes, above: int, separator: str
) -> None:
  """Refuse the first line whose number of values differs from the header's."""
  text = data[above:].decode("utf-8")
  first = 1 if above else 0  # lines above the header
  rows = text_files.csv_text(text, str(path), separator)
  header = len(next(rows)[1])
  for line, row in rows:
    if row and len(row) != header:
      raise errors.UserError(
        f"{path}: line {line + first}: {len(row)} values, the header has {header}"
        " columns."
      )


def _check_no_separator(path: epath.Path, separator: str) -> None:
  if separator:
    raise errors.UserError(
      f"{path}: --separator={separator} applies to CSV only; leave it out."
    )


def _npz(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  _check_no_separator(path, separator)
  content = arrays.npz_file(path)

  def read(names: Sequence[str]) -> list[Any]:
    return [_numpy_column(f"{path}: column {n!r}", content[n]) for n in names]

  return list(content), "", read


def _numpy_column(source: str, array: np.ndarray) -> Any:
  import pyarrow as pa

  if array.ndim != 1:
    raise errors.UserError(
      f"{source} has the shape {list(array.shape)}; expected one value per row."
    )
  if array.dtype.kind not in "iufUS":
    raise _type_error(source, array.dtype)
  try:
    if array.dtype.kind == "S":
      array = np.char.decode(array, "utf-8")
    return pa.chunked_array(
      [pa.array(array.astype(array.dtype.newbyteorder("=")))]
    )
  except UnicodeError as e:
    raise errors.UserError(
      f"{source} holds text that is not UTF-8: {e}."
    ) from e


def _parquet(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  import pyarrow as pa
  from pyarrow import parquet

  _check_no_separator(path, separator)
  try:
    file = parquet.ParquetFile(seekable(path), page_checksum_verification=True)
    limits.check_arrays(
      file.metadata.num_rows * 8 * max(file.metadata.num_columns, 1), str(path)
    )
  except (pa.ArrowException, OSError) as e:
    raise parquet_error(path, e) from e

  def read(names: Sequence[str]) -> list[Any]:
    try:
      table = file.read(columns=list(names))
      table.validate(full=True)
      return [table.column(name) for name in names]
    except (pa.ArrowException, OSError) as e:
      raise parquet_error(path, e) from e

  return list(file.schema_arrow.names), "", read


def seekable(path: epath.Path) -> Any:
  """Return a local path, or a bucket's file in memory, for random access."""
  import pyarrow as pa

  if paths.is_local(path):
    return os.fspath(path)
  return pa.BufferReader(text_files.file_bytes(path, limit=limits.ARRAY_BYTES))


def parquet_error(path: epath.Path, error: Exception) -> errors.UserError:
  """Return the refusal of a file that is broken."""
  return errors.UserError(
    f"{path}: not a whole Parquet file: {error}. Write or download it again."
  )


_FORMATS: Mapping[str, _Open] = {
  ".csv": _csv,
  ".tsv": _csv,
  ".npz": _npz,
  ".parquet": _parquet,
}


def _texts(source: str, column: Any, blanks: bool) -> Texts:
  """Convert a column to text; with `blanks`, strip the values."""
  import pyarrow as pa

  try:
    if pa.types.is_dictionary(column.type):
      column = column.cast(column.type.value_type)
    chunks = column.dictionary_encode(null_encoding="encode").chunks
  except pa.ArrowNotImplementedError as e:
    raise _type_error(source, column.type) from e
  values = [_text(source, v) for v in chunks[-1].dictionary.to_pylist()]
  codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
  texts = Texts.from_texts(
    [v.strip() for v in values] if blanks else values, codes
  )
  row = texts.first(_wrong)
  if row is not None:
    check_text(f"{source}, row {row + 1}", texts.text(row))
  return texts


def _text(source: str, value: Any) -> str:
  """Convert one value to text; a missing one to an empty text."""
  if value is None or value != value:
    return ""
  if isinstance(value, str):
    return value
  if isinstance(value, bool) or not isinstance(value, _NUMBERS):
    raise _type_error(source, type(value).__name__)
  return str(int(value)) if value % 1 == 0 else str(value)


def _type_error(source: str, kind: Any) -> errors.UserError:
  return errors.UserError(
    f"{source} holds {kind}; expected whole numbers or text."
  )


def _wrong(value: str) -> str:
  if len(value) > CHARACTERS:
    return f"has {len(value):,} characters, the limit is {CHARACTERS:,}"
  return "has control characters" if _CONTROL.search(value) else ""


def check_text(source: str, value: str) -> None:
  """Refuse text that no column may contain; the error begins with `source`."""
  if _wrong(value):
    raise errors.UserError(f"{source}: {value[:40]!r} {_wrong(value)}.")

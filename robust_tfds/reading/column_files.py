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
import types
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
# Of a CSV's values: word -> character, the usual one first.
SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|"}
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

  def at(self, row: int) -> str:
    """A row's text."""
    return self.values[self.codes[row]]

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
    names: of these, name -> its name in the file.
    separator: of a CSV's values, one of `SEPARATORS`; empty of other kinds.
  """

  path: epath.Path
  header: Sequence[str]
  columns: Mapping[str, np.ndarray | Texts]
  names: Mapping[str, str] = dataclasses.field(default_factory=dict)
  separator: str = ""

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
  classes: Sequence[str] = (),
  separator: str = "",
  said: Mapping[str, str] = types.MappingProxyType({}),
) -> ColumnFile:
  """A file's columns, checked.

  Args:
    path: of a `.csv`, `.tsv`, `.npz` or `.parquet` file.
    required: columns that it must have.
    texts: names of columns of text, required or not.
    integers: names of columns of whole numbers, required or not.
    classes: names of columns of names or whole numbers, given as text; a value
      that is missing is empty.
    separator: of a CSV's values, one of `SEPARATORS`; empty: the one that is most
      often in the header.
    said: name of a column -> its name in the file, where that is another.

  Returns:
    Those of `texts`, `integers` and `classes` that the file has.

  Raises:
    UserError: no such file, another kind, damaged or too large; a column that is
      missing, stands twice or is of another length; no rows; a value that is not
      of its column's kind, empty (numbers alone), with control characters or of
      more than `CHARACTERS` characters. Names the column and the row.
  """
  source = paths.of(path)
  if source.suffix not in _FORMATS:
    raise errors.unknown(
      f"kind of predictions file, {source},", source.suffix, _FORMATS
    )
  text_files.file_size(source)
  written, separator, read = _FORMATS[source.suffix](source, separator)
  header = [name.strip() for name in written]
  # Numbers of rows that a program wrote beside the columns have no name.
  text_files.check_header(source, [name for name in header if name])
  _check_names(source, header, required, said)
  names = {n: said.get(n, n) for n in (*texts, *integers, *classes)}
  names = {n: in_file for n, in_file in names.items() if in_file in header}
  raw = read({written[header.index(names[n])]: n in integers for n in names})
  arrays_of = dict(zip(names, raw.values(), strict=True))
  _check_lengths(source, {n: len(array) for n, array in arrays_of.items()})
  columns: dict[str, np.ndarray | Texts] = {}
  for name, array in arrays_of.items():
    words = f"{source}: column {names[name]!r}"
    if name in integers:
      columns[name] = _whole_numbers(words, array)
      continue
    text = _texts(words, _filled(array) if name in classes else array)
    # Blanks around the header's names are around values, too.
    columns[name] = text if header == list(written) else _trimmed(text)
  return ColumnFile(source, header, columns, names, separator)


def _check_names(
  path: epath.Path,
  header: Sequence[str],
  required: Sequence[str],
  said: Mapping[str, str],
) -> None:
  """Refuses a header without what was said of it, or without a column."""
  for name in said.values():
    if name not in header:
      raise errors.UserError(
        f"{path}: {errors.unknown('column', name, header)}"
      )
  absent = [n for n in required if said.get(n, n) not in header]
  if absent:
    raise errors.UserError(
      f"{path} lacks the columns {', '.join(absent)}; it has"
      f" {', '.join(header)}. Columns of other names are said by"
      f" --columns={absent[0]}=NAME,..."
    )


def _trimmed(column: Texts) -> Texts:
  """Text without the blanks around it."""
  short = Texts.of([value.strip() for value in column.values])
  return Texts(short.codes[column.codes], short.values)


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


# One function a format: the header, the separator, and a function that gives the
# columns asked for, name -> whether it is of whole numbers, as pyarrow's arrays.
_Read = Callable[[Mapping[str, bool]], dict[str, Any]]
_Open = Callable[[epath.Path, str], tuple[list[str], str, _Read]]


def _csv(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  data = text_files.file_bytes(path, limit=limits.JSON_BYTES)
  text_files.decode(data, str(path))  # refuses what is no text in UTF-8
  data = data.removeprefix(_BOM)
  head = data[: 1 << 20].decode("utf-8", "replace")
  line = head.strip().partition("\n")[0]
  said = separator or max(
    SEPARATORS, key=lambda word: line.count(SEPARATORS[word])
  )
  character = SEPARATORS[said]
  _, header = next(text_files.csv_text(head, str(path), character), (1, []))
  read = functools.partial(_csv_columns, path, data, character)
  return header, said, read


def _csv_columns(
  path: epath.Path, data: bytes, separator: str, asked: Mapping[str, bool]
) -> dict[str, Any]:
  import pyarrow as pa

  text = pa.dictionary(pa.int32(), pa.string())
  kinds = {n: pa.int64() if whole else text for n, whole in asked.items()}
  if b"0x" not in data.lower():  # pyarrow reads 0x1f as a number
    try:
      return _parse(data, separator, kinds)
    except pa.ArrowInvalid:
      pass  # `1.0`, a word, a line of another length
  kinds = {n: pa.string() if whole else text for n, whole in asked.items()}
  try:
    return _parse(data, separator, kinds)
  except pa.ArrowInvalid as e:
    for _ in text_files.csv_file(path, unnamed=True, separator=separator):
      pass  # names the line in its own words
    raise errors.UserError(f"{path}: not CSV: {e}.") from e


def _parse(
  data: bytes, separator: str, kinds: Mapping[str, Any]
) -> dict[str, Any]:
  import pyarrow as pa
  from pyarrow import csv

  table = csv.read_csv(
    pa.BufferReader(data),
    parse_options=csv.ParseOptions(
      delimiter=separator, newlines_in_values=True
    ),
    convert_options=csv.ConvertOptions(
      column_types=kinds,
      include_columns=list(kinds),
      null_values=[],
      strings_can_be_null=False,
    ),
  )
  return {name: table.column(name) for name in kinds}


def _check_no_separator(path: epath.Path, separator: str) -> None:
  if separator:
    raise errors.UserError(f"{path}: --separator={separator} is of CSV alone.")


def _npz(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  _check_no_separator(path, separator)
  content = arrays.npz_file(path)

  def read(asked: Mapping[str, bool]) -> dict[str, Any]:
    return {n: _of_numpy(f"{path}: column {n!r}", content[n]) for n in asked}

  return list(content), "", read


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


def _parquet(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  import pyarrow as pa
  from pyarrow import parquet

  _check_no_separator(path, separator)
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

  return list(file.schema_arrow.names), "", read


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


_FORMATS: Mapping[str, _Open] = {
  ".csv": _csv,
  ".tsv": _csv,
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
  if not _is_text(column):
    raise errors.UserError(
      f"{source} holds {column.type}; expected whole numbers."
    )
  return _parsed(source, column)


def _filled(column: Any) -> Any:
  """A column of classes with text for its numbers; empty where one is missing."""
  import pyarrow as pa
  from pyarrow import compute

  if pa.types.is_dictionary(column.type):
    column = column.cast(column.type.value_type)
  if pa.types.is_floating(column.type):  # integers of which some are missing
    nothing = pa.scalar(None, column.type)
    column = compute.if_else(compute.is_nan(column), nothing, column)
    try:
      column = column.cast(pa.int64())
    except pa.ArrowInvalid:
      column = column.cast(pa.string())
  if pa.types.is_integer(column.type) or pa.types.is_null(column.type):
    column = column.cast(pa.string())
  return column.fill_null("") if _is_text(column) else column


def _is_text(column: Any) -> bool:
  import pyarrow as pa

  return pa.types.is_string(column.type) or pa.types.is_large_string(
    column.type
  )


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
  elif _is_text(column):
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
    if _wrong(value):
      rows = np.flatnonzero(texts.codes == code)
      row = f", row {int(rows[0]) + 1}" if len(rows) else ""
      check_text(f"{source}{row}", value)


def _wrong(value: str) -> str:
  if len(value) > CHARACTERS:
    return f"has {len(value):,} characters, the limit is {CHARACTERS:,}"
  return "has control characters" if _CONTROL.search(value) else ""


def check_text(source: str, value: str) -> None:
  """Refuses text that no column may hold.

  Raises:
    UserError: it begins with the source.
  """
  if _wrong(value):
    raise errors.UserError(f"{source}: {value[:40]!r} {_wrong(value)}.")

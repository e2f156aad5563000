"""Opens tables of millions of rows by columns: CSV, NPZ and Parquet.

Every column is read as text, which is kept once where it repeats (ids and classes
stand in every condition), so that values are checked and changed once, too. A
refusal names the column and the first row at fault, counted from 1, the header not
among them. pyarrow reads CSV ten times faster than the standard library's reader.
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

CHARACTERS = (
  1000  # of one text; the longest ids of the benchmarks have about 60
)
# Of a CSV's values: word -> character, the usual one first.
SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|"}
_WHOLE = re.compile(r"\s*([+-]?\d{1,18})([.,]0*)?\s*", re.ASCII)  # in int64
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NUMBERS = (int, float, decimal.Decimal)
_BOM = b"\xef\xbb\xbf"
_SAID = re.compile(
  rb"\A\s*sep=(.)[ \t]*\r?\n"
)  # Excel's line before the header


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

  def first(self, is_wrong: Callable[[str], object]) -> int | None:
    """The first row whose text is wrong; None where none is."""
    wrong = np.array([bool(is_wrong(value)) for value in self.values], bool)
    rows = np.flatnonzero(wrong[self.codes])
    return int(rows[0]) if rows.size else None

  @classmethod
  def of(
    cls, texts: Sequence[str], codes: np.ndarray | slice = slice(None)
  ) -> Texts:
    """A column of some texts, or of those that codes `[N]` choose among them."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return cls(np.array([place[t] for t in texts], np.int32)[codes], [*place])


@dataclasses.dataclass(frozen=True)
class ColumnFile:
  """A table of a file.

  Attributes:
    path: of the file.
    header: names of all its columns, in its order.
    columns: of those that were asked for and are there; who reads the file may
      put whole numbers, int64 `[N]`, in a text's place.
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


def whole(text: str) -> int | None:
  """A whole number as programs write it; None of any other text.

  >>> whole("7"), whole(" 7.0"), whole("-7,0"), whole("7.5"), whole("cat")
  (7, 7, -7, None, None)
  """
  match = _WHOLE.fullmatch(text)
  return int(match[1]) if match else None


def suffixes() -> tuple[str, ...]:
  """Endings of the files that can be read."""
  return tuple(_FORMATS)


def column_file(
  path: str | os.PathLike,
  *,
  required: Sequence[str],
  others: Sequence[str] = (),
  separator: str = "",
  said: Mapping[str, str] = types.MappingProxyType({}),
) -> ColumnFile:
  """A file's columns, checked.

  Args:
    path: of a `.csv`, `.tsv`, `.npz` or `.parquet` file.
    required: columns that it must have.
    others: columns that it may have.
    separator: of a CSV's values, one of `SEPARATORS`; empty: the one that its
      first line says (`sep=;`), or that is most often in the header.
    said: name of a column -> its name in the file, where that is another.

  Returns:
    Those that the file has. Whole numbers are written as such; a value that is
    missing is empty.

  Raises:
    UserError: no such file, another kind, damaged or too large; a column that is
      missing, stands twice or is of another length; no rows; a value that is
      neither text nor a number, has control characters or more than `CHARACTERS`
      characters. Names the column and the row.
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
  names = {n: said.get(n, n) for n in dict.fromkeys((*required, *others))}
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
  said: Mapping[str, str],
) -> None:
  """Refuse a header without what was said of it, or without a column."""
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
# columns asked for as pyarrow's arrays.
_Read = Callable[[Sequence[str]], list[Any]]
_Open = Callable[[epath.Path, str], tuple[list[str], str, _Read]]


def _csv(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  data = text_files.file_bytes(path, limit=limits.JSON_BYTES)
  text_files.decode(data, str(path))  # refuses what is no text in UTF-8
  data = data.removeprefix(_BOM)
  by_line = _SAID.match(data)
  above = by_line.end() if by_line else 0
  head = data[above : above + (1 << 20)].decode("utf-8", "replace")
  line = by_line[1].decode() if by_line else head.strip().partition("\n")[0]
  said = separator or max(
    SEPARATORS, key=lambda word: line.count(SEPARATORS[word])
  )
  character = SEPARATORS[said]
  _, header = next(text_files.csv_text(head, str(path), character), (1, []))
  read = functools.partial(_csv_columns, path, data, above, character)
  return header, said, read


def _csv_columns(
  path: epath.Path,
  data: bytes,
  above: int,
  separator: str,
  asked: Sequence[str],
) -> list[Any]:
  """Columns of a CSV whose header stands behind the first bytes, `above`."""
  import pyarrow as pa
  from pyarrow import csv

  try:
    table = csv.read_csv(
      pa.py_buffer(memoryview(data)[above:]),
      parse_options=csv.ParseOptions(
        delimiter=separator, newlines_in_values=True
      ),
      convert_options=csv.ConvertOptions(
        column_types=dict.fromkeys(asked, pa.string()),
        include_columns=list(asked),
        strings_can_be_null=False,
      ),
    )
  except pa.ArrowInvalid as e:
    _check_widths(path, data, above, separator)  # names the line
    raise errors.UserError(f"{path}: not CSV: {e}.") from e
  return [table.column(name) for name in asked]


def _check_widths(
  path: epath.Path, data: bytes, above: int, separator: str
) -> None:
  """Refuse the first line that has not as many values as the header."""
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
    raise errors.UserError(f"{path}: --separator={separator} is of CSV alone.")


def _npz(path: epath.Path, separator: str) -> tuple[list[str], str, _Read]:
  _check_no_separator(path, separator)
  content = arrays.npz_file(path)

  def read(asked: Sequence[str]) -> list[Any]:
    return [_of_numpy(f"{path}: column {n!r}", content[n]) for n in asked]

  return list(content), "", read


def _of_numpy(source: str, array: np.ndarray) -> Any:
  import pyarrow as pa

  if array.ndim != 1:
    raise errors.UserError(
      f"{source} has the shape {list(array.shape)}; expected one value a row."
    )
  if array.dtype.kind not in "iufUS":
    raise _no_text(source, array.dtype)
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
    file = parquet.ParquetFile(_seekable(path), page_checksum_verification=True)
    limits.check_arrays(
      file.metadata.num_rows * 8 * max(file.metadata.num_columns, 1), str(path)
    )
  except (pa.ArrowException, OSError) as e:
    raise _not_parquet(path, e) from e

  def read(asked: Sequence[str]) -> list[Any]:
    try:
      table = file.read(columns=list(asked))
      table.validate(full=True)
      return [table.column(name) for name in asked]
    except (pa.ArrowException, OSError) as e:
      raise _not_parquet(path, e) from e

  return list(file.schema_arrow.names), "", read


def _seekable(path: epath.Path) -> Any:
  """What pyarrow reads at any place: the path, or a bucket's file in memory."""
  import pyarrow as pa

  if paths.is_local(path):
    return os.fspath(path)
  return pa.BufferReader(text_files.file_bytes(path, limit=limits.ARRAY_BYTES))


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


def _texts(source: str, column: Any, blanks: bool) -> Texts:
  """A column as text, without `blanks` around it."""
  import pyarrow as pa

  try:
    if pa.types.is_dictionary(column.type):
      column = column.cast(column.type.value_type)
    chunks = column.dictionary_encode(null_encoding="encode").chunks
  except pa.ArrowNotImplementedError as e:
    raise _no_text(source, column.type) from e
  values = [_text(source, v) for v in chunks[-1].dictionary.to_pylist()]
  codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
  texts = Texts.of([v.strip() for v in values] if blanks else values, codes)
  row = texts.first(_wrong)
  if row is not None:
    check_text(f"{source}, row {row + 1}", texts.at(row))
  return texts


def _text(source: str, value: Any) -> str:
  """One value of any program's; of what is missing nothing."""
  if value is None or value != value:
    return ""
  if isinstance(value, str):
    return value
  if isinstance(value, bool) or not isinstance(value, _NUMBERS):
    raise _no_text(source, type(value).__name__)
  return str(int(value)) if value % 1 == 0 else str(value)


def _no_text(source: str, kind: Any) -> errors.UserError:
  return errors.UserError(
    f"{source} holds {kind}; expected whole numbers or text."
  )


def _wrong(value: str) -> str:
  if len(value) > CHARACTERS:
    return f"has {len(value):,} characters, the limit is {CHARACTERS:,}"
  return "has control characters" if _CONTROL.search(value) else ""


def check_text(source: str, value: str) -> None:
  """Refuse text that no column may hold.

  Raises:
    UserError: it begins with the source.
  """
  if _wrong(value):
    raise errors.UserError(f"{source}: {value[:40]!r} {_wrong(value)}.")

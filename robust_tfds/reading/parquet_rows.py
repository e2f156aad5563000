"""Rows of Parquet files, a few at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath

from robust_tfds import errors
from robust_tfds.reading import column_files

_AT_ONCE = 64


def rows(path: epath.Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
  """Yield a file's rows, column -> value as Python has it.

  Raises:
    UserError: no whole Parquet file, or a column is missing.
  """
  import pyarrow as pa
  from pyarrow import parquet

  try:
    file = parquet.ParquetFile(
      column_files.seekable(path), page_checksum_verification=True
    )
    header = file.schema_arrow.names
    if absent := [name for name in columns if name not in header]:
      raise errors.UserError(
        f"{path} lacks the columns {', '.join(absent)}; it has {', '.join(header)}."
      )
    for batch in file.iter_batches(_AT_ONCE, columns=list(columns)):
      batch.validate(full=True)
      yield from batch.to_pylist()
  except (pa.ArrowException, OSError) as e:
    raise column_files.parquet_error(path, e) from e

"""Columns packed as the arrays of a file: small, and equal for equal rows.

An array's name is the column's name and how it is packed:

  score                 unchanged: floats and booleans
  top5.int32            integers, stored in the smallest type that holds them all
                        (int8 to int64), read as the named type
  example_id.str        texts, concatenated in UTF-8
  example_id.lengths    the number of bytes of each text; read as fixed-width text
  masks.text            the same, read as NumPy's variable-length strings
  segmentation.bytes    the same for bytes
  boxes.ragged          detections `[N, D, ...]` without the padding of each row
  detections.lengths    D, then the number of detections of each of the N rows;
                        padding has class -1, score 0 and box 0

Reading returns exactly what was written.
"""

import math
from collections.abc import Sequence

import numpy as np

from eval.cells.files.columns import Columns
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.storage import npz

_WHOLE = (np.int8, np.int16, np.int32, np.int64)
_WHOLE_NAMES = tuple(np.dtype(t).name for t in _WHOLE)
_TEXTS = {"U": "str", "T": "text", "S": "bytes"}  # by NumPy's kind
# Columns of detections, and their values in padding.
_NO_DETECTION = {"boxes": 0, "scores": 0, "classes": -1}
_DETECTIONS = "detections"
_SURROGATES = "surrogatepass"  # ids are whatever their files were called


def dumps(columns: Columns) -> bytes:
  """Return columns as the bytes of a `.npz` file without pickles.

  Args:
    columns: names without dots -> arrays `[N, ...]`; texts are `[N]`.
  """
  return npz.archived(pack(columns))


def loads(data: bytes, source: str) -> dict[str, np.ndarray]:
  """Return the columns of `dumps`, in the order of their names.

  Args:
    data: bytes of a file.
    source: the beginning of an error message, the file's path.

  Raises:
    UserError: it is not a complete `.npz` file, or holds other arrays.
  """
  arrays = reading.npz_bytes(data, source)
  try:
    return unpack(arrays)
  except (KeyError, ValueError, TypeError, IndexError) as e:
    raise errors.UserError(
      f"{source}: these arrays are not packed columns ({e})."
    ) from e


def pack(columns: Columns) -> dict[str, np.ndarray]:
  """Pack columns as arrays, which are named as described at the top."""
  out: dict[str, np.ndarray] = {}
  for name, values in _unpadded(columns).items():
    kind = values.dtype.kind
    if kind in _TEXTS:
      joined, lengths = _joined(values)
      out[f"{name}.{_TEXTS[kind]}"] = joined
      out |= _narrow(f"{name}.lengths", lengths)
    elif kind == "i":
      out |= _narrow(name, values)
    else:
      out[name] = values
  return out


def unpack(arrays: Columns) -> dict[str, np.ndarray]:
  """Unpack columns from stored arrays, the inverse of `pack`.

  Raises:
    KeyError: an array that belongs to another is missing.
    ValueError: arrays that do not belong together.
  """
  wide = dict(_widened(name, values) for name, values in arrays.items())
  columns = {}
  for name, values in sorted(wide.items()):
    column, _, kind = name.rpartition(".")
    if kind in _TEXTS.values():
      columns[column] = _split(values, wide[f"{column}.lengths"], kind)
    elif kind == "ragged":
      most, *lengths = wide[f"{_DETECTIONS}.lengths"].tolist()
      columns[column] = _padded(column, values, lengths, most)
    elif kind != "lengths":
      columns[name] = values
  return columns


def nbytes(columns: Columns) -> int:
  """Return the bytes of columns in memory, variable-length texts included."""
  total = 0
  for values in columns.values():
    total += values.nbytes
    if values.dtype.kind == "T":  # `nbytes` counts only the pointers
      total += int(np.strings.str_len(values).sum())
  return total


def _narrow(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
  """Return integers in the smallest type, named after their original type."""
  low, high = (values.min(), values.max()) if values.size else (0, 0)
  for dtype in _WHOLE:
    limits = np.iinfo(dtype)
    if limits.min <= low and high <= limits.max:
      return {f"{name}.{values.dtype.name}": values.astype(dtype)}
  raise TypeError(f"{name}: {values.dtype} is no type of whole numbers.")


def _widened(name: str, values: np.ndarray) -> tuple[str, np.ndarray]:
  column, _, kind = name.rpartition(".")
  if kind in _WHOLE_NAMES:
    return column, values.astype(kind)
  return name, values


def _joined(texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Return the bytes of concatenated texts, and the length of each."""
  listed = [
    t if isinstance(t, bytes) else t.encode("utf-8", _SURROGATES)
    for t in texts.tolist()
  ]
  data = np.frombuffer(b"".join(listed), np.uint8)
  return data, np.array([len(t) for t in listed], np.int64)


def _split(data: np.ndarray, lengths: np.ndarray, kind: str) -> np.ndarray:
  """Return the texts from the bytes and lengths of `_joined`."""
  ends = np.cumsum(lengths).tolist()
  if (lengths < 0).any() or (ends[-1] if ends else 0) != len(data):
    raise ValueError("the lengths of texts are not those of their bytes")
  whole = data.tobytes()
  places = list(zip([0, *ends], ends))
  if kind == "bytes":
    limits.check_arrays(int(lengths.max(initial=0)) * len(lengths), "texts")
    return np.array([whole[a:b] for a, b in places], np.bytes_)
  if whole.isascii():
    text = whole.decode("ascii")
    texts = [text[a:b] for a, b in places]
  else:
    texts = [whole[a:b].decode("utf-8", _SURROGATES) for a, b in places]
  if kind == "text":
    return np.array(texts, np.dtypes.StringDType())
  # Each row takes as much as the longest, four bytes a letter.
  most = max(map(len, texts), default=0)
  limits.check_arrays(4 * most * len(texts), "texts")
  return np.array(texts, np.str_)


def _unpadded(columns: Columns) -> dict[str, np.ndarray]:
  """Return columns without the padding of detections at the end of each row."""
  out = dict(columns)
  if not _NO_DETECTION.keys() <= columns.keys():
    return out
  rows, most = columns["classes"].shape
  there = np.zeros((rows, most), bool)
  for name, none in _NO_DETECTION.items():
    values = columns[name] != none
    there |= values.any(axis=tuple(range(2, values.ndim)))
  place = np.arange(1, most + 1)
  lengths = (there * place).max(axis=1, initial=0)
  kept = place <= lengths[:, None]
  for name in _NO_DETECTION:
    out[f"{name}.ragged"] = out.pop(name)[kept]
  out[f"{_DETECTIONS}.lengths"] = np.array([most, *lengths], np.int64)
  return out


def _padded(
  name: str, values: np.ndarray, lengths: Sequence[int], most: int
) -> np.ndarray:
  shape = (len(lengths), most, *values.shape[1:])
  limits.check_arrays(math.prod(shape) * values.itemsize, name)
  kept = np.arange(most) < np.array(lengths, np.int64)[:, None]
  out = np.full(shape, _NO_DETECTION[name], values.dtype)
  out[kept] = values
  return out

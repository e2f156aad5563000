"""Formats of sets on disk, and reading their examples.

We write ArrayRecord, which needs no TensorFlow; in buckets, which its library
cannot open, and if TFDS prepares a set itself, it is TFRecord. A set is read in
the format that it has. TFDS makes `tf.data` pipelines only of TFRecord; this
module adds them for ArrayRecord.
"""

import dataclasses
import importlib.util
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core import file_adapters

from robust_tfds import errors
from robust_tfds.storage import paths

TFRECORD, ARRAY_RECORD = "tfrecord", "array_record"
FORMATS = (TFRECORD, ARRAY_RECORD)
_OPENCV = "OpenCV is not installed."


def _is_of_use(record: logging.LogRecord) -> bool:
  """Return False for TFDS's warning that OpenCV is missing, which Pillow
  replaces.
  """
  return not str(record.msg).startswith(_OPENCV)


logging.getLogger("absl").addFilter(_is_of_use)
_READ = 64  # records at a time, in parallel by their library


def default_format(data_dir: str | os.PathLike | None) -> str:
  """Return the format of new sets in a data folder."""
  return ARRAY_RECORD if paths.is_local(data_dir or "") else TFRECORD


def foreign_format(builder: tfds.core.DatasetBuilder) -> str | None:
  """Return the format for a set of another package; None for its own.

  If TensorFlow is installed it is TFDS's default, which its other readers
  expect.
  """
  if builder.is_prepared() or _has_tensorflow():
    return None
  return ARRAY_RECORD


def check_writable(
  builder: tfds.core.DatasetBuilder, file_format: Any = None
) -> None:
  """Refuse to begin a set that cannot be written without TensorFlow.

  Args:
    file_format: the format to prepare, as TFDS takes it; None: the builder's.

  Raises:
    MissingPackageError: it would be TFRecord, and TensorFlow is not installed.
  """
  chosen = file_adapters.FileFormat(file_format or builder.info.file_format)
  if chosen.value != ARRAY_RECORD and not _has_tensorflow():
    refusal = _without_tensorflow(builder)
    raise errors.MissingPackageError(
      f"{refusal} Without it: file_format={ARRAY_RECORD!r}, of tfds.data_source in"
      " builder_kwargs."
    )


def check_loadable(name: str) -> None:
  """Refuse to load a set as `tf.data.Dataset` without TensorFlow.

  Args:
    name: name of the set and its config, as TFDS takes it.

  Raises:
    MissingPackageError: TensorFlow is not installed.
  """
  if not _has_tensorflow():
    refusal = errors.missing_package_error(
      "TensorFlow", "tf", "robust_tfds.load gives a tf.data.Dataset and"
    )
    raise errors.MissingPackageError(
      f"{refusal} Without it, e.g. for PyTorch's DataLoader:"
      f' tfds.data_source("{name}", split=..., builder_kwargs={{"file_format":'
      f' "{ARRAY_RECORD}"}}).'
    )


def is_array_record(builder: tfds.core.DatasetBuilder) -> bool:
  """Return whether a prepared set is read without TensorFlow."""
  return builder.info.file_format.value == ARRAY_RECORD


def rows(
  builder: tfds.core.DatasetBuilder, split: str, decoders: Any = None
) -> Iterator[dict[str, Any]]:
  """Yield a prepared set's examples as arrays, in its order.

  Args:
    builder: the builder of any TFDS set.
    split: a split, or a part of one: `train[:10%]`.
    decoders: see `tfds.decode`.

  Raises:
    MissingPackageError: it is TFRecord, and TensorFlow is not installed.
  """
  if is_array_record(builder):
    read, count = random_access(builder, split, decoders)
    yield from map(read, range(count))
    return
  tensorflow(builder)
  dataset = builder.as_dataset(
    split=split,
    shuffle_files=False,
    decoders=decoders,
    read_config=tfds.ReadConfig(interleave_cycle_length=1),
  )
  yield from tfds.as_numpy(dataset)


@dataclasses.dataclass(frozen=True)
class _Reader:
  """Reads examples by number; other processes can have it, too."""

  source: Any
  videos: Sequence[str]

  def __call__(self, number: int) -> dict[str, Any]:
    example = dict(self.source[number])
    for name in self.videos:  # their frames come one by one, or undecoded
      if isinstance(example.get(name, [b""])[0], np.ndarray):
        example[name] = np.stack(example[name])
    return example


def random_access(
  builder: tfds.core.DatasetBuilder, split: str, decoders: Any = None
) -> tuple[Callable[[int], dict[str, Any]], int]:
  """Return a function that reads an ArrayRecord example by number, and their
  count.

  The function is picklable.
  """
  source = builder.as_data_source(split=split, decoders=decoders)
  features = builder.info.features.items()
  videos = [n for n, f in features if isinstance(f, tfds.features.Video)]
  return _Reader(source, videos), len(source)


class _Stored(tfds.decode.SkipDecoding):
  """A TFDS decoder that also skips decoding of video frames in ArrayRecord
  files.
  """

  def decode_batch_example_np(self, batch: Any) -> Any:
    return batch


def skipping(names: Iterable[str]) -> dict[str, tfds.decode.SkipDecoding]:
  """Return decoders that leave features as they are stored."""
  return {name: _Stored() for name in names}


def count(files: Sequence[os.PathLike]) -> int:
  """Return how many records ArrayRecord files contain.

  Raises:
    RuntimeError: a file is truncated or damaged, in the library's words.
  """
  from array_record.python import array_record_data_source

  names = [os.fspath(file) for file in files]
  with array_record_data_source.ArrayRecordDataSource(names) as source:
    return len(source)


def tensorflow(builder: tfds.core.DatasetBuilder) -> Any:
  """Return the module TensorFlow, which reads a set of TFRecord files.

  Raises:
    MissingPackageError: it is not installed.
  """
  try:
    import tensorflow
  except ImportError as e:
    raise _without_tensorflow(builder) from e
  return tensorflow


def _has_tensorflow() -> bool:
  return importlib.util.find_spec("tensorflow") is not None


def _without_tensorflow(
  builder: tfds.core.DatasetBuilder,
) -> errors.MissingPackageError:
  return errors.missing_package_error(
    "TensorFlow", "tf", f"{os.fspath(builder.data_path)} (TFRecord files)"
  )


class _Adapter(file_adapters.ArrayRecordFileAdapter):
  """TFDS's adapter of ArrayRecord files, with `tf.data`."""

  SUPPORTS_TF_DATA = True

  @classmethod
  def make_tf_data(cls, filename: Any, buffer_size: int | None = None) -> Any:
    """Return the records of a file; `filename` is a tensor in TFDS's pipeline."""
    del buffer_size
    import tensorflow as tf

    return tf.data.Dataset.from_generator(
      _records, args=(filename,), output_signature=tf.TensorSpec((), tf.string)
    )


def _records(filename: bytes) -> Iterator[bytes]:
  from array_record.python import array_record_data_source

  with array_record_data_source.ArrayRecordDataSource(
    [os.fsdecode(filename)]
  ) as source:
    for start in range(0, len(source), _READ):
      places = range(start, min(start + _READ, len(source)))
      yield from source.__getitems__(places)


file_adapters.ADAPTER_FOR_FORMAT[file_adapters.FileFormat.ARRAY_RECORD] = (
  _Adapter
)

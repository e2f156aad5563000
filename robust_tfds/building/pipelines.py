"""A split made by an Apache Beam pipeline, byte for byte as one made without
Beam.

TFDS's Beam writer assigns examples to files by the hash of their key, its other
writer by their place in the order of the hashes: two builds of a set of several
files would differ. The sources' ids are their keys, so the order is known
before the first example is made:

  sources in that order, in one index file
    -> (part, place in the index)   the graph only holds a few numbers per part
    -> a part's records, in a file beside the index
    -> when all parts are there, the number of files follows from their size
    -> a file of the set, from the parts that it spans

There are no side inputs, no state, and no pixels between two steps: any runner of
Beam can run it, tasks may be repeated, and a worker holds one part at a time. Every
worker reads and writes the folder of the set.
"""

import dataclasses
import math
import os
import pickle
import re
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from etils import epath
from tensorflow_datasets.core import example_serializer, hashing
from tensorflow_datasets.core.utils import shard_utils

from robust_tfds import errors
from robust_tfds.building import build_session, writer

FOLDER = "parts"  # in the folder of a set that is being made
_MAX_PARTS = 4096  # a few bytes of the graph each; runners take 10 MB
_LENGTH = np.dtype("<u8")
_REFUSAL = "refusal.txt"
_SIZE = "size.txt"
_SAID = re.compile(r"UserError: (.*?)(?: \[while running|\n\n|$)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Split:
  """The inputs from which a pipeline makes a split.

  Attributes:
    sources: each becomes one example, whose key is its `example_id`.
    work: chunk of sources -> rows; picklable.
    example: row -> (key, example); picklable.
    chunk: sources that `work` takes at once.
  """

  sources: Sequence[Any]
  work: Callable[[Sequence[Any]], Sequence[Any]]
  example: Callable[[Any], tuple[str, dict[str, Any]]]
  chunk: int


@dataclasses.dataclass(frozen=True)
class Job:
  """The data that every worker gets; picklable, and of constant size.

  Attributes:
    folder: folder of the index and the parts.
    count: number of examples of the split.
    per_part: examples per part; the last has fewer.
    chunk: sources that are worked on at once.
    work: chunk of sources -> rows.
    example: row -> (key, example).
    features: the set's features.
    example_writer: writes the set's files.
    template: names them.
    shard_config: determines the number of files.
  """

  folder: str
  count: int
  per_part: int
  chunk: int
  work: Callable[[Sequence[Any]], Sequence[Any]]
  example: Callable[[Any], tuple[str, dict[str, Any]]]
  features: tfds.features.FeaturesDict
  example_writer: writer.OrderedWriter
  template: tfds.core.ShardedFileTemplate
  shard_config: shard_utils.ShardConfig

  @property
  def parts(self) -> int:
    """The number of parts."""
    return math.ceil(self.count / self.per_part)

  def make_part(
    self, place: tuple[int, int, int]
  ) -> tuple[int, tuple[int, int]]:
    """Make the records of one part and write them beside the index.

    An error is written to a file, not raised: runners would retry forever.

    Args:
      place: number of the part, and offset and size in bytes of its sources in
        the index.

    Returns:
      (0, (number of the part, bytes of its records)): one key for all parts.
    """
    number, offset, size = place
    refusal = epath.Path(self.folder) / _REFUSAL
    if refusal.exists():
      return 0, (number, 0)
    sources = pickle.loads(self._index(offset, size))  # of `_write_index`
    try:
      records = list(self._serialize(sources))
    except (errors.UserError, OSError) as e:
      _write_whole(refusal, _refusal_text(e).encode())
      return 0, (number, 0)
    lengths = np.array([len(r) for r in records], _LENGTH)
    data = b"".join([lengths.tobytes(), *records])
    _write_whole(self._part(number), data)
    return 0, (number, int(lengths.sum()))

  def plan(
    self, parts: tuple[int, Iterable[tuple[int, int]]]
  ) -> Iterator[tuple[int, int]]:
    """Yield the files of the split: (number, how many there are).

    Args:
      parts: the results of `make_part` for all parts, in any order.
    """
    sizes = dict(parts[1])  # a part that was made twice counts once
    folder = epath.Path(self.folder)
    if (folder / _REFUSAL).exists():
      return
    total = sum(sizes.values())
    _write_whole(folder / _SIZE, str(total).encode())
    files = self.shard_config.get_number_shards(total, self.count)
    yield from ((number, files) for number in range(files))

  def write_file(self, place: tuple[int, int]) -> int:
    """Write one file of the split and return its number.

    Args:
      place: number of the file, and how many there are.
    """
    number, files = place
    ends = shard_utils.get_shard_boundaries(self.count, files)
    first = ends[number - 1] if number else 0
    unfinished = epath.Path(self.folder) / f"file{number}.{uuid.uuid4().hex}"
    self.example_writer.write(
      unfinished, enumerate(self._records(first, ends[number]))
    )
    unfinished.replace(
      self.template.sharded_filepath(shard_index=number, num_shards=files)
    )
    return number

  def _records(self, first: int, end: int) -> Iterator[bytes]:
    """Yield the records between two places in the order of the set."""
    for number in range(first // self.per_part, self.parts):
      start = number * self.per_part
      if start >= end:
        return
      count = min(self.per_part, self.count - start)
      data = memoryview(self._part(number).read_bytes())
      at = count * _LENGTH.itemsize
      for i, length in enumerate(np.frombuffer(data[:at], _LENGTH).tolist()):
        if first <= start + i < end:
          yield bytes(data[at : at + length])
        at += length

  def _serialize(self, sources: Sequence[Any]) -> Iterator[bytes]:
    """Yield the records of sources, in their order."""
    serialize = example_serializer.ExampleSerializer(
      self.features.get_serialized_info()
    ).serialize_example
    for chunk in build_session.split(sources, self.chunk):
      for row, source in zip(self.work(chunk), chunk, strict=True):
        key, example = self.example(row)
        assert key == source.example_id, (key, source.example_id)
        yield serialize(self.features.encode_example(example))

  def _index(self, offset: int, size: int) -> bytes:
    path = _index_path(self.folder)
    try:
      with path.open("rb") as file:
        file.seek(offset)
        return file.read(size)
    except FileNotFoundError as e:
      raise errors.UserError(
        f"{path}: is not on the worker {socket.gethostname()}. data_dir has to be"
        " a bucket, or a folder that all workers share."
      ) from e

  def _part(self, number: int) -> epath.Path:
    return epath.Path(self.folder) / f"{number:05d}"


def make(
  split: Split,
  features: tfds.features.FeaturesDict,
  example_writer: writer.OrderedWriter,
  template: tfds.core.ShardedFileTemplate,
  download_config: Any,
) -> tfds.core.SplitInfo:
  """Make the files of one split.

  Args:
    split: the inputs of the split.
    example_writer: writes its files.
    template: names them; its folder is the set's.
    download_config: TFDS's options: of Beam's pipeline, and of files' sizes.

  Raises:
    UserError: a broken source, or a folder that the workers cannot read.
  """
  shards = download_config.get_shard_config() or shard_utils.ShardConfig()
  job, places = prepared(split, features, example_writer, template, shards)
  _run(job, places, download_config.beam_options)
  folder = epath.Path(job.folder)
  if (folder / _REFUSAL).exists():
    raise errors.UserError((folder / _REFUSAL).read_text())
  size = int((folder / _SIZE).read_text())
  files = job.shard_config.get_number_shards(size, job.count)
  ends = shard_utils.get_shard_boundaries(job.count, files)
  return tfds.core.SplitInfo(
    name=template.split,
    shard_lengths=np.diff([0, *ends]).tolist(),
    num_bytes=size,
    filename_template=template,
  )


def prepared(
  split: Split,
  features: tfds.features.FeaturesDict,
  example_writer: writer.OrderedWriter,
  template: tfds.core.ShardedFileTemplate,
  shard_config: shard_utils.ShardConfig,
) -> tuple[Job, list[tuple[int, int, int]]]:
  """Return the job of a split and its parts' places in the index, which is
  written.
  """
  folder = epath.Path(template.data_dir) / FOLDER / template.split
  folder.mkdir(parents=True, exist_ok=True)
  count = len(split.sources)
  per_part = math.ceil(count / _MAX_PARTS / split.chunk) * split.chunk
  job = Job(
    folder=os.fspath(folder),
    count=count,
    per_part=per_part,
    chunk=split.chunk,
    work=split.work,
    example=split.example,
    features=features,
    example_writer=example_writer,
    template=template,
    shard_config=shard_config,
  )
  ordered = write_order(split.sources, template.split)
  places = _write_index(job.folder, build_session.split(ordered, per_part))
  return job, places


def write_order(sources: Sequence[Any], salt: str) -> list[Any]:
  """Return sources in the order in which TFDS writes their examples.

  Args:
    sources: sources in any order.
    salt: salt of the hashes: the split's name.

  Raises:
    UserError: two sources have the same id.
  """
  hasher = hashing.Hasher(salt)
  hashes = [hasher.hash_key(s.example_id) for s in sources]
  order = sorted(range(len(sources)), key=hashes.__getitem__)
  for first, second in zip(order, order[1:]):
    if hashes[first] == hashes[second]:
      raise errors.UserError(
        f"Two examples are called {sources[first].example_id!r}; each name may"
        " stand once."
      )
  return [sources[i] for i in order]


def graph(job: Job, places: Sequence[tuple[int, int, int]]) -> Any:
  """Return the transform from nothing to the numbers of the files that it
  wrote.
  """
  import apache_beam as beam

  pairs = tuple[int, tuple[int, int]]
  # Reshuffle parts what follows from what stands before: else a runner would do
  # all of it where the numbers come from.
  return (
    beam.Create(places)
    | "SpreadParts" >> beam.Reshuffle()
    | "MakePart" >> beam.Map(job.make_part).with_output_types(pairs)
    | "AllParts" >> beam.GroupByKey()
    | "Plan" >> beam.FlatMap(job.plan)
    | "SpreadFiles" >> beam.Reshuffle()
    | "WriteFile" >> beam.Map(job.write_file)
  )


def _run(
  job: Job, places: Sequence[tuple[int, int, int]], options: Any
) -> None:
  import apache_beam as beam

  try:
    with beam.Pipeline(options=options) as pipeline:
      _ = pipeline | job.template.split >> graph(job, places)
  except (
    Exception
  ) as e:  # each runner has its own, with the worker's in its text
    reason = _SAID.search(str(e))
    if reason is None:
      raise
    raise errors.UserError(reason[1].strip()) from e


def _write_index(
  folder: str, parts: Sequence[Sequence[Any]]
) -> list[tuple[int, int, int]]:
  """Write the sources of all parts; return (number, offset, size) of each."""
  places = []
  offset = 0
  with _index_path(folder).open("wb") as file:
    for number, part in enumerate(parts):
      data = pickle.dumps(part)
      file.write(data)
      places.append((number, offset, len(data)))
      offset += len(data)
  return places


def _index_path(folder: str) -> epath.Path:
  return epath.Path(folder) / "sources.index"


def _write_whole(path: epath.Path, data: bytes) -> None:
  """Write a file atomically."""
  unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
  unfinished.write_bytes(data)
  unfinished.replace(path)


def _refusal_text(error: Exception) -> str:
  """Return a worker's error as text for the user who started the pipeline."""
  if isinstance(error, errors.UserError):
    return str(error)
  return (
    f"{error} (on the worker {socket.gethostname()}). Sources and data_dir have to"
    " lie where all workers can open them: in a bucket, or a folder that they"
    " share."
  )

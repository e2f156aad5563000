"""Inputs: padded, host-sharded batches of uint8 pixels, off the accelerators.

TFRecord data sets are read by tf.data through TFDS, ArrayRecord ones through
`as_data_source` without TensorFlow; both decode in parallel and run ahead. A set
that fits into `cache_bytes` is decoded once and kept.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import queue
import threading
import time
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Protocol

import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import canvas


@dataclasses.dataclass(frozen=True)
class Batch:
  """Rows of equal shape; the last batch is padded.

  Attributes:
    image: uint8 `[B, H, W, 3]`, or `[B, T, H, W, 3]` of sequences. Where the
      data set's pictures vary in size each lies in the top-left corner of a
      canvas.
    size: int32 `[B, 2]`, valid (height, width) of each row.
    mask: bool `[B]`, False for padding.
    example_id: B strings, empty for padding.
    group_id: B strings.
    frame: int32 `[B]`.
    label: int32 `[B]`, -1 for padding and where examples have none.
    examples: the valid rows' features, all but the pixels, for tasks that need
      more than a label.
  """

  image: np.ndarray
  size: np.ndarray
  mask: np.ndarray
  example_id: Sequence[str]
  group_id: Sequence[str]
  frame: np.ndarray
  label: np.ndarray
  examples: Sequence[Mapping[str, Any]] = ()


class Batches(Protocol):
  """What gives batches of one shape, always in the same order."""

  @property
  def steps(self) -> int:
    """How many batches."""
    ...

  @property
  def shape(self) -> tuple[int | None, ...]:
    """Of an example's pixels; None where pictures differ."""
    ...

  def batches(self) -> Iterator[Batch]:
    """`steps` batches."""
    ...


@dataclasses.dataclass(frozen=True)
class Host:
  """Which share of the examples is read here."""

  index: int = 0
  count: int = 1


class Source:
  """The examples of one prepared TFDS split, this host's share of them."""

  def __init__(
    self,
    builder: Any,
    split: str,
    *,
    batch_size: int,
    host: Host = Host(),
    limit: int = 0,
    cache_bytes: int = 4 << 30,
  ):
    """Opens a prepared builder.

    Args:
      builder: a TFDS builder, already prepared.
      split: its split, without slicing.
      batch_size: rows of a batch on this host.
      host: this host's share.
      limit: use the first `limit` examples only; 0 for all.
      cache_bytes: keep decoded batches up to this size in memory.

    Raises:
      ValueError: unknown split, or more examples asked for than exist.
    """
    splits = builder.info.splits
    if split not in splits:
      raise errors.UserError(
        f"{builder.info.full_name} has no split {split!r}; it has"
        f" {', '.join(splits)}."
      )
    self.total = splits[split].num_examples
    if limit > self.total:
      raise errors.UserError(
        f"{limit} examples asked for, but {builder.info.full_name} has"
        f" {self.total} in {split!r}. Lower config.data.limit (0: all)."
      )
    self.total = limit or self.total
    self.builder, self.split, self.host = builder, split, host
    features = builder.info.features
    kinds = ("frames", "video", "image")
    self.pixels = next(k for k in kinds if k in features)
    self.shape = tuple(features[self.pixels].shape)
    self.batch_size = batch_size
    self.waited_s = 0.0  # how long `batches` waited for decoded examples
    self.decoding_s = 0.0  # how long the reading thread worked on them
    self.decoded = 0  # how many it read
    # Every host takes the same number of steps.
    share = -(-self.total // host.count)
    self.steps = -(-share // batch_size)
    self._cache: list[Batch] | None = None
    self._cache_bytes = cache_bytes

  def batches(self) -> Iterator[Batch]:
    """This host's batches, `steps` of them, always in the same order."""
    if self._cache is not None:
      yield from self._cache
      return
    cache: list[Batch] | None = []
    size = 0
    for batch in self.prefetch(self._decoded_batches()):
      size += batch.image.nbytes
      if cache is not None and size <= self._cache_bytes:
        cache.append(batch)
      else:
        cache = None
      yield batch
    self._cache = cache

  def prefetch(self, batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches, made in a thread before they are asked for.

    Adds to `waited_s`, `decoding_s` and `decoded`.
    """

    def measured() -> Iterator[Batch]:
      while True:
        start = time.perf_counter()
        batch = next(batches, None)
        self.decoding_s += time.perf_counter() - start
        if batch is None:
          return
        self.decoded += int(batch.mask.sum())
        yield batch

    ready = _in_thread(measured(), depth=2)
    while True:
      start = time.perf_counter()
      batch = next(ready, None)
      self.waited_s += time.perf_counter() - start
      if batch is None:
        return
      yield batch

  @property
  def category_ids(self) -> tuple[int, ...]:
    """By label, what COCO-style result files call the classes; empty: label + 1."""
    return self.builder.CATEGORY_IDS

  def sample(self) -> dict[str, Any]:
    """The first example, for galleries and shape checks."""
    return next(iter(self.examples()))

  def metadata(self, skipped: Sequence[str]) -> Iterator[dict[str, Any]]:
    """All examples of the split that are used, on every host.

    Args:
      skipped: features that need not be decoded.
    """
    import tensorflow_datasets as tfds

    decoders = {name: tfds.decode.SkipDecoding() for name in skipped}
    if self.builder.info.file_format.value == "array_record":
      source = self.builder.as_data_source(split=self.split, decoders=decoders)
      yield from (source[i] for i in range(self.total))
      return
    dataset = self.builder.as_dataset(
      split=f"{self.split}[:{self.total}]",
      shuffle_files=False,
      decoders=decoders,
      read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    yield from tfds.as_numpy(dataset)

  def find(self, example_id: str) -> dict[str, Any] | None:
    """One example by its id; None where the set has none of it."""
    for example in self.examples():
      if text(example["example_id"]) == example_id:
        return example
    return None

  def _decoded_batches(self) -> Iterator[Batch]:
    examples = self.examples()
    for _ in range(self.steps):
      rows = list(itertools.islice(examples, self.batch_size))
      yield _batch(rows, self.batch_size, self.pixels, self.shape)

  def examples(self, skipped: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """This host's examples one by one.

    Args:
      skipped: features that stay as they are stored; all others are decoded.
    """
    import tensorflow_datasets as tfds

    decoders = {name: tfds.decode.SkipDecoding() for name in skipped}
    if self.builder.info.file_format.value == "array_record":
      return self._array_record_examples(decoders)
    return self._tf_data_examples(decoders)

  def _tf_data_examples(self, decoders: Any) -> Iterator[dict[str, Any]]:
    import tensorflow as tf
    import tensorflow_datasets as tfds

    tf.config.set_visible_devices([], "GPU")
    tf.config.set_visible_devices([], "TPU")
    share = tfds.even_splits(
      f"{self.split}[:{self.total}]",
      n=self.host.count,
      drop_remainder=False,
    )[self.host.index]
    options = tfds.ReadConfig(interleave_cycle_length=1)
    dataset = self.builder.as_dataset(
      split=share,
      shuffle_files=False,
      decoders=decoders,
      read_config=options,
    )
    return iter(tfds.as_numpy(dataset.prefetch(tf.data.AUTOTUNE)))

  def _array_record_examples(self, decoders: Any) -> Iterator[dict[str, Any]]:
    source = self.builder.as_data_source(split=self.split, decoders=decoders)
    share = range(self.host.index, self.total, self.host.count)
    with concurrent.futures.ThreadPoolExecutor() as pool:
      for start in range(0, len(share), self.batch_size):
        block = share[start : start + self.batch_size]
        yield from pool.map(source.__getitem__, block)


def _in_thread(items: Iterable[Batch], depth: int) -> Iterator[Batch]:
  """Runs an iterator in a thread, up to `depth` items ahead."""
  done = object()
  ready: queue.Queue = queue.Queue(maxsize=depth)
  stop = threading.Event()

  def put(item: object) -> None:
    while not stop.is_set():
      try:
        return ready.put(item, timeout=0.1)
      except queue.Full:
        pass

  def work() -> None:
    try:
      for item in items:
        put(item)
        if stop.is_set():
          return
      put(done)
    except BaseException as e:  # handed to the reader, which raises it
      put(e)

  threading.Thread(target=work, daemon=True).start()
  try:
    while (item := ready.get()) is not done:
      if isinstance(item, BaseException):
        raise item
      yield item  # type: ignore[misc]
  finally:
    stop.set()


def _batch(
  examples: list[dict[str, Any]],
  batch_size: int,
  pixels: str,
  shape: tuple[int | None, ...],
) -> Batch:
  rows = len(examples)
  padding = batch_size - rows
  images = [np.asarray(e[pixels]) for e in examples]
  if None in shape:
    image, size = _on_canvas(images, batch_size)
  else:
    for e, picture in zip(examples, images):
      if picture.shape != shape:
        raise errors.UserError(
          f"Example {text(e['example_id'])!r} has shape {picture.shape}, its data"
          f" set says {shape}. Build the data set again."
        )
    fixed = [n for n in shape if n is not None]
    image = np.zeros((batch_size, *fixed), np.uint8)
    for i, picture in enumerate(images):
      image[i] = picture
    size = np.tile(np.array(fixed[-3:-1], np.int32), (batch_size, 1))
  return Batch(
    image=image,
    size=size,
    mask=np.arange(batch_size) < rows,
    example_id=[text(e["example_id"]) for e in examples] + [""] * padding,
    group_id=[text(e["group_id"]) for e in examples] + [""] * padding,
    frame=np.array([e["frame"] for e in examples] + [0] * padding, np.int32),
    label=np.array(
      [e.get("label", -1) for e in examples] + [-1] * padding, np.int32
    ),
    examples=[{k: v for k, v in e.items() if k != pixels} for e in examples],
  )


def _on_canvas(
  images: list[np.ndarray], batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
  """Pictures of any sizes on one canvas; padding rows repeat the first."""
  first = images[0] if images else np.zeros((1, 1, 3), np.uint8)
  return canvas.stack([*images, *[first] * (batch_size - len(images))])


def on_larger_canvas(batch: Batch, shape: tuple[int, int]) -> Batch:
  """The batch with its pictures on a canvas of at least this shape."""
  height, width = batch.image.shape[1:3]
  margin = [(0, 0), (0, shape[0] - height), (0, shape[1] - width), (0, 0)]
  return dataclasses.replace(batch, image=np.pad(batch.image, margin))


def text(value: Any) -> str:
  """A string, whether TFDS gave bytes or str."""
  return value.decode("utf-8") if isinstance(value, bytes) else str(value)

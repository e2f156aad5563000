"""Inputs: padded, host-sharded batches of uint8 images, off the accelerators.

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
from collections.abc import Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Batch:
  """Rows of equal shape; the last batch is padded.

  Attributes:
    image: uint8 `[B, H, W, 3]`.
    mask: bool `[B]`, False for padding.
    example_id: B strings, empty for padding.
    group_id: B strings.
    frame: int32 `[B]`.
    label: int32 `[B]`, -1 for padding.
  """

  image: np.ndarray
  mask: np.ndarray
  example_id: Sequence[str]
  group_id: Sequence[str]
  frame: np.ndarray
  label: np.ndarray


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
      raise ValueError(
        f"{builder.info.full_name} has no split {split!r}; it has"
        f" {', '.join(splits)}."
      )
    self.total = splits[split].num_examples
    if limit > self.total:
      raise ValueError(
        f"{limit} examples asked for, but {builder.info.full_name} has"
        f" {self.total} in {split!r}. Lower config.data.limit (0: all)."
      )
    self.total = limit or self.total
    self.builder, self.split, self.host = builder, split, host
    self.batch_size = batch_size
    self.seconds = 0.0  # time this host waited for decoded examples
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
    kept: list[Batch] | None = []
    size = 0
    ahead = _ahead(self._decoded_batches(), depth=2)
    while True:
      start = time.perf_counter()
      batch = next(ahead, None)
      self.seconds += time.perf_counter() - start
      if batch is None:
        break
      size += batch.image.nbytes
      if kept is not None and size <= self._cache_bytes:
        kept.append(batch)
      else:
        kept = None
      yield batch
    self._cache = kept

  def sample(self) -> dict[str, Any]:
    """The first example, for galleries and shape checks."""
    return next(iter(self._examples()))

  def _decoded_batches(self) -> Iterator[Batch]:
    shape = tuple(self.builder.info.features["image"].shape)
    examples = self._examples()
    for _ in range(self.steps):
      rows = list(itertools.islice(examples, self.batch_size))
      shape = rows[0]["image"].shape if rows else shape
      yield _batch(rows, self.batch_size, shape)

  def _examples(self) -> Iterator[dict[str, Any]]:
    if self.builder.info.file_format.value == "array_record":
      return self._array_record_examples()
    return self._tf_data_examples()

  def _tf_data_examples(self) -> Iterator[dict[str, Any]]:
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
      split=share, shuffle_files=False, read_config=options
    )
    return iter(tfds.as_numpy(dataset.prefetch(tf.data.AUTOTUNE)))

  def _array_record_examples(self) -> Iterator[dict[str, Any]]:
    source = self.builder.as_data_source(split=self.split)
    share = range(self.host.index, self.total, self.host.count)
    with concurrent.futures.ThreadPoolExecutor() as pool:
      for start in range(0, len(share), self.batch_size):
        block = share[start : start + self.batch_size]
        yield from pool.map(source.__getitem__, block)


def _ahead(items: Iterable[Batch], depth: int) -> Iterator[Batch]:
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
  examples: list[dict[str, Any]], batch_size: int, shape: tuple[int, ...]
) -> Batch:
  rows = len(examples)
  padding = batch_size - rows
  for e in examples:
    if e["image"].shape != shape:
      raise ValueError(
        f"Example {text(e['example_id'])!r} has shape {e['image'].shape}, the"
        f" first of its batch {shape}; classification batches need one shape."
      )
  image = np.zeros((batch_size, *shape), np.uint8)
  for i, e in enumerate(examples):
    image[i] = e["image"]
  return Batch(
    image=image,
    mask=np.arange(batch_size) < rows,
    example_id=[text(e["example_id"]) for e in examples] + [""] * padding,
    group_id=[text(e["group_id"]) for e in examples] + [""] * padding,
    frame=np.array([e["frame"] for e in examples] + [0] * padding, np.int32),
    label=np.array([e["label"] for e in examples] + [-1] * padding, np.int32),
  )


def text(value: Any) -> str:
  """A string, whether TFDS gave bytes or str."""
  return value.decode("utf-8") if isinstance(value, bytes) else str(value)

"""Inputs: the examples of a set, and padded batches of their pixels.

Pictures of a set that is not prepared come from their files. Prepared TFRecord sets are
read by tf.data through TFDS, ArrayRecord ones through `as_data_source` without
TensorFlow. All decode in parallel. Reading ahead is in
`eval/pipeline/blocks.py`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from eval.pipeline import streams
from eval.pipeline import subset as subset_lib
from robust_tfds import cores, errors, strings
from robust_tfds.building import file_formats, source_notes
from robust_tfds.building import source as source_parts
from robust_tfds.corruptions import canvas
from robust_tfds.hosts import Host
from robust_tfds.storage import paths

_ALONE = Host()


@dataclasses.dataclass(frozen=True)
class Batch:
  """A batch of rows of equal shape; the last batch is padded.

  Attributes:
    image: uint8 `[B, H, W, 3]`, or `[B, T, H, W, 3]` for sequences. If pictures
      vary in size, each is in the top-left corner of a canvas; there may be
      fewer rows of large canvases, see `blocks`.
    size: int32 `[B, 2]`, valid (height, width) of each row.
    any_size: whether the pictures of the set vary in size.
    mask: bool `[B]`, False for padding.
    example_id: B strings, empty for padding.
    group_id: B strings.
    frame: int32 `[B]`.
    label: int32 `[B]`, -1 for padding and if examples have none; or masks,
      uint8 `[B, H, W]`, 255 beyond the pictures.
    examples: the valid rows' features except the pixels, for tasks that need
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
  any_size: bool = False


class Source:
  """This host's share of the examples of one prepared TFDS split."""

  def __init__(
    self,
    builder: Any,
    split: str,
    *,
    batch_size: int,
    host: Host = _ALONE,
    limit: int = 0,
    subset: subset_lib.Subset | None = None,
  ):
    """Open a prepared builder.

    Args:
      builder: a TFDS builder, already prepared.
      split: its split without slicing, or several of them joined by `+`.
      batch_size: rows of a batch on this host.
      host: this host's share.
      limit: use the first `limit` examples only; 0 for all.
      subset: use these examples only, without a limit; None for all.

    Raises:
      UserError: unknown split, or more examples requested than exist.
    """
    counts = self._num_examples(builder)
    for part in split.split("+"):
      if part not in counts:
        raise errors.UserError(
          f"{builder.info.full_name} has no split {part!r}; it has"
          f" {', '.join(counts)}."
        )
    self._counts = {part: counts[part] for part in split.split("+")}
    self.total = sum(self._counts.values())
    if limit > self.total:
      raise errors.UserError(
        f"config.data.limit: got {limit}, but {builder.info.full_name} has"
        f" {self.total} examples in {split!r}. Lower it (0: all)."
      )
    self.total = limit or self.total
    self.builder, self.split, self.host = builder, split, host
    self._places: np.ndarray | None = None
    features = builder.info.features
    kinds = ("frames", "video", "image")
    self.pixels = next(k for k in kinds if k in features)
    self.shape = tuple(features[self.pixels].shape)
    self.batch_size = batch_size
    self.decoded = 0  # examples of which pixels were decoded
    if subset is not None:
      ids = [
        strings.text(e["example_id"]) for e in self.metadata(self.pictures)
      ]
      self._places = subset.places(ids, builder.info.full_name)
      self.total = len(self._places)
    # Every host takes as many steps: the largest share.
    self.share = -(-self.total // host.count)

  @property
  def _is_random_access(self) -> bool:
    """Whether examples can be read in any order, by their places."""
    return file_formats.is_array_record(self.builder)

  def _num_examples(self, builder: Any) -> Mapping[str, int]:
    """Return how many examples each split has."""
    return {k: v.num_examples for k, v in builder.info.splits.items()}

  def part(self, split: str, batch_size: int) -> Source:
    """Return all examples of a split of the same set, on one host."""
    return Source(self.builder, split, batch_size=batch_size)

  def content(self, hashed: Callable[[str], str]) -> str:
    """Return a sha256 of the files that the split's examples are read from.

    Args:
      hashed: path -> sha256 of a file.
    """
    split = self.builder.info.splits[self.split]
    shas = [hashed(os.fspath(path)) for path in split.filepaths]
    return hashlib.sha256("".join(shas).encode()).hexdigest()

  def ordered(self, stream: streams.Stream) -> Self:
    """Return the same examples in the order of a stream.

    Raises:
      UserError: the set is in TFRecord files, which are read in one order only.
    """
    if not self._is_random_access:
      raise errors.UserError(
        f"{self.builder.data_dir}: adapting models are shown shuffled pictures, but"
        " TFRecord files are read in one order only. Name another data_dir with"
        " file_format='array_record', in which the set is prepared anew."
      )
    out = copy.copy(self)
    out.decoded = 0
    rows = [*self.metadata(self.pictures)]
    ids = [strings.text(row["example_id"]) for row in rows]
    order = stream.places(ids, [int(row.get("label", -1)) for row in rows])
    places = np.arange(self.total) if self._places is None else self._places
    out._places = places[order]
    return out

  def without_last(self, batch_size: int, seed: int) -> Self:
    """Return the set without the pictures of a smaller last batch.

    The same pictures are left out in every condition and in every order: the
    last ones of the order of `seed`.
    """
    out, rest = copy.copy(self), self.total % batch_size
    if rest == self.total:
      raise errors.UserError(
        f"adapt.last_batch: got 'drop' and batches of {batch_size}, which leaves none"
        f" of {self.total:,} pictures. Use 'keep', or a smaller adapt.batch_size."
      )
    ids = [strings.text(e["example_id"]) for e in self.metadata(self.pictures)]
    dropped = streams.shuffled(ids, seed)[self.total - rest :]
    places = np.arange(self.total) if self._places is None else self._places
    out._places = np.delete(places, dropped)
    out.total = out.share = len(out._places)
    return out

  @property
  def pictures(self) -> tuple[str, ...]:
    """The features that take long to decode: pixels and class masks."""
    return (self.pixels, *["mask"] * ("mask" in self.builder.info.features))

  def batches(self, start: int = 0) -> Iterator[Batch]:
    """Yield this host's batches in the order of the set, decoding on demand."""
    rows = self.rows(start)
    while listed := list(itertools.islice(rows, self.batch_size)):
      yield self.batch(listed)

  def batch(
    self, rows: Sequence[Mapping[str, Any]], canvases: int | None = None
  ) -> Batch:
    """Return at most `batch_size` examples as a padded batch.

    Args:
      canvases: number of rows of `image` if pictures vary in size; None: all.
    """
    return _batch(rows, self.batch_size, self.pixels, self.shape, canvases)

  @property
  def decoders(self) -> str | None:
    """The decoders of the pixels, when the set was made and now, in words.

    It is '' if nothing was decoded, and None if the set did not record it.
    """
    made, here = self.builder.made_with(), self.builder.read_with()
    if made is None:
      return None
    parts = {"made with": made, "read with": here}
    return "; ".join(f"{k} {v}" for k, v in parts.items() if v)

  @property
  def category_ids(self) -> tuple[int, ...]:
    """The category ids of COCO-style result files, by label; empty: label + 1."""
    return self.builder.CATEGORY_IDS

  def rows(
    self, start: int = 0, stop: int | None = None, skipped: Sequence[str] = ()
  ) -> Iterator[dict[str, Any]]:
    """Yield this host's examples one by one, each decoded once.

    Args:
      start: number of the first within this host's share, from 0.
      stop: number after the last; None for all.
      skipped: features that stay as they are stored; all others are decoded.
    """
    first, last = self._bounds()
    begin = min(first + start, last)
    end = last if stop is None else min(first + stop, last)
    for example in self._read(begin, end, skipped):
      self.decoded += 1
      yield example

  def sample(self) -> dict[str, Any]:
    """Return the first example, for galleries and shape checks."""
    return next(self._read(0, 1))

  def metadata(self, skipped: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield all used examples of the split, on every host.

    Args:
      skipped: features that need not be decoded.
    """
    return self._read(0, self.total, skipped)

  def find(self, example_ids: Collection[str]) -> dict[str, np.ndarray]:
    """Return id -> pixels for the ids that the set has; decode no others."""
    missing, places = set(example_ids), {}
    for place, example in enumerate(self.metadata(self.pictures)):
      name = strings.text(example["example_id"])
      if name in missing:
        missing.remove(name)
        places[name] = place
      if not missing:
        break
    return {
      name: np.asarray(next(self._read(place, place + 1))[self.pixels])
      for name, place in places.items()
    }

  def _bounds(self) -> tuple[int, int]:
    """Return (first, end) of this host's share; the first shares may have one more."""
    each, more = divmod(self.total, self.host.count)
    index = self.host.index
    first = index * each + min(index, more)
    return first, first + each + (index < more)

  def _read(
    self, begin: int, end: int, skipped: Sequence[str] = ()
  ) -> Iterator[dict[str, Any]]:
    """Yield examples by their number among the used ones."""
    if begin >= end:
      return iter(())
    places: Sequence[int] = range(begin, end)
    if self._places is not None:
      places = self._places[begin:end].tolist()
    return self._read_places(places, skipped)

  def _read_places(
    self, places: Sequence[int], skipped: Sequence[str]
  ) -> Iterator[dict[str, Any]]:
    """Yield examples by their places in the split."""
    if self._is_random_access:
      return self._array_record_examples(places, skipped)
    return self._tf_data_examples(places, skipped)

  def _tf_data_examples(
    self, places: Sequence[int], skipped: Sequence[str]
  ) -> Iterator[dict[str, Any]]:
    import tensorflow_datasets as tfds

    tf = file_formats.tensorflow(self.builder)
    tf.config.set_visible_devices([], "GPU")
    tf.config.set_visible_devices([], "TPU")
    first, last = places[0], places[-1] + 1
    scattered = len(places) < last - first
    # What is not chosen lies between: it is read, and dropped undecoded.
    later = self.pixels if scattered and self.pixels not in skipped else ""
    dataset = self.builder.as_dataset(
      split=self._sliced(first, last),
      shuffle_files=False,
      decoders=file_formats.skipping([*skipped, *filter(None, [later])]),
      read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    if scattered:
      chosen = np.zeros(last - first, bool)
      chosen[np.array(places) - first] = True
      dataset = self._only(dataset, chosen, later)
    try:
      yield from tfds.as_numpy(dataset.prefetch(tf.data.AUTOTUNE))
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as e:
      reason = (e.message or type(e).__name__).rpartition("}} ")[2]
      raise self._unreadable(reason) from e

  def _sliced(self, first: int, last: int) -> str:
    """Return examples by number as a TFDS slice of each joined split."""
    parts, before = [], 0
    for name, count in self._counts.items():
      begin, end = max(first - before, 0), min(last - before, count)
      if begin < end:
        parts.append(f"{name}[{begin}:{end}]")
      before += count
    return "+".join(parts)

  def _unreadable(self, reason: str) -> errors.UserError:
    return errors.UserError(
      f"{self.builder.data_dir}: an example of {self.builder.info.full_name}"
      f" cannot be read: {reason}. If it could be before, remove this folder"
      " and run the same command again: the set is prepared anew."
    )

  def _only(self, dataset: Any, chosen: np.ndarray, later: str) -> Any:
    """Return the chosen examples of a tf.data set, with one more feature decoded."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    is_chosen = tf.constant(chosen)
    listed = dataset.enumerate().filter(lambda number, _: is_chosen[number])
    if not later:
      return listed.map(lambda _, example: example)
    feature = self.builder.info.features[later]
    alone = tfds.features.FeaturesDict({later: feature})

    def decode(_: Any, example: dict[str, Any]) -> dict[str, Any]:
      return {**example, **alone.decode_example({later: example[later]})}

    return listed.map(decode, num_parallel_calls=tf.data.AUTOTUNE)

  def _array_record_examples(
    self, places: Sequence[int], skipped: Sequence[str]
  ) -> Iterator[dict[str, Any]]:
    decoders = file_formats.skipping(skipped)
    read, _ = file_formats.random_access(self.builder, self.split, decoders)
    try:
      yield from cores.mapped(read, places)
    except RuntimeError as e:  # ArrayRecord's, of a file that is damaged
      raise self._unreadable(str(e)) from e


class FromFiles(Source):
  """This host's share of a set of pictures that is not prepared.

  Its sources (`pictures.Builder.unprepared`) are read on demand, by a thread for
  each core, and nothing is written.
  """

  def __init__(
    self,
    builder: Any,
    split: str,
    sources: Mapping[str, Sequence[Any]],
    **options: Any,
  ):
    """Open the set.

    Args:
      builder: builder of a clean set of pictures.
      split: see `Source`.
      sources: split -> its sources, in the set's order.
      **options: see `Source`.

    Raises:
      UserError: as `Source`.
    """
    self._by_split = sources
    parts = [sources.get(part, ()) for part in split.split("+")]
    self._sources = list(itertools.chain.from_iterable(parts))
    files = {f.path for each in self._sources for f in each.files()}
    self._states = paths.states(filter(paths.is_local, files))
    super().__init__(builder, split, **options)

  @property
  def _is_random_access(self) -> bool:
    return True

  def _num_examples(self, builder: Any) -> Mapping[str, int]:
    return {split: len(sources) for split, sources in self._by_split.items()}

  def part(self, split: str, batch_size: int) -> Source:
    """Return all examples of a split of the same set, on one host."""
    sources = self._by_split
    return FromFiles(self.builder, split, sources, batch_size=batch_size)

  def content(self, hashed: Callable[[str], str]) -> str:
    """Return a sha256 of ids, labels and sizes of all files, and bytes of some."""
    del hashed
    return source_notes.digest(self._sources)

  def _read_places(
    self, places: Sequence[int], skipped: Sequence[str]
  ) -> Iterator[dict[str, Any]]:
    pixels = self.pixels not in skipped
    read = functools.partial(self._read_unchanged, pixels=pixels)
    sources = (self._sources[place] for place in places)
    try:
      threads = None if pixels else 1
      yield from cores.mapped(
        read, sources, threads, lambda each: each.example_id
      )
    except errors.UserError:
      if self.builder.OWN:
        self.builder.OWN.check_decoded()  # names all that cannot be read
      raise

  def _read_unchanged(self, source: Any, *, pixels: bool) -> dict[str, Any]:
    """Return an example; refuse one whose file is not the one that was listed."""
    example: dict[str, Any] = self.builder.read(source, pixels)
    for file in source.files() if pixels else ():
      was = self._states.get(file.path)
      now = paths.states([file.path]).get(file.path) if was else None
      # Their times of writing alone: links and permissions change the others.
      if was and (
        not now or (was.size, was.changed[0]) != (now.size, now.changed[0])
      ):
        raise source_parts.changed_error(file.where)
    return example


def _batch(
  examples: Sequence[Mapping[str, Any]],
  batch_size: int,
  pixels: str,
  shape: tuple[int | None, ...],
  canvases: int | None,
) -> Batch:
  images = [np.asarray(e[pixels]) for e in examples]
  if None in shape:
    count = max(canvases or batch_size, len(images))
    image, size = _stack_on_canvas(images, count)
    size = np.concatenate([size, np.repeat(size[:1], batch_size - count, 0)])
  else:
    for e, picture in zip(examples, images):
      if picture.shape != shape:
        raise errors.UserError(
          f"Example {strings.text(e['example_id'])!r} has shape {picture.shape}, its data"
          f" set says {shape}. Build the data set again."
        )
    fixed = [n for n in shape if n is not None]
    image = np.zeros((batch_size, *fixed), np.uint8)
    for i, picture in enumerate(images):
      image[i] = picture
    size = np.tile(np.array(fixed[-3:-1], np.int32), (batch_size, 1))
  described = [{k: v for k, v in e.items() if k != pixels} for e in examples]
  return Batch(
    image=image,
    size=size,
    any_size=None in shape,
    **described_rows(described, batch_size),
  )


def described_rows(
  examples: Sequence[Mapping[str, Any]], batch_size: int
) -> dict[str, Any]:
  """Return the fields of a `Batch` other than the pixels.

  Args:
    examples: the valid rows' examples, without the pixels.
    batch_size: total number of rows.
  """
  padding = batch_size - len(examples)
  frames = [e.get("frame", 0) for e in examples] + [0] * padding
  labels = [e.get("label", -1) for e in examples] + [-1] * padding
  return {
    "mask": np.arange(batch_size) < len(examples),
    "example_id": [strings.text(e["example_id"]) for e in examples]
    + [""] * padding,
    "group_id": [strings.text(e["group_id"]) for e in examples]
    + [""] * padding,
    "frame": np.array(frames, np.int32),
    "label": np.array(labels, np.int32),
    "examples": examples,
  }


def _stack_on_canvas(
  images: list[np.ndarray], batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
  """Return pictures of any sizes on one canvas; padding rows repeat the first."""
  first = images[0] if images else np.zeros((1, 1, 3), np.uint8)
  return canvas.stack([*images, *[first] * (batch_size - len(images))])


def enlarge_canvas(batch: Batch, shape: tuple[int, int]) -> Batch:
  """Return the batch with its pictures on a canvas of at least this shape."""
  height, width = batch.image.shape[1:3]
  margin = [(0, 0), (0, shape[0] - height), (0, shape[1] - width), (0, 0)]
  label = batch.label
  if label.ndim > 1:  # masks
    label = np.pad(label, margin[:3], constant_values=255)
  image = np.pad(batch.image, margin)
  return dataclasses.replace(batch, image=image, label=label)

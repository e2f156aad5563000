"""Batches of a split's examples, in an order that follows from seed and epoch.

An example's key is `example_key(seed, source, "train", 1, id)` with the epoch
folded in, and an epoch's order is that of its keys. So the examples of a step,
and their pixels, depend on (seed, epoch) and ids alone: not on batches, hosts,
workers, or where a run was stopped. Reading ahead is `read_ahead`'s.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from models.training.data import crops, examples, items, read_ahead
from models.training.data.config import Config
from robust_tfds import conditions, cores, errors
from robust_tfds.building import geometry
from robust_tfds.corruptions import canvas, seeding

TRAIN, VALIDATION = "train", "validation"
DROP, KEEP = "drop", "keep"
_LEVEL = 1  # of the key: the example's own, whatever a recipe does
_WHOLE = 2**64
_COPIES = 0x434F5059  # marks the keys of an example's second copy, third, ...


class Additions(Protocol):
  """The additions to examples that a recipe makes: `recipes/base.py`."""

  @property
  def extras(self) -> Sequence[str]:
    """The names of the arrays that `extra_arrays` adds."""

  @property
  def folders(self) -> Mapping[str, str]:
    """The folders of the pictures that `extra_arrays` adds, by the key of the config."""

  @property
  def copies(self) -> int:
    """The number of times that an epoch shows an example."""

  def extra_arrays(
    self, item: Mapping[str, Any], key: np.ndarray, own: np.ndarray, copy: int
  ) -> Mapping[str, Any]:
    """Return arrays that join an example's."""


class Source:
  """The examples that a network is trained on, and those it is validated on.

  Attributes:
    name: name of the set, part of every key.
    kind: `pictures`, `videos`, `objects` or `masks`.
    classes: names in label order.
    words: description of the source.
    config: the config of the data.
    digest: sha256 over ids and stored bytes of all examples; empty if not
      computed.
  """

  def __init__(
    self,
    read: examples.Examples,
    config: Config,
    additions: Additions | None = None,
    digest: str = "",
    groups: Sequence[str] = (),
  ):
    """Split the examples; none is read.

    Args:
      additions: additions to the training examples.
      digest: digest of all examples, see `leaks.check`; likewise `groups`.

    Raises:
      UserError: the fraction leaves a part without examples, or the canvas of
        pictures with boxes is unknown.
    """
    self._examples, self._additions, self.digest = read, additions, digest
    self.name, self.kind, self.classes = read.name, read.kind, read.classes
    self.words = read.words
    self.config = _add_canvas(read, config)
    self._keys = functools.lru_cache(1)(
      functools.partial(_keys, self.name, read.ids)
    )
    self._arrays = functools.lru_cache(2)(self._all_of)
    self._make = _Maker(read, self.config, additions)
    self._processes: read_ahead.Processes | None = None
    groups = groups or read.groups
    held = np.array([_share(g) < config.validation for g in groups], bool)
    self._parts = {TRAIN: np.flatnonzero(~held)}
    if config.validation:
      self._parts[VALIDATION] = np.flatnonzero(held)
    for part, numbers in self._parts.items():
      if not len(numbers):
        raise errors.UserError(
          f"validation={config.validation} of {len(held):,} examples of"
          f" {self.name} leaves none for {part}. Name another fraction."
        )

  @property
  def num_examples(self) -> int:
    """The number of training examples."""
    return len(self._parts[TRAIN])

  def ids(self, split: str = TRAIN) -> list[str]:
    """Return the sorted ids of `train` or `validation`."""
    return [self._examples.ids[i] for i in self._part(split)]

  def steps(
    self, batch_size: int, split: str = TRAIN, remainder: str = DROP
  ) -> int:
    """Return the number of batches of an epoch."""
    count = len(self._part(split)) * self._copies(split)
    return count // batch_size if remainder == DROP else -(-count // batch_size)

  def shape(self, split: str = TRAIN) -> tuple[int, int] | None:
    """Return height and width of a part's pictures in a batch.

    The result is None for other kinds.

    Raises:
      UserError: the pictures have several sizes; the message names two.
    """
    if self.kind not in (examples.PICTURES, examples.MASKS):
      return None
    rule = self._rule(split)
    height, width, _ = crops.shape(rule) if rule else (None, None, 3)
    if height and width:
      return height, width
    if self.kind == examples.MASKS and not rule and self.config.canvas:
      rows, columns = self.config.canvas
      return rows, columns
    sizes: dict[tuple[int, int], str] = {}
    for number in self._part(split):
      size = self._examples.size(number)
      if rule:
        way = geometry.fit(rule, *size[::-1])
        size = way.size[::-1]
      sizes.setdefault(size, self._examples.ids[number])
      if len(sizes) > 1:
        raise _sizes_error(sizes, split)
    return next(iter(sizes))

  def batches(
    self,
    *,
    batch_size: int,
    seed: int,
    epoch: int,
    start: int = 0,
    host: tuple[int, int] = (0, 1),
    split: str = TRAIN,
    remainder: str = DROP,
  ) -> Iterator[dict[str, Any]]:
    """Yield a host's parts of an epoch's batches.

    Args:
      batch_size: batch size of all hosts together.
      seed: seed of keys and order.
      epoch: number of the epoch, from 0.
      start: number of the epoch's examples that are done; a stopped run goes on
        at any. Batches are cut from there.
      host: index and number of hosts: it reads its part alone, the `index`-th
        of `count` of each batch.
      split: `train`, in the epoch's order, or `validation`, in that of the ids.
      remainder: `drop` leaves out a last batch that is short, `keep` gives it;
        for `validation` it is always given.

    Yields:
      `image` uint8 `[b, H, W, 3]` and `label` int32 `[b]`; or `video` uint8
      `[b, T, H, W, 3]` and `label`; or `image` and `class_map` uint8 `[b, H,
      W]`; or `image`, `size`, `boxes`, `labels` and,
      if they are asked for, `masks` of `items.make`. All have `key` uint32 `[b,
      2]` and `id`, a list.

    Raises:
      UserError: the hosts cannot share a batch evenly, or an example cannot be
        read.
    """
    index, count = host
    if batch_size < 1 or batch_size % count or not 0 <= index < count:
      raise errors.UserError(
        f"batch_size={batch_size}, host {index} of {count}: expected a multiple of"
        " the number of hosts."
      )
    validates = split == VALIDATION
    order = self._ordered(split, seed, epoch)
    places = _places(
      np.arange(start, len(order.numbers)),
      batch_size,
      host,
      KEEP if validates else remainder,
    )
    if not len(places):
      return
    order, size = order.select(places), batch_size // count
    arrays = self._arrays(split)
    if not arrays:
      yield from self._read_ahead(self._epoch(split, order), size)
      return
    rows = np.searchsorted(self._part(split), order.numbers)
    for at in range(0, len(rows), size):
      part = {k: v[rows[at : at + size]] for k, v in arrays.items()}
      yield self._named(part, order, at)

  def _named(
    self, arrays: Mapping[str, np.ndarray], order: _Order, first: int
  ) -> dict[str, Any]:
    """Return a batch: its arrays, with the keys and ids from a place on."""
    rows = slice(first, first + len(next(iter(arrays.values()))))
    ids = [self._examples.ids[n] for n in order.numbers[rows]]
    return {**arrays, "key": order.keys[rows], "id": ids}

  def _epoch(self, split: str, order: _Order) -> _Epoch:
    adds = split == TRAIN and self._additions is not None
    return _Epoch(self._examples, self._rule(split), order, adds)

  def _rule(self, split: str) -> str:
    """Return the rule by which a part's pictures are cut."""
    rule = "" if split == VALIDATION else self.config.crop
    return rule or self.config.geometry or ""

  def _all_of(self, split: str) -> dict[str, np.ndarray]:
    """Return a part's arrays, one row per example.

    The result is {} if memory cannot hold them.

    It is also {} if they are random: with random crops, or additions of a
    recipe.
    """
    numbers = self._part(split)
    blank = np.zeros((len(numbers), 2), np.uint32)
    order = _Order(numbers, blank, blank, np.zeros(len(numbers), int))
    extras = self._additions.extras if self._additions else ()
    if crops.is_random(self._rule(split)) or (split == TRAIN and extras):
      return {}
    epoch, count = self._epoch(split, order), len(numbers)
    layout = self._layout(epoch)
    if layout.nbytes(count) > examples.HELD_BYTES:
      return {}
    threads = cores.usable()
    return next(
      read_ahead.by_threads(self._make, epoch, layout, count, threads)
    )

  def _layout(self, epoch: _Epoch) -> read_ahead.Layout:
    """Return the layout of a part's examples, which is that of the first."""
    (first,) = epoch.select(0, 1, stored=False)
    return read_ahead.Layout.from_item(self._make(first))

  def _read_ahead(self, epoch: _Epoch, size: int) -> Iterator[dict[str, Any]]:
    """Yield the batches of an epoch, read ahead by threads or processes."""
    layout = self._layout(epoch)
    if workers := self._workers(int(epoch.order.numbers[0])):
      if not self._processes:
        self._processes = read_ahead.Processes(self._make, workers)
      batches = self._processes.batches(epoch, layout, size)
    else:
      threads = cores.usable()
      batches = read_ahead.by_threads(self._make, epoch, layout, size, threads)
    for turn, arrays in enumerate(batches):
      yield self._named(arrays, epoch.order, turn * size)

  def _workers(self, number: int) -> int:
    """Return how many processes read; 0: threads.

    Args:
      number: of an example, which says how large they are.
    """
    if self.config.workers is not None:
      return self.config.workers
    row, count = self._examples.read(number), cores.usable()
    size = max(getattr(x, "nbytes", 0) for x in row.values())
    held = size * len(self._examples.ids) <= examples.HELD_BYTES
    # Windows hands no open files to another program.
    return 0 if held or count == 1 or os.name == "nt" else count

  def _part(self, split: str) -> np.ndarray:
    if split not in self._parts:
      raise errors.unknown_error(
        "part of the training data", split, self._parts
      )
    return self._parts[split]

  def _copies(self, split: str) -> int:
    """Return the number of times that an epoch shows an example of a part."""
    return self._additions.copies if self._additions and split == TRAIN else 1

  def _ordered(self, split: str, seed: int, epoch: int) -> _Order:
    """Return a part's examples and copies, in the epoch's order."""
    numbers = self._part(split)
    own = self._keys(seed)[numbers]
    copies = range(self._copies(split))
    of_copy = [own] + [_folded(own, _COPIES + copy) for copy in copies[1:]]
    order = _Order(
      np.tile(numbers, len(copies)),
      _folded(np.concatenate(of_copy), epoch),
      np.concatenate(of_copy),
      np.repeat(copies, len(numbers)),
    )
    if split == VALIDATION:
      return order
    return order.select(np.lexsort((order.keys[:, 1], order.keys[:, 0])))


@dataclasses.dataclass(frozen=True)
class _Order:
  """The examples of an epoch in their order, as arrays of one length.

  Attributes:
    numbers: numbers of the examples.
    keys: their keys in this epoch, uint32 `[n, 2]`.
    own: their keys in every epoch, of each copy.
    copies: index of each among its example's copies.
  """

  numbers: np.ndarray
  keys: np.ndarray
  own: np.ndarray
  copies: np.ndarray

  def select(self, places: np.ndarray) -> _Order:
    """Return the examples at these places."""
    parts = (self.numbers, self.keys, self.own, self.copies)
    return _Order(*(part[places] for part in parts))


class _Task(NamedTuple):
  """An example that is read, in this process or another.

  Attributes:
    number: number of the example.
    place: where it lies, for another process.
    name: its id.
    key: its key in this epoch.
    own: its key in every epoch.
    copy: index among its copies.
    rule: the rule by which it is cut.
    adds: whether a recipe's additions join it.
  """

  number: int
  place: Any
  name: str
  key: np.ndarray
  own: np.ndarray
  copy: int
  rule: str
  adds: bool


@dataclasses.dataclass(frozen=True)
class _Epoch:
  """A host's examples of an epoch, as they are read ahead."""

  examples: examples.Examples
  rule: str
  order: _Order
  adds: bool

  def __len__(self) -> int:
    return len(self.order.numbers)

  def select(self, start: int, stop: int, *, stored: bool) -> list[_Task]:
    """Return a few tasks, see `read_ahead.Tasks`."""
    read, order = self.examples, self.order
    places = range(start, min(stop, len(self)))
    return [
      _Task(
        int(order.numbers[i]),
        read.place(order.numbers[i]) if stored else None,
        read.ids[order.numbers[i]],
        order.keys[i],
        order.own[i],
        int(order.copies[i]),
        self.rule,
        self.adds,
      )
      for i in places
    ]


@dataclasses.dataclass(frozen=True)
class _Maker:
  """Makes the arrays of an example that enter a batch."""

  examples: examples.Examples
  config: Config
  additions: Additions | None

  def __call__(self, task: _Task) -> items.Item:
    read = self.examples
    try:
      row = read.decode(task.place) if task.place else read.read(task.number)
    except OSError as e:
      if isinstance(e, errors.UserError):
        raise
      raise errors.UserError(
        f"{task.name}: it was there when the training began, and cannot be read now"
        f" ({e.strerror or e}). Bring it back and run the same command again."
      ) from e
    rule, key, name = task.rule, task.key, task.name
    item = items.make(
      row, read.kind, self.config, rule=rule, key=key, name=name
    )
    if not (task.adds and self.additions):
      return item
    more = self.additions.extra_arrays(item, key, task.own, task.copy)
    return {**item, **more}


def _places(
  places: np.ndarray, batch_size: int, host: tuple[int, int], remainder: str
) -> np.ndarray:
  """Return the places of one host's examples, batch after batch."""
  index, count = host
  whole = len(places) // batch_size * batch_size
  parts = places[:whole].reshape(-1, count, batch_size // count)[:, index]
  last = places[whole:] if remainder == KEEP else places[:0]
  return np.concatenate([parts.ravel(), np.array_split(last, count)[index]])


def _sizes_error(
  sizes: Mapping[tuple[int, int], str], split: str
) -> errors.UserError:
  """Return the error for pictures of several sizes."""
  named = ", ".join(f"{name} of {w} x {h} px" for (h, w), name in sizes.items())
  key = "data.geometry=short256_crop224"
  key = key if split == VALIDATION else f"data.crop=random_resized224 or {key}"
  return errors.UserError(
    f"{named}: pictures of several sizes make no batch. Say how those of {split}"
    f" are cut: --config.{key}, of the side that the network sees."
  )


def _folded(keys: np.ndarray, number: int) -> np.ndarray:
  """Fold a number into each of the keys `[n, 2]`."""
  return seeding.frame_keys(keys.T, np.full(len(keys), number))


def _share(group: str) -> float:
  """Return a group's position between 0 and 1, independent of the other groups."""
  digest = hashlib.sha256(f"{VALIDATION}\x1f{group}".encode()).digest()
  return int.from_bytes(digest[:8]) / _WHOLE


def _keys(name: str, ids: Sequence[str], seed: int) -> np.ndarray:
  return conditions.raw_keys(seed, name, TRAIN, _LEVEL, ids)


def _add_canvas(read: examples.Examples, config: Config) -> Config:
  """Return the config with the canvas that objects and masks need, and the
  number of boxes.
  """
  if read.kind == examples.MASKS and not (config.geometry or config.canvas):
    sizes = {read.size(number) for number in range(len(read.ids))}
    if len(sizes) == 1:
      return config
    heights, widths = zip(*sizes)
    largest = max(heights), max(widths)
    return config.model_copy(update={"canvas": largest})
  if read.kind != examples.OBJECTS or (config.canvas and config.boxes):
    return config
  if not read.largest:
    raise errors.UserError(
      f"{read.name}: sizes of its pictures and numbers of their objects are known"
      " when they are read. Name what they lie in: data.canvas=(640, 640),"
      " data.boxes=100."
    )
  height, width, most = read.largest
  shape = tuple(config.canvas) or canvas.shape(height, width)
  return config.model_copy(
    update={"canvas": shape, "boxes": config.boxes or most}
  )

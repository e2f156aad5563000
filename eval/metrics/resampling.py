"""Draws of whole groups, and jackknife blocks of them, the same for all conditions.

The same picture is in all 95 cells of ImageNet-C, and a video gives many clips:
examples that belong together form a group, are drawn together, and are drawn in
the same way in every condition and for every model. So the draws depend on the
set of group ids and on the seed alone.

A mean is the sum over examples divided by their count, both over the groups of
a draw. Groups that are missing from a condition (published sets miss some
clips) add nothing to either: its mean is over what it has. A draw without any
of its groups gives nan.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from eval.metrics import arguments
from eval.metrics.replicates import Replicates as Replicates
from robust_tfds import errors

RESAMPLES = 2000
BLOCKS = 100
_AT_ONCE = 2**22  # counts in a chunk of draws, as float64: 32 MiB
_STREAM = 50  # draws from one generator
_TOGETHER = 2**14  # groups of draws that are counted at once
_KEPT = 2**27  # counts that are cached as bytes between uses: 128 MiB


@dataclasses.dataclass(frozen=True, eq=False)
class Totals:
  """The values of one condition, summed over each group.

  Attributes:
    groups: groups of the values.
    sums: `[G]` or `[G, K]`, whole numbers if the values are bool, else float64.
  """

  groups: Groups
  sums: np.ndarray

  @classmethod
  def from_values(
    cls, values: np.typing.ArrayLike, group_ids: np.typing.ArrayLike
  ) -> Totals:
    """Sum the values of each group.

    Args:
      values: `[N]` or `[N, K]`, bool or finite numbers.
      group_ids: `[N]`, texts.

    Raises:
      UserError: there are no values, values are not finite numbers, or the ids
        do not match them.
    """
    given = np.asarray(values)
    columns = given if given.dtype == bool else arguments.reals("values", given)
    groups = Groups.from_ids(group_ids)
    if columns.ndim not in (1, 2) or len(columns) != len(groups.index):
      raise errors.UserError(
        f"values {list(columns.shape)} and groups [{len(groups.index)}] do not go"
        " together: one group id for each row of values is needed."
      )
    if groups.single:
      return cls(groups, columns[groups.index])
    kind = np.int32 if columns.dtype == bool else np.float64
    sums = np.zeros((len(groups), *columns.shape[1:]), kind)
    np.add.at(sums, groups.index, columns)
    return cls(groups, sums)

  @property
  def width(self) -> int:
    """The number of sums per group."""
    return self.sums.shape[1] if self.sums.ndim == 2 else 1


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
  """The groups of some examples.

  Attributes:
    ids: `[G]`, sorted, each once.
    counts: int64 `[G]`, number of examples of each.
    index: int64 `[N]`, the group of each example; if every example is its own
      group, the example of each group.
  """

  ids: np.ndarray
  counts: np.ndarray
  index: np.ndarray

  def __len__(self) -> int:
    """Return the number of groups."""
    return len(self.ids)

  @property
  def single(self) -> bool:
    """Whether every example is its own group."""
    return len(self.ids) == len(self.index)

  @property
  def examples(self) -> int:
    """The number of examples in the groups."""
    return len(self.index)

  @property
  def effective(self) -> float:
    """The effective number of groups (Kish 1965, section 11.7)."""
    return float(
      self.counts.sum() ** 2 / (self.counts.astype(float) ** 2).sum()
    )

  @classmethod
  def from_ids(cls, group_ids: np.typing.ArrayLike) -> Groups:
    """Return the groups of examples; equal columns give the same object.

    Args:
      group_ids: `[N]`, texts.

    Raises:
      UserError: there are no groups, or ids are not texts.
    """
    ids = np.asarray(group_ids)
    if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "UT":
      raise errors.UserError(
        "groups must be a column of texts, at least one; got"
        f" {ids.dtype}{list(ids.shape)}."
      )
    plain = np.ascontiguousarray(ids.astype(np.str_, copy=False))
    return _groups(_Column(plain))


class _Column:
  """An array of texts as a key of a cache, compared by content."""

  def __init__(self, ids: np.ndarray):
    self.ids = ids
    content = hashlib.sha256(ids.dtype.str.encode())  # "ab" is not "a", "b"
    content.update(ids.view(np.uint8).data)
    self._digest = content.digest()

  def __hash__(self) -> int:
    return hash(self._digest)

  def __eq__(self, other: object) -> bool:
    return isinstance(other, _Column) and self._digest == other._digest


@functools.lru_cache(maxsize=4)
def _groups(column: _Column) -> Groups:
  ids, first, index, counts = np.unique(
    column.ids, return_index=True, return_inverse=True, return_counts=True
  )
  return Groups(ids, counts, first if len(ids) == len(index) else index)


@dataclasses.dataclass(frozen=True, eq=False)
class Draws:
  """The draws of whole groups, the same for all conditions and all models.

  Attributes:
    ids: `[G]`, sorted, each once.
    resamples: number of draws.
    blocks: number of jackknife blocks of groups, at most G.
    seed: seed of the draws.
  """

  ids: np.ndarray
  resamples: int
  blocks: int
  seed: int

  @classmethod
  def from_groups(
    cls,
    groups: np.typing.ArrayLike,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    blocks: int = BLOCKS,
  ) -> Draws:
    """Return the draws of a set of groups.

    Args:
      groups: `[N]`, texts; order and repetition do not matter.
      seed: the same seed and set give the same draws.
      resamples: number of draws.
      blocks: the most blocks that the jackknife leaves out, one at a time.

    Raises:
      UserError: there are no groups, ids are not texts, or a number is out of
        range.
    """
    blocks = arguments.whole_number("blocks", blocks, 1)
    resamples = arguments.whole_number("resamples", resamples, 1, 10**6)
    seed = arguments.whole_number("seed", seed)
    ids = _Column(Groups.from_ids(groups).ids)
    return _draws(ids, resamples, blocks, seed)

  def means(
    self, values: np.typing.ArrayLike, groups: np.typing.ArrayLike
  ) -> Replicates:
    """Compute the mean of a condition's values, in every draw and without every block.

    Args:
      values: `[N]` or `[N, K]`, bool or finite numbers.
      groups: `[N]`, texts: groups of these draws, perhaps not all of them.

    Returns:
      Replicates of shape `[]` or `[K]`.

    Raises:
      UserError: as for `Totals.from_values`, or a group is not among those drawn from.
    """
    return self.total_means([Totals.from_values(values, groups)])[0]

  def left_out(
    self, values: np.typing.ArrayLike, groups: np.typing.ArrayLike
  ) -> Replicates:
    """Compute means without draws, which saves seconds and memory."""
    return self.total_means([Totals.from_values(values, groups)], drawn=False)[
      0
    ]

  def total_means(
    self, totals: Sequence[Totals], *, drawn: bool = True
  ) -> list[Replicates]:
    """Compute the means of many conditions in one pass over the draws.

    Args:
      drawn: whether to make draws, or only blocks.

    Returns:
      Replicates of shape `[]` or `[K]` each, in the order of `totals`.

    Raises:
      UserError: a group is not among those drawn from.
    """
    if not totals:
      return []
    sums, counts, count_of = self._columns(totals)
    both = np.concatenate([sums, counts], axis=1)
    joined = np.concatenate(
      [
        both.sum(axis=0, keepdims=True),
        *(weights @ both for weights in (self._weights() if drawn else ())),
        both.sum(axis=0) - self._block_sums(both),
      ]
    ).T
    top, bottom = joined[: sums.shape[1]], joined[sums.shape[1] :]
    with np.errstate(divide="ignore", invalid="ignore"):
      means = top / bottom[count_of]
    ends = np.cumsum([t.width for t in totals])[:-1]
    return [
      self._replicates(
        part if t.sums.ndim == 2 else part[0], t.groups.effective, drawn
      )
      for t, part in zip(totals, np.split(means, ends))
    ]

  @functools.cached_property
  def block(self) -> np.ndarray:
    """The block of each group, int64 `[G]`.

    Block sizes differ by at most one group.

    They are random, since ids are sorted by class: blocks of neighbours would
    be classes and their spread that of classes, which were not sampled.
    """
    order = self._rng("blocks").permutation(len(self.ids))
    return order % self.blocks

  def blocks_of(self, groups: np.typing.ArrayLike) -> np.ndarray:
    """Return the block of each example: int64 `[N]`.

    Args:
      groups: `[N]`, texts: groups of these draws.

    Raises:
      UserError: a group is not among those drawn from.
    """
    return self.block[self._places(np.asarray(groups).astype(np.str_))]

  def _replicates(
    self, joined: np.ndarray, groups: float, drawn: bool
  ) -> Replicates:
    end = 1 + self.resamples * drawn
    draws = joined[..., 1:end] if drawn else None
    return Replicates(joined[..., 0], draws, joined[..., end:], groups)

  def _columns(
    self, totals: Sequence[Totals]
  ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sums `[G, S]`, counts `[G, C]`, and each sum's count `[S]`."""
    kinds = list({id(t.groups): t.groups for t in totals}.values())
    places = {id(g): self._places(g.ids) for g in kinds}
    column = {id(g): i for i, g in enumerate(kinds)}
    width = sum(t.width for t in totals)
    sums = np.zeros((len(self.ids), width))
    counts = np.zeros((len(self.ids), len(kinds)))
    for i, kind in enumerate(kinds):
      counts[places[id(kind)], i] = kind.counts
    count_of, at = np.zeros(width, int), 0
    for t in totals:
      here = slice(at, at + t.width)
      sums[places[id(t.groups)], here] = t.sums.reshape(len(t.sums), -1)
      count_of[here] = column[id(t.groups)]
      at = here.stop
    return sums, counts, count_of

  def _places(self, ids: np.ndarray) -> np.ndarray:
    """Return the indices of ids among our own: int64 `[N]`."""
    if np.array_equal(ids, self.ids):
      return np.arange(len(ids))
    at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
    absent = self.ids[at] != ids
    if absent.any():
      raise errors.UserError(
        f"Group {str(ids[absent][0])!r} is none of the {len(self.ids)} drawn groups."
        " Draw from the groups of all conditions: Draws.from_groups."
      )
    return at

  def _block_sums(self, columns: np.ndarray) -> np.ndarray:
    """Sum columns over each block: `[J, C]`."""
    order, starts = self._block_order
    return np.add.reduceat(columns[order], starts, axis=0)

  @functools.cached_property
  def _block_order(self) -> tuple[np.ndarray, np.ndarray]:
    """The groups in the order of their blocks, and the start of each block."""
    order = np.argsort(self.block, kind="stable")
    starts = np.searchsorted(self.block[order], np.arange(self.blocks))
    return order, starts

  def _weights(self) -> Iterator[np.ndarray]:
    """Yield how often draws contain each group: float64 `[r, G]`."""
    streams = max(1, _AT_ONCE // (_STREAM * len(self.ids)))
    at_once = streams * _STREAM
    for start in range(0, self.resamples, at_once):
      stop = min(start + at_once, self.resamples)
      if self.resamples * len(self.ids) <= _KEPT:
        yield self._counts[start:stop].astype(np.float64)
      else:
        yield self._count(start, stop).astype(np.float64)

  @functools.cached_property
  def _counts(self) -> np.ndarray:
    return self._count(0, self.resamples)

  def _count(self, start: int, stop: int) -> np.ndarray:
    """Count the groups of some draws: uint8 `[stop - start, G]`.

    `start` begins a stream.
    """
    n = len(self.ids)
    at_once = max(1, _TOGETHER // n)
    out = np.empty((stop - start, n), np.uint8)
    for first in range(start, stop, _STREAM):
      rng = self._rng("draws", first)
      end = min(first + _STREAM, stop)
      for i in range(first, end, at_once):
        many = min(at_once, end - i)
        drawn = rng.integers(0, n, (many, n), np.uint32)
        places = np.arange(many)[:, None] * n + drawn
        counts = np.bincount(places.ravel(), minlength=many * n)
        out[i - start : i - start + many] = counts.reshape(many, n)
    return out

  def _rng(self, what: str, number: int = 0) -> np.random.Generator:
    text = f"{self._digest}\x1f{self.seed}\x1f{what}\x1f{number}"
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(
      np.random.PCG64(int.from_bytes(digest[:16], "little"))
    )

  @functools.cached_property
  def _digest(self) -> str:
    """The digest of the ids alone, whatever their array's width."""
    return hashlib.sha256("\x1f".join(self.ids.tolist()).encode()).hexdigest()


@functools.lru_cache(maxsize=2)
def _draws(ids: _Column, resamples: int, blocks: int, seed: int) -> Draws:
  """Return draws that are cached for the next use, with what they have drawn."""
  return Draws(ids.ids, resamples, min(blocks, len(ids.ids)), seed)

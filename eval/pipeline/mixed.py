"""One stream of the pictures of several conditions, shuffled together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval.pipeline import inputs, streams
from eval.pipeline import show as show_lib
from robust_tfds import devices, strings
from robust_tfds.conditions import Condition

COLUMN = "domain"  # an example's column: the number of its condition


class MixedSource(inputs.Source):
  """A source whose rows are pairs of a picture and a condition.

  Attributes:
    conditions: conditions of the rows, by their numbers.
  """

  def __init__(
    self,
    conditions: Sequence[Condition],
    sources: Sequence[inputs.Source],
    seed: int,
  ):
    """Order the pairs by a hash of (seed, condition, example id).

    Args:
      conditions: conditions of the stream.
      sources: their sets, each in its own order; on the fly one for all.
      seed: seed of the order.
    """
    self.__dict__ |= vars(sources[0])
    self.conditions, self._sources = tuple(conditions), sources
    pairs, names = [], []
    for number, (condition, source) in enumerate(zip(conditions, sources)):
      for place, row in enumerate(source.metadata(source.pictures)):
        pairs.append((number, place))
        names.append(f"{condition.config}:{strings.text(row['example_id'])}")
    order = streams.shuffled(names, seed)
    self._pairs = [pairs[i] for i in order.tolist()]
    self.total = self.share = len(pairs)

  def source(self, number: int) -> inputs.Source:
    """Return the set of a condition."""
    return self._sources[number]

  def rows(
    self, start: int = 0, stop: int | None = None, skipped: Sequence[str] = ()
  ) -> Iterator[dict[str, Any]]:
    """Yield rows of the stream, see `Source.rows`, with their condition."""
    for number, place in self._pairs[start:stop]:
      self.decoded += 1
      (row,) = self._sources[number]._read(place, place + 1, skipped)
      yield {**row, COLUMN: number}


class MixedShow:
  """A show of batches whose rows have conditions of their own."""

  several = False

  def __init__(
    self, show: show_lib.Show, conditions: Sequence[Condition], mesh: Mesh
  ):
    """Create it from the show of one condition at a time."""
    self._show, self._conditions, self._mesh = show, conditions, mesh

  def put(self, batch: inputs.Batch) -> Any:
    """Put the batch onto the devices, with the conditions of its rows."""
    rows = [int(row[COLUMN]) for row in batch.examples]
    padding = [-1] * (len(batch.mask) - len(rows))
    numbers = np.array([*rows, *padding], np.int32)
    placed = devices.put_batch(numbers, self._mesh)
    return self._show.put(batch), placed, sorted(set(rows))

  def shapes(self, batch: inputs.Batch) -> Any:
    """Return None: nothing is compiled ahead."""
    del batch

  def see(self, placed: Any, condition: Condition, spec: Any) -> show_lib.Seen:
    """Return each row under its own condition: all are shown each, rows chosen."""
    del condition
    shown, numbers, present = placed
    images: Any = None
    for number in present:
      seen, _ = self._show.see(shown, self._conditions[number], spec)
      images = (
        seen if images is None else _choose(numbers, number, seen, images)
      )
    return images, None


@jax.jit
def _choose(
  numbers: jax.Array, number: int, images: jax.Array, rest: jax.Array
) -> jax.Array:
  """Return the rows of a number from `images`, the others from `rest`."""
  return jnp.where((numbers == number)[:, None, None, None], images, rest)

"""Mutations of valid files that hypothesis makes from fixed seeds.

A mutated file is refused with its name, or handled right: where the change hits
nothing that counts (a blank, a name that is not read), the result is that of the
valid file.
"""

import functools
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.faults.case import Case

Act = Callable[[bytes, pathlib.Path], Any]


def cases(
  name: str,
  data: bytes,
  act: Act,
  right: Callable[[Any], bool] | None,
  count: int = 6,
  cuts: bool = True,
) -> Iterator[Case]:
  """Cases of `count` mutated files.

  Args:
    name: of the file, which a refusal must hold.
    data: the valid file.
    act: gives bytes to the door.
    right: whether a result is that of the valid file.
    count: how many.
    cuts: whether some are cut off; of a table a part is a smaller table.
  """
  for i in range(count):
    made = functools.partial(_act, data, i, count, cuts, act)
    yield Case(f"mutation {i} of {name}", made, (name,), right)


def _act(
  data: bytes, i: int, count: int, cuts: bool, act: Act, folder: pathlib.Path
):
  return act(mutated(data, count, cuts)[i], folder)


@functools.cache
def mutated(data: bytes, count: int, cuts: bool = True) -> tuple[bytes, ...]:
  """The first mutations that hypothesis draws, all different from `data`."""
  import hypothesis
  from hypothesis import strategies as st

  place = st.integers(0, len(data) - 1)
  flip = st.tuples(place, st.integers(1, 255)).map(
    lambda x: _replace(data, x[0], bytes([data[x[0]] ^ x[1]]))
  )
  cut = place.map(lambda i: data[:i])
  drop = st.tuples(place, st.integers(1, 40)).map(
    lambda x: data[: x[0]] + data[x[0] + x[1] :]
  )
  swap = st.tuples(place, place, st.integers(1, 40)).map(
    lambda x: _swap(data, *x)
  )
  zeros = st.tuples(place, st.integers(1, 40)).map(
    lambda x: _replace(data, x[0], bytes(min(x[1], len(data) - x[0])))
  )
  drawn: list[bytes] = []

  @hypothesis.settings(
    max_examples=20 * count,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.generate],
    deadline=None,
  )
  @hypothesis.given(st.one_of(flip, drop, swap, zeros, *([cut] * cuts)))
  def draw(change: bytes) -> None:
    if change != data and change not in drawn:
      drawn.append(change)

  draw()
  # Hypothesis begins with the simplest: take some from all over.
  return tuple(drawn[:: max(1, len(drawn) // count)][:count])


def _replace(data: bytes, at: int, by: bytes) -> bytes:
  return data[:at] + by + data[at + len(by) :]


def _swap(data: bytes, a: int, b: int, size: int) -> bytes:
  a, b = sorted((a, b))
  size = min(size, b - a, len(data) - b)
  if size <= 0:
    return data
  one, two = data[a : a + size], data[b : b + size]
  return _replace(_replace(data, a, two), b, one)

"""Mutations of valid files, drawn from a seed that is the file's own.

A mutated file is refused with its name, or handled right: where the change hits
nothing that counts (a blank, a name that is not read), the result is that of the
valid file.
"""

import functools
import pathlib
import random
import zlib
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
  """Different mutations of `data`, the same in every process."""
  draw = random.Random(zlib.crc32(data))
  kinds = [_flip, _drop, _swap, _zeros, *([_cut] * cuts)]
  drawn: dict[bytes, None] = {}
  while len(drawn) < count:
    change = draw.choice(kinds)(data, draw)
    if change != data:
      drawn[change] = None
  return tuple(drawn)


def _place(data: bytes, draw: random.Random) -> int:
  return draw.randrange(len(data))


def _size(draw: random.Random) -> int:
  return draw.randint(1, 40)


def _flip(data: bytes, draw: random.Random) -> bytes:
  at = _place(data, draw)
  return _replace(data, at, bytes([data[at] ^ draw.randint(1, 255)]))


def _drop(data: bytes, draw: random.Random) -> bytes:
  at = _place(data, draw)
  return data[:at] + data[at + _size(draw) :]


def _zeros(data: bytes, draw: random.Random) -> bytes:
  at = _place(data, draw)
  return _replace(data, at, bytes(min(_size(draw), len(data) - at)))


def _cut(data: bytes, draw: random.Random) -> bytes:
  return data[: _place(data, draw)]


def _replace(data: bytes, at: int, by: bytes) -> bytes:
  return data[:at] + by + data[at + len(by) :]


def _swap(data: bytes, draw: random.Random) -> bytes:
  a, b = sorted((_place(data, draw), _place(data, draw)))
  size = min(_size(draw), b - a, len(data) - b)
  one, two = data[a : a + size], data[b : b + size]
  return _replace(_replace(data, a, two), b, one)

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
  drawn: dict[bytes, None] = {}
  while len(drawn) < count:
    kind = draw.choice("flip drop swap zeros cut".split()[: 4 + cuts])
    drawn[_mutation(data, kind, draw)] = None
    drawn.pop(data, None)
  return tuple(drawn)


def _mutation(data: bytes, kind: str, draw: random.Random) -> bytes:
  at, size = draw.randrange(len(data)), draw.randint(1, 40)
  if kind == "cut":
    return data[:at]
  if kind == "drop":
    return data[:at] + data[at + size :]
  if kind == "flip":
    return _replace(data, at, bytes([data[at] ^ draw.randint(1, 255)]))
  if kind == "zeros":
    return _replace(data, at, bytes(min(size, len(data) - at)))
  a, b = sorted((at, draw.randrange(len(data))))
  size = min(size, b - a, len(data) - b)
  one, two = data[a : a + size], data[b : b + size]
  return _replace(_replace(data, a, two), b, one)


def _replace(data: bytes, at: int, new: bytes) -> bytes:
  return data[:at] + new + data[at + len(new) :]

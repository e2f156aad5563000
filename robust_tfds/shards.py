"""Shards: independent processes that do a command's work between them.

Unlike hosts of `jax.distributed` they know nothing of each other: each makes every
n-th cell of a run, in a workdir of its own, or n-th config of a set. They cost
about the same, and each reads the data for itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TypeVar

from robust_tfds import errors

T = TypeVar("T")
_TEXT = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclasses.dataclass(frozen=True)
class Shard:
  """The share of the work that a process does.

  Attributes:
    index: from 1.
    count: how many shards there are.
  """

  index: int = 1
  count: int = 1

  @classmethod
  def parse(cls, text: str) -> Shard:
    """Parse the value of `--shard=i/n`.

    Raises:
      UserError: not of that form, or i not from 1 to n.

    >>> Shard.parse("2/4")
    Shard(index=2, count=4)
    """
    match = _TEXT.fullmatch(text)
    index, count = map(int, match.groups()) if match else (0, 0)
    if not 1 <= index <= count:
      raise errors.UserError(
        f"--shard={text}: expected i/n with i from 1 to n, e.g. --shard=2/4."
      )
    return cls(index, count)

  def share(self, items: Sequence[T]) -> list[T]:
    """Return every n-th item, from the i-th.

    >>> Shard(2, 3).share("abcdefg")
    ['b', 'e']
    """
    return list(items[self.index - 1 :: self.count])

  def __str__(self) -> str:
    """Return the shard as the command line writes it."""
    return f"{self.index}/{self.count}"


WHOLE = Shard()

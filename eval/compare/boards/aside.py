"""Entries that are on no board, with the reasons."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath

from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Aside:
  """A run, or a model of a run, that is on no board.

  Attributes:
    run: name of its folder.
    reason: why, in a sentence.
    dataset: its data set; empty for the whole run.
    model: its label; empty for all models.
    folders: the run's folders.
  """

  run: str
  reason: str
  dataset: str = ""
  model: str = ""
  folders: tuple[epath.Path, ...] = ()

  def __str__(self) -> str:
    """Return the run or model, and the reason."""
    whose = " on ".join(filter(None, (self.model, self.dataset)))
    return f"{whose}{', run ' * bool(whose)}{self.run}: {self.reason}"


@contextlib.contextmanager
def catching(aside: list[Aside] | None, run: str, **of: Any) -> Iterator[None]:
  """Append errors raised inside to a list; without a list, raise them.

  Args:
    aside: the list; None: errors are raised.
    run: name of the run's folder.
    **of: further attributes of `Aside`.
  """
  try:
    yield
  except errors.UserError as e:
    if aside is None:
      raise
    aside.append(Aside(run, str(e), **of))


def check(others: Sequence[object], aside: Sequence[Aside]) -> None:
  """Raise UserError if none of the named runs is left."""
  if not others:
    raise errors.UserError("\n".join(map(str, aside)))

"""Entries that are on no board, with the reasons."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath

from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Exclusion:
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
def collect(
  excluded: list[Exclusion] | None, run: str, **attributes: Any
) -> Iterator[None]:
  """Append errors raised inside to a list; without a list, raise them.

  Args:
    excluded: the list; None: errors are raised.
    run: name of the run's folder.
    **attributes: further attributes of `Exclusion`.
  """
  try:
    yield
  except errors.UserError as e:
    if excluded is None:
      raise
    excluded.append(Exclusion(run, str(e), **attributes))


def check_any_left(
  included: Sequence[object], excluded: Sequence[Exclusion]
) -> None:
  """Raise UserError if none of the named runs is left."""
  if not included:
    raise errors.UserError("\n".join(map(str, excluded)))

"""What is set aside: boards are of all other entries, and say why not of these."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath

from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Aside:
  """A run, or a model of it, that stands on no board.

  Attributes:
    run: name of its folder.
    reason: why, in a sentence.
    dataset: empty where it is the whole run.
    model: its label; empty where it is all models.
    folders: of the run.
  """

  run: str
  reason: str
  dataset: str = ""
  model: str = ""
  folders: tuple[epath.Path, ...] = ()

  def __str__(self) -> str:
    """Whose it is, and the reason."""
    whose = " on ".join(filter(None, (self.model, self.dataset)))
    return f"{whose}{', run ' * bool(whose)}{self.run}: {self.reason}"


@contextlib.contextmanager
def catching(aside: list[Aside] | None, run: str, **of: Any) -> Iterator[None]:
  """Sets aside what is refused within; without a list it is refused.

  Args:
    aside: takes it.
    run: name of its folder.
    **of: further attributes of `Aside`.
  """
  try:
    yield
  except errors.UserError as e:
    if aside is None:
      raise
    aside.append(Aside(run, str(e), **of))


def check(others: Sequence[object], aside: Sequence[Aside]) -> None:
  """UserError unless something is left of what was named."""
  if not others:
    raise errors.UserError("\n".join(map(str, aside)))

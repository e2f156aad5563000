"""Protocols of segmentation under corruption: named sets of facts.

They differ in cells and pixels, so numbers of two are never ranked together. The
rows and their sources: `protocols.json`, docs/evidence/specs/segmentation.md,
section 1. The empty name is our own: the 15 corruptions and, beside them, the
other 4, at 5 severities, in RGB.

DEVIATION: pictures are corrupted whole under all of them; SemSegBench resizes those
of ADE20K and VOC first.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Sequence
from typing import Any

from eval.cells import cell_facts
from robust_tfds import conditions, errors, reading
from robust_tfds.conditions import Condition

_ROWS = pathlib.Path(__file__).with_name("protocols.json")
_FAMILY = conditions.PICTURES


@dataclasses.dataclass(frozen=True)
class Protocol:
  """A named set of cells, and the treatment of their pixels.

  Attributes:
    name: its name; empty: ours.
    words: a description.
    corruptions: names, or a set of them.
    severities: severities of each corruption.
    noise_severities: severities of the noises, if they differ.
    channels: order in which corruptions take them.
    resized_first: sets whose pictures are resized before they are corrupted;
      here they are corrupted whole.
  """

  name: str
  words: str
  corruptions: str | Sequence[str]
  severities: Sequence[int]
  noise_severities: Sequence[int] = ()
  channels: str = "rgb"
  resized_first: Sequence[str] = ()

  @property
  def names(self) -> Sequence[str]:
    """The names of its corruptions."""
    names: Any = self.corruptions
    return _FAMILY.names(names) if isinstance(names, str) else names

  @property
  def cells(self) -> list[Condition]:
    """The corrupted cells, in the order of the table."""
    return self.conditions(self.names)

  def conditions(self, names: Sequence[str]) -> list[Condition]:
    """Return the cells of some corruptions."""
    out = []
    for name in names:
      noise_levels = self.noise_severities if _FAMILY.is_noise(name) else ()
      levels = noise_levels or self.severities
      out += [Condition(name, level) for level in levels]
    return out

  @property
  def facts(self) -> dict[str, cell_facts.Scalar]:
    """The facts of its cells; none of ours."""
    if not self.name:
      return {}
    return {"protocol": self.name, "channels": self.channels}

  def note(self, dataset: str) -> str:
    """Return how the pixels of a set depart from the protocol; '' if they do not."""
    if dataset not in self.resized_first:
      return ""
    return (
      f"{self.name} corrupts resized pictures of {dataset}, here whole ones"
    )


def names() -> tuple[str, ...]:
  """Return the names of all protocols, ours first."""
  return tuple(reading.json_file(_ROWS))


@functools.cache
def get(name: str) -> Protocol:
  """Return a protocol; '' is ours.

  Raises:
    UserError: an unknown name, with a suggestion.
  """
  rows = reading.json_file(_ROWS)
  if name not in rows:
    raise errors.unknown_error("protocol", name, [n for n in rows if n])
  return Protocol(name, **rows[name])

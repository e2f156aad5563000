"""`Doubt`: a printed number that does not fit other printed numbers."""

from __future__ import annotations

import dataclasses

from robust_tfds.eval.papers.printed_rows import PrintedRow


@dataclasses.dataclass(frozen=True)
class Doubt:
  """A printed number that does not fit others.

  Attributes:
    rows: the printed numbers it is about.
    words: why, with the arithmetic.
    subject: what they have in common, where their fields do not say it.
  """

  rows: tuple[PrintedRow, ...]
  words: str
  subject: str = ""

  @property
  def paper(self) -> str:
    """Folder of the paper."""
    return self.rows[0].paper

  @property
  def where(self) -> str:
    """The table in the paper."""
    return self.rows[0].where

  @property
  def what(self) -> str:
    """Network, metric and condition; what its rows have in common."""
    if self.subject:
      return self.subject
    first = self.rows[0]
    fields = ("label", "metric", "name")
    same = [
      getattr(first, f)
      for f in fields
      if all(getattr(r, f) == getattr(first, f) for r in self.rows)
    ]
    return ", ".join(filter(None, same))

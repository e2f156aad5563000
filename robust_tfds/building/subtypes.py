"""The base of sets of subtypes: a subtype is a group, splits are seen and
unseen ones.

Subtype robustness (Hendrycks & Dietterich 2019, Appendix G): classes are broad
types, each with several subtypes. Some were seen in training (splits `train`
and `seen`, with different pictures), the others are the split `unseen`. An
example's id is `<subtype>/<file>`, its group the subtype.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any, ClassVar

from robust_tfds.building import base, pictures

TRAIN, SEEN, UNSEEN = "train", "seen", "unseen"
_ABSENT = "absent_subtypes"  # key of the metadata


class Builder(
  pictures.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the sets of subtypes.

  Attributes:
    SUBTYPES: subtype -> (number of its type, `seen` or `unseen`).
  """

  KIND = "subtypes"
  FAMILY = None
  SPLIT = UNSEEN
  OTHER_SPLITS = {TRAIN: 0, SEEN: 0}
  SUBTYPES: ClassVar[Mapping[str, tuple[int, str]]] = {}

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Return the type of the subtype that an id begins with."""
    known = cls.SUBTYPES.get(example_id.partition("/")[0])
    return known[0] if known else None

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str:
    """Return the subtype that an id begins with."""
    return subtype(example_id)

  @classmethod
  def subtypes_of(cls, split: str) -> list[str]:
    """Return the expected subtypes of a split, in the order of the list."""
    part = UNSEEN if split == UNSEEN else SEEN
    return [name for name, (_, owner) in cls.SUBTYPES.items() if owner == part]

  def absent(self) -> dict[str, list[str]]:
    """Return the subtypes that the prepared set has no picture of, by split."""
    listed = (self.info.metadata or {}).get(_ABSENT) or {}
    return {split: listed.get(split, []) for split in (TRAIN, SEEN, UNSEEN)}

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    """Return the splits, noting subtypes without a picture in the set's
    metadata.
    """
    made: dict[str, Any] = super()._split_generators(dl_manager)
    there: Mapping[str, set[str]] = collections.defaultdict(set)
    for split, sources in self._shared_sources(dl_manager).items():
      there[split].update(subtype(source.example_id) for source in sources)
    absent = {
      split: [n for n in self.subtypes_of(split) if n not in there[split]]
      for split in (TRAIN, SEEN, UNSEEN)
    }
    self.info.metadata[_ABSENT] = {
      s: names for s, names in absent.items() if names
    }
    for words in absent_in_words(absent, self.subtypes_of):
      self._shared().say(f"{self.name}: {words}")
    return made

  def _to_example(self) -> Any:
    return example


def subtype(example_id: str) -> str:
  """Return the subtype of an example.

  >>> subtype("n01641577/n01641577_42.JPEG")
  'n01641577'
  """
  return example_id.partition("/")[0]


def example(row: pictures.Row) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it."""
  key, made = pictures.example(row)
  return key, {**made, **base.example_keys(key, subtype(key))}


def absent_in_words(
  absent: Mapping[str, list[str]], subtypes_of: Any, *, named: int | None = None
) -> list[str]:
  """Return a clause for each split with missing subtypes.

  Args:
    absent: split -> its subtypes without a picture.
    subtypes_of: split -> all of its subtypes.
    named: how many are named; None: all.
  """
  return [
    f"{len(names):,} of {len(subtypes_of(split)):,} subtypes of {split} have no picture:"
    f" {', '.join(names[:named])}"
    + (" and others" if named and len(names) > named else "")
    for split, names in absent.items()
    if names
  ]

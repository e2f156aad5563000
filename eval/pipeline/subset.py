"""Subsets of a data set's examples, chosen by name before anything is decoded.

A line of ids names an example if it is the example's id, or if both have the
same stem: the last part of the path without its suffix. So
`n01440764/ILSVRC2012_val_00000293.JPEG` names `ILSVRC2012_val_00000293.JPEG`.
"""

import collections
import dataclasses
import hashlib
import pathlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Subset:
  """A subset given by ids of examples.

  Attributes:
    name: its name in every row and caption.
    ids: unique non-empty ids, at least one.
    source: the origin of the ids, for errors.
  """

  name: str
  ids: tuple[str, ...]
  source: str

  def places(self, example_ids: Sequence[str], dataset: str) -> np.ndarray:
    """Return the places of the chosen examples, ascending: int64 `[len(ids)]`.

    Args:
      example_ids: all of a data set, in its order.
      dataset: its name, for errors.

    Raises:
      UserError: ids that no example has, ambiguous stems, or two ids of one
        example.
    """
    at = {name: place for place, name in enumerate(example_ids)}
    places_by_stem = collections.defaultdict(list)
    for name, place in at.items():
      places_by_stem[stem(name)].append(place)
    each = [self._place(i, at, places_by_stem, example_ids) for i in self.ids]
    absent = [i for i, place in zip(self.ids, each) if place is None]
    if absent:
      example = example_ids[0] if example_ids else "nothing"
      raise errors.UserError(
        f"{self.source}: {len(absent):,} of {len(self.ids):,} ids are not in"
        f" {dataset}, the first {absent[0]!r}; its ids are like {example!r}."
        " Leave them out, or choose their data set."
      )
    places = [place for place in each if place is not None]
    self._check_once(places, example_ids)
    return np.array(sorted(places), np.int64)

  def _place(
    self,
    name: str,
    place_of: Mapping[str, int],
    of_stem: Mapping[str, Sequence[int]],
    example_ids: Sequence[str],
  ) -> int | None:
    if name in place_of:
      return place_of[name]
    places = of_stem.get(stem(name), ())
    if len(places) > 1:
      one, other = (example_ids[p] for p in places[:2])
      raise errors.UserError(
        f"{self.source}: {name!r} may be {one!r} or {other!r}. Write the whole"
        " id."
      )
    return places[0] if places else None

  def _check_once(
    self, places: Sequence[int], example_ids: Sequence[str]
  ) -> None:
    first: dict[int, str] = {}
    for name, place in zip(self.ids, places):
      if place in first:
        raise errors.UserError(
          f"{self.source}: {first[place]!r} and {name!r} are both the example"
          f" {example_ids[place]!r}. Name it once."
        )
      first[place] = name


@dataclasses.dataclass(frozen=True)
class OfNames(Subset):
  """A subset of all examples whose ids have a common prefix.

  Attributes:
    start: the prefix; `ids` is empty.
  """

  start: str = ""

  def places(self, example_ids: Sequence[str], dataset: str) -> np.ndarray:
    """Return the places of the examples, ascending: int64 `[N]`.

    Raises:
      UserError: there are none.
    """
    every = enumerate(example_ids)
    places = [place for place, i in every if i.startswith(self.start)]
    if not places:
      raise errors.UserError(
        f"{self.source}: no example of {dataset} is named {self.start}*. Leave"
        " the subset out, or choose its data set."
      )
    return np.array(places, np.int64)


def stem(name: str) -> str:
  """Return the last part of a path without its suffix.

  >>> stem("val/n01440764/ILSVRC2012_val_00000293.JPEG")
  'ILSVRC2012_val_00000293'
  """
  return pathlib.PurePosixPath(name.replace("\\", "/")).stem


def sha256(ids: Iterable[str]) -> str:
  """Return the sha256 of sorted ids, one per line."""
  listed = "\n".join(sorted(ids)).encode("utf-8", "surrogatepass")
  return hashlib.sha256(listed).hexdigest()

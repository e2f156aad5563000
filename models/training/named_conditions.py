"""Conditions of benchmarks that names of folders and sets state.

Pixels do not show that they are a benchmark's, so names are read: the last ones
of a path as written and of its links' targets, and those of the folders in it.
Case and separators make no difference, nor do the name of a data set before or
behind (`cifar10_fog_3`), words as in `my_fog_data`, or a split behind.

  gaussian_noise    names of several words are a condition's wherever they stand
  fog_3, fog/s3,    names of one word, and groups (`noise`, `weather`), name other
  level3/fog        things as well: only with a level of 1 to 5 beside, or below a
  pets-c/fog        corrupted set, whose name ends in -c, -p or _corrupted
  CIFAR-10-C        a published corrupted set is all of its conditions, unless the
                    path says which
  fog, snow/train   one word of a condition of pictures, where it is the name of the
                    folder that is trained on itself, or of the one of its split

A folder that is named after a condition holds, as far as one can see,
pictures under it: the rule is there to prevent silent training on them, and a
user with other pictures renames the folder. A class called so (`weather/fog`)
is what its pictures show; so is a folder of such classes (`fog` with `fog`,
`rain` and `snow`). `tilt` or `freezing` are of sequences and videos, which no
folder of pictures holds, and need a level, as groups do.
"""

import dataclasses
import functools
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from robust_tfds import conditions, datasets, own_corruptions
from robust_tfds.storage import paths

_PARTS = 5  # names of a path that are read: `fog/3/train` and a class
_LEVEL = r"(?:level|lvl|severity|sev|difficulty|s|l)?0*(?P<{}>[1-5])"
_SPLIT = "(?:train(?:ing)?|val(?:id|idation)?|test)?"
_WORDS = frozenset(n for n in conditions.PICTURES.names() if "_" not in n)
_VERSION = re.compile(r":[\d.*]+$")  # version of a TFDS set
# Words that state nothing about a folder's pictures.
_EMPTY = frozenset("my data dataset set images pictures photos".split())
_OWN = "own"  # the set of a user's corruptions, in no benchmark
# Other names of operations.
_ALIASES = {
  "elastic": "elastic_transform",
  "poisson_noise": "shot_noise",
  "salt_and_pepper": "impulse_noise",
  "salt_and_pepper_noise": "impulse_noise",
}
# Sets whose corrupted versions are published, besides those of this package.
_SETS = ("mnist", "voc")
_CORRUPTED = re.compile(r".+_(?:c|p|corrupted)")


@dataclasses.dataclass(frozen=True)
class Named:
  """The conditions that names state.

  Attributes:
    names: names of the conditions, sorted.
    levels: their levels, sorted; empty if they are not stated.
    text: the text that states them: `fog/3`.
  """

  names: Sequence[str] = ()
  levels: Sequence[int] = ()
  text: str = ""

  def __or__(self, more: "Named") -> "Named":
    """Unite both; without levels if either does not state its own."""
    unsaid = any(n.names and not n.levels for n in (self, more))
    return Named(
      sorted({*self.names, *more.names}),
      [] if unsaid else sorted({*self.levels, *more.levels}),
      self.text or more.text,
    )


def place_conditions(place: str) -> Named:
  """Return the conditions that the name of a TFDS set, or a folder's path, states.

  >>> place_conditions("cifar10_corrupted/fog_3:1.0.0").names
  ['fog']
  >>> place_conditions("/data/pets/jpeg").names
  []
  """
  found, place = Named(), _VERSION.sub("", place)
  entries = paths.folders(place)
  roots = [*_roots(place, entries)]
  for path in [*_paths(place, entries), *roots]:
    parts = [part for part in path.split("/") if part][-_PARTS:]
    found |= _parts_conditions(parts, path in roots) or Named()
  return found


def benchmark_conditions(names: Sequence[str]) -> list[str]:
  """Return, sorted, the benchmarks' conditions among some names.

  A user's own corruption that calls a benchmark's counts as that one.
  """
  called = [c for name in names for c in own_corruptions.called_by(name)]
  return sorted({row.name for row in _rows()} & {*names, *called})


def _paths(place: str, entries: Sequence[paths.AnyEntry]) -> Iterator[str]:
  """Yield a path, its link's target and its subfolders.

  Of the subfolders, only levels are yielded if there are any.
  """
  yield place
  if not entries:
    return
  real = os.fspath(paths.resolved(place))
  yield real
  levels = [e for e in entries if _level(_squeezed(e.name))]
  for entry in entries:
    if len(levels) in (0, len(entries)) or entry not in levels:
      yield f"{real}/{entry.name}"
      yield os.fspath(paths.resolved(entry.path))


def _roots(place: str, entries: Sequence[paths.AnyEntry]) -> Iterator[str]:
  """Yield the folder that is trained on, and those that its classes are in.

  Nothing is yielded if classes are named after conditions.
  """
  if not _WORDS & {_squeezed(entry.name) for entry in entries}:
    targets = {os.path.dirname(paths.resolved(e.path)) for e in entries}
    yield from {place} | targets


def _parts_conditions(parts: Sequence[str], root: bool = False) -> Named | None:
  """Return the conditions of a path's names: of the last name that states any.

  Args:
    root: whether the path is what is trained on, not a part of it.
  """
  found, sets = None, [_set_of(part) for part in parts]
  own = [p for p in parts if not re.fullmatch(_SPLIT, _squeezed(p))][-1:]
  for i, part in enumerate(parts):
    read = re.fullmatch(_pattern(tuple(_known_names())), _telling(part))
    if not read:
      continue
    near = [*parts[max(i - 1, 0) : i], *parts[i + 1 : i + 2]]
    level_names = [name for name in near if _level(_squeezed(name))]
    levels = [int(v) for v in (read["before"], read["behind"]) if v]
    levels += [_level(_squeezed(name)) for name in level_names]
    alone, names = _known_names()[read["name"]]
    alone |= root and [part] == own and read["name"] in _WORDS
    below = read["set"] or any(
      map(_CORRUPTED.fullmatch, map(_words, parts[:i]))
    )
    if alone or levels or below or any(sets[:i]):
      text = "/".join(p for p in parts if p == part or p in level_names)
      found = Named(names, levels or conditions.SEVERITIES, text)
  for part, names in zip(parts, sets, strict=True):
    if names and not found:
      found = Named(names, conditions.SEVERITIES, part)
  return found


def _words(part: str) -> str:
  """Return a name in lower case, with _ between words."""
  text = unicodedata.normalize("NFKC", part).casefold()
  return re.sub(r"[^a-z0-9]+", "_", text).strip("_")


def _squeezed(part: str) -> str:
  return _words(part).replace("_", "")


def _telling(part: str) -> str:
  """Return a name without separators, and without words that state nothing."""
  words = _words(part).split("_")
  return "".join(word for word in words if word not in _EMPTY)


def _level(word: str) -> int:
  """Return the level that a word states; 0 for other words."""
  read = re.fullmatch(_LEVEL.format("level"), word)
  return int(read["level"]) if read else 0


def _rows() -> list[conditions.Row]:
  """Return the rows of the benchmarks' conditions."""
  every = (row for f in conditions.FAMILIES.values() for row in f.rows)
  return [row for row in every if row.set != _OWN]


def _known_names() -> Mapping[str, tuple[bool, Sequence[str]]]:
  """Return squeezed name -> (whether it suffices alone, conditions)."""
  named = {row.name: [row.name] for row in _rows()}
  for row in _rows():
    named.setdefault(row.group, []).append(row.name)
  for name in conditions.every_name():
    if called := own_corruptions.called_by(name):
      named[name] = called
  named |= {alias: [name] for alias, name in _ALIASES.items()}
  return {_squeezed(k): ("_" in k, sorted(set(v))) for k, v in named.items()}


@functools.cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
  """Return the pattern of a condition with a set's name and a level."""
  sets = "|".join(name.replace("_", "") for name in _bases())
  before, behind = _LEVEL.format("before"), _LEVEL.format("behind")
  return re.compile(
    rf"(?:(?:{sets})\d*(?P<set>c|p|corrupted)?)?(?:{before})?"
    rf"(?P<name>{'|'.join(names)})(?:{behind})?(?:(?:{sets})\d*)?{_SPLIT}"
  )


@functools.cache
def _bases() -> list[str]:
  """Return names of data sets that have corrupted versions: `imagenet`, `ucf`."""
  ours = (n[:-2] for n in datasets.names() if n.endswith(("_c", "_p")))
  return sorted({*(name.rstrip("0123456789") for name in ours), *_SETS})


def _set_of(part: str) -> Sequence[str]:
  """Return the conditions of a published corrupted set; none for other names."""
  bases = "|".join(base.replace("_", "_?") for base in _bases())
  read = re.fullmatch(
    rf"(?:.*_)?(?P<base>{bases})(?:_?\d+)*_?(?P<kind>c|p)(?:_?(?:bar|\d+))*",
    _words(part),
  )
  if not read:
    corrupted = _words(part).endswith("_corrupted")
    return conditions.PICTURES.names("common") if corrupted else ()
  squeezed, kind = read["base"].replace("_", ""), read["kind"]
  ours = re.compile(rf"{squeezed}\d*{kind}")
  matching = (n for n in datasets.names() if ours.fullmatch(n.replace("_", "")))
  name = next(matching, f"imagenet_{kind}")
  family = datasets.builder_class(name).FAMILY
  rows = family.rows if family else ()
  return [row.name for row in rows if row.set != _OWN]

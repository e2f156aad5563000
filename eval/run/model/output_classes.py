"""`config.model.classes`: a file that says what a model's outputs stand for.

A line an output, in the order of the outputs: the class's name as the data set has
it, its wnid (words may follow: `n01440764 tench`), its index, or `-` for none. All
lines are indices, or none is. Of ImageNet's classes the English names are known as
well. Outputs that are no class of the data set are left out, as of a head of 21,843
classes, or of 1,000 on Tiny ImageNet's 200.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import re
from collections.abc import Callable, Mapping, Sequence

from robust_tfds import errors, reading
from robust_tfds.eval.pipeline import relabel
from robust_tfds.storage import paths

_WNID = re.compile(r"n\d{8}\b")
_NEAR = 0.85  # of difflib's ratio: `tenc` for `tench`, not another name
_NONE = "-"
_KEY = "config.model.classes"


@dataclasses.dataclass(frozen=True)
class OutputClasses:
  """What a file says.

  Attributes:
    relabelling: which class each output is.
    sha256: of the file.
  """

  relabelling: relabel.Relabelling
  sha256: str


def read(
  path: str, names: Sequence[Sequence[str]], classes: int, outputs: int
) -> OutputClasses:
  """The classes of a model's outputs.

  Args:
    path: of the file.
    names: what each class of the data set is called, in label order; empty where
      nobody knows.
    classes: number of the data set's classes.
    outputs: number of the model's outputs.

  Raises:
    UserError: another number of lines, a name of two classes, a class of two
      outputs, an index outside, or no line that is a class; with the line.
  """
  where = str(path)
  lines = reading.line_list(paths.of(path, _KEY))
  if len(lines) != outputs:
    raise errors.UserError(
      f"{where}: {len(lines)} lines, and the model has {outputs} outputs:"
      f" {_KEY} has a line for each of them, in their order. For a checkpoint"
      " with another head set config.model.num_classes."
    )
  for number, line in enumerate(lines, 1):
    if not line.strip():
      raise errors.UserError(
        f"{where}: line {number}: empty, expected a class. Write - for an output"
        " that is none."
      )
  given = [line.strip() for line in lines if line.strip() != _NONE]
  if 2 * sum(text.isdecimal() for text in given) > len(given):
    labels = [_index(where, n, t, classes) for n, t in enumerate(lines, 1)]
  else:
    labels = _labels(where, lines, names)
  _check_once(where, lines, labels)
  relabelling = relabel.Relabelling(tuple(labels), classes)
  return OutputClasses(relabelling, paths.sha256(path))


def _index(where: str, number: int, line: str, classes: int) -> int:
  text = line.strip()
  if text == _NONE:
    return relabel.NONE
  label = int(text) if text.isdecimal() else classes
  if label >= classes:
    raise errors.UserError(
      f"{where}: line {number}: {text!r} is no class, expected an index from 0 to"
      f" {classes - 1}, or - for an output that is none."
    )
  return label


def _labels(
  where: str, lines: Sequence[str], names: Sequence[Sequence[str]]
) -> list[int]:
  """By name; `relabel.NONE` for what is no class."""
  exact, small = _known(names, _key), _known(names, _small)
  meant = [
    exact.get(_key(line)) or small.get(_small(line), []) for line in lines
  ]
  certain = {labels[0] for labels in meant if len(labels) == 1}
  out = []
  for number, (line, labels) in enumerate(zip(lines, meant), 1):
    # "crane" is the machine where another line is "crane bird".
    left = [label for label in labels if label not in certain] or labels
    if len(labels) > 1 and len(left) > 1:
      listed = ", ".join(names[label][0] for label in labels)
      raise errors.UserError(
        f"{where}: line {number}: {line.strip()!r} is the name of"
        f" {len(labels)} classes: write {listed}, whichever it is."
      )
    out.append(left[0] if left else relabel.NONE)
  if set(out) == {relabel.NONE}:
    few = ", ".join(n[0] for n in names[:3])
    expected = (
      f"names such as {few}, or indices"
      if names
      else "indices: the names of its classes are not known here. Where the"
      " set's archive lists them, set config.data.manual_dir"
    )
    raise errors.UserError(
      f"{where}: no line is a class of the data set, e.g."
      f" {lines[0].strip()!r}; expected {expected}."
    )
  _check_spelling(where, lines, out, names)
  return out


def _check_spelling(
  where: str,
  lines: Sequence[str],
  labels: Sequence[int],
  names: Sequence[Sequence[str]],
) -> None:
  """Refuses a line that is almost a class which no other line is."""
  taken = set(labels)
  free = {
    _small(name): name
    for label, called in enumerate(names)
    if label not in taken
    for name in called
  }
  for number, (line, label) in enumerate(zip(lines, labels), 1):
    named = label != relabel.NONE or line.strip() == _NONE
    if named or _WNID.match(line.strip()):
      continue
    near = difflib.get_close_matches(_small(line), free, 1, _NEAR)
    if near:
      raise errors.UserError(
        f"{where}: line {number}: {line.strip()!r} is no class, and"
        f" {free[near[0]]!r} has no line: did you mean it? Write - for an output"
        " that is none."
      )


def _known(
  names: Sequence[Sequence[str]], compared: Callable[[str], str]
) -> Mapping[str, list[int]]:
  """Name as it is compared -> the classes that have it."""
  from robust_tfds.building.sources import imagenet

  known: dict[str, list[int]] = collections.defaultdict(list)
  for label, called in enumerate(names):
    english = imagenet.names().get(called[0], ())
    for key in dict.fromkeys(map(compared, (*called, *english))):
      known[key].append(label)
  return known


def _key(name: str) -> str:
  """A name, or the wnid that it begins with."""
  wnid = _WNID.match(name.strip())
  return wnid[0] if wnid else " ".join(name.replace("_", " ").split())


def _small(name: str) -> str:
  """In small letters: `Cardigan` is a dog, `cardigan` a jacket."""
  return _key(name).casefold()


def _check_once(
  where: str, lines: Sequence[str], labels: Sequence[int]
) -> None:
  """Refuses two outputs of one class."""
  first: dict[int, int] = {}
  for number, label in enumerate(labels, 1):
    if label == relabel.NONE:
      continue
    if label in first:
      raise errors.UserError(
        f"{where}: lines {first[label]} and {number}"
        f" ({lines[number - 1].strip()!r}) are one class. Write - for all but"
        " one of the outputs."
      )
    first[label] = number

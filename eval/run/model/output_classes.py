"""`config.model.classes`: the meaning of a model's outputs.

A file has a line an output, in the order of the outputs: the class's name as the
data set has it, its wnid (words may follow: `n01440764 tench`), or `-` for none. A
line that is a number is a name like any other; below a first line `index` the lines
are places among the data set's classes, from 0. `textual` and `numeric` stand for all
classes in that order. Of ImageNet's classes the English names are known as well.
Outputs that are no class of the data set are left out, as of a head of 21,843
classes, or of 1,000 on Tiny ImageNet's 200. The lines may stand in the config
in place of a file; or pairs (class, numbers of its outputs), where several outputs
are one class, which gets the sum of their probabilities. Over a user's data set whose
classes are all ImageNet's, models of ImageNet need none of it; nor do detectors of
COCO's 80 where the categories are COCO's.
"""

import collections
import dataclasses
import difflib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.pipeline import relabel
from robust_tfds import datasets, errors, reading
from robust_tfds.building import own_set
from robust_tfds.building.sources import imagenet
from robust_tfds.storage import paths

_WNID = re.compile(r"n\d{8}\b")
_NEAR = 0.85  # difflib's ratio: `tenc` for `tench`, not another name
_NONE = "-"
_KEY = "config.model.classes"
INDEX = "index"  # the first line of places
OUTPUTS = 1000  # outputs of a model of ImageNet


@dataclasses.dataclass(frozen=True)
class OutputClasses:
  """The content of a file of classes.

  Attributes:
    relabelling: which class each output is.
    sha256: sha256 of the file, or of the same lines.
  """

  relabelling: relabel.Relabelling
  sha256: str

  def among_all(self) -> "OutputClasses":
    """Return the same classes, but any output may be the answer."""
    among = self.relabelling.among_all()
    return dataclasses.replace(self, relabelling=among)


Stated = str | Sequence[str] | Sequence[Sequence[Any]]


def read(
  source: Stated, names: Sequence[Sequence[str]], classes: int, outputs: int
) -> OutputClasses:
  """Return the classes of a model's outputs.

  Args:
    source: path of a file, its lines, (class, outputs), or an order of
      `own_set.ORDERS`.
    names: what each class of the data set is called, in label order; empty if
      unknown.
    classes: number of the data set's classes.
    outputs: number of the model's outputs.

  Raises:
    UserError: another number of lines, a name of two classes, a class of two
      outputs, an index outside, or no line that is a class; with the line.
  """
  if source in own_set.ORDERS:
    lines = own_set.ordered([name[0] for name in names], str(source))
    what = f"{_KEY}={source}"
    return _from_lines(what, lines, _sha256(lines), names, classes, outputs)
  if isinstance(source, str):
    lines = reading.line_list(paths.parse(source, _KEY))
    return _from_lines(
      source, lines, paths.sha256(source), names, classes, outputs
    )
  if all(isinstance(line, str) for line in source):
    lines = [str(line) for line in source]
    return _from_lines(_KEY, lines, _sha256(lines), names, classes, outputs)
  return _from_outputs(dict(source), names, classes, outputs)  # type: ignore[arg-type]


def published(kind: str) -> Sequence[Sequence[str]]:
  """Return the names of the outputs that most published models of a kind have.

  COCO's 80 of detectors, else ImageNet's 1,000, by wnid.
  """
  if kind == "detection":
    return datasets.builder_class("coco_c").class_names()
  return [(wnid,) for wnid in imagenet.wnids()]


def from_published(
  names: Sequence[Sequence[str]], kind: str
) -> OutputClasses | None:
  """Return which published outputs belong to a set of some of their classes.

  Args:
    names: names of the set's classes: ImageNet's wnids, or English names of one class
      alone.

  Returns:
    None where some class is not one of them, or they are the outputs as they are.
  """
  outputs = published(kind)
  if not {_small(name[0]) for name in names} <= _small_names(outputs):
    return None
  exact, small = (
    _labels_by_name(outputs, _key),
    _labels_by_name(outputs, _small),
  )
  members = [
    exact.get(_key(n[0])) or small.get(_small(n[0]), []) for n in names
  ]
  listed = [output for each in members for output in each]
  if {len(m) for m in members} != {1} or len(set(listed)) < len(listed):
    return None
  return from_members(members, [name[0] for name in names], len(outputs))


def from_members(
  members: Sequence[Sequence[int]],
  names: Sequence[str],
  outputs: int = OUTPUTS,
  *,
  joined: relabel.Joined = "best",
) -> OutputClasses | None:
  """Return outputs grouped into classes.

  Args:
    members: outputs of each class, none twice.
    outputs: how many there are.
    joined: what a class gets of its outputs' probabilities.

  Returns:
    None where they are the outputs as they are.
  """
  class_of = [relabel.NONE] * outputs
  for label, of_class in enumerate(members):
    for output in of_class:
      class_of[output] = label
  if class_of == list(range(outputs)):
    return None
  lines = [
    name if len(of_class) == 1 else f"{name}\t{list(of_class)}"
    for name, of_class in zip(names, members, strict=True)
  ]
  lines += [] if joined == "best" else [joined]
  relabelling = relabel.Relabelling(tuple(class_of), len(members), joined)
  return OutputClasses(relabelling, _sha256(lines))


def from_training(
  what: str,
  trained: Sequence[str],
  names: Sequence[Sequence[str]],
  outputs: int,
  *,
  numbered: bool = False,
) -> OutputClasses | None:
  """Return the outputs of a network from the classes that its training names.

  Args:
    what: the network, in refusals.
    trained: the classes, in the order of its outputs.
    names: names of the data set's classes, in label order; empty if unknown.
    outputs: number of the network's outputs.
    numbered: whether the data set numbers its classes, so that a training on
      its kind knows no names.

  Returns:
    None where they stand as the data set's, or neither has names: numbers from
      0 on.

  Raises:
    UserError: the data set has a class that it was not trained on.
  """
  unnamed = list(trained) == [str(i) for i in range(len(trained))]
  if not names or (numbered and unnamed):
    return None
  lines = [*trained, *[_NONE] * (outputs - len(trained))]
  exact, small = _labels_by_name(names, _key), _labels_by_name(names, _small)
  known = [
    x for n in trained for x in exact.get(_key(n)) or small.get(_small(n), [])
  ]
  lacking = [n[0] for label, n in enumerate(names) if label not in known]
  if lacking:
    raise errors.UserError(
      f"{what}: it was not trained on {len(lacking)} of the data set's"
      f" {len(names)} classes, e.g. {lacking[0]!r}; its own are"
      f" {', '.join(trained[:3])}, ... If they are the same under other names,"
      f" say what each output is: {_KEY}."
    )
  labels = _labels(what, lines, names)
  if labels == list(range(len(names))):
    return None
  _check_once(what, lines, labels)
  relabelling = relabel.Relabelling(tuple(labels), len(names))
  return OutputClasses(relabelling, _sha256(lines))


def _sha256(lines: Sequence[str]) -> str:
  """Return the sha256 of a file of these lines."""
  return hashlib.sha256("".join(f"{n}\n" for n in lines).encode()).hexdigest()


def _from_outputs(
  outputs_of: Mapping[str, Sequence[int]],
  names: Sequence[Sequence[str]],
  classes: int,
  outputs: int,
) -> OutputClasses:
  """Return output classes from (class, outputs); a class may have several."""
  labels = dict(
    zip(outputs_of, _labels(_KEY, list(outputs_of), names), strict=True)
  )
  class_of = [relabel.NONE] * outputs
  for name, numbers in outputs_of.items():
    if labels[name] == relabel.NONE:
      raise errors.unknown_error("class", name, [n[0] for n in names])
    for number in numbers:
      if not 0 <= number < outputs or class_of[number] != relabel.NONE:
        raise errors.UserError(
          f"{_KEY}: {name!r}: output {number} is named twice, or is not one of the"
          f" model's outputs, 0 to {outputs - 1}."
        )
      class_of[number] = labels[name]
  lines = [f"{name}\t{list(numbers)}" for name, numbers in outputs_of.items()]
  relabelling = relabel.Relabelling(tuple(class_of), classes)
  return OutputClasses(relabelling, _sha256(lines))


def _from_lines(
  where: str,
  lines: Sequence[str],
  sha256: str,
  names: Sequence[Sequence[str]],
  classes: int,
  outputs: int,
) -> OutputClasses:
  """Return the classes of lines, see `read`; refusals begin with `where`."""
  header = len(lines) == outputs + 1 and lines[0].strip() == INDEX
  if len(lines) != outputs + header:
    raise errors.UserError(
      f"{where}: {len(lines)} lines, and the model has {outputs} outputs:"
      f" {_KEY} has a line for each of them, in their order. For a checkpoint"
      " with another head set config.model.num_classes."
    )
  for number, line in enumerate(lines, 1):
    if not line.strip():
      raise errors.UserError(
        f"{where}: line {number}: empty, expected a class. Write - for an output"
        " without one."
      )
  given = [line.strip() for line in lines if line.strip() != _NONE]
  decimal = 2 * sum(text.isdecimal() for text in given) > len(given)
  if header or (decimal and not names):  # then classes are called by numbers
    places = enumerate(lines[header:], 1 + header)
    labels = [_index(where, n, text, classes) for n, text in places]
  else:
    labels = _labels(where, lines, names)
  _check_once(where, lines, [relabel.NONE] * header + labels)
  return OutputClasses(relabel.Relabelling(tuple(labels), classes), sha256)


def _index(where: str, number: int, line: str, classes: int) -> int:
  text = line.strip()
  if text == _NONE:
    return relabel.NONE
  label = int(text) if text.isdecimal() else classes
  if label >= classes:
    raise errors.UserError(
      f"{where}: line {number}: {text!r} is no class, expected an index from 0 to"
      f" {classes - 1}, or - for an output without a class."
    )
  return label


def _labels(
  where: str, lines: Sequence[str], names: Sequence[Sequence[str]]
) -> list[int]:
  """Return the labels of names; `relabel.NONE` for a name of no class."""
  exact, small = _labels_by_name(names, _key), _labels_by_name(names, _small)
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
      f"names such as {few}. Places among its classes, from 0, stand below a"
      f" first line {INDEX!r}; or give name -> output: {{{names[0][0]!r}: 0, ...}}"
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
  """Refuse a line that is almost a class which no other line is.

  Where there are as many lines as classes it need not be near: the outputs are
  of this set.
  """
  nearness = 0 if len(lines) == len(names) else _NEAR
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
    near = [n for n in free if _digits(n) == _digits(_small(line)) != ""]
    near += difflib.get_close_matches(_small(line), free, 1, nearness)
    if near:
      raise errors.UserError(
        f"{where}: line {number}: {line.strip()!r} is no class, and"
        f" {free[near[0]]!r} has no line: did you mean it? Write - for an output"
        " without a class."
      )


def _labels_by_name(
  names: Sequence[Sequence[str]], compared: Callable[[str], str]
) -> Mapping[str, list[int]]:
  """Return normalised name -> the classes that have it."""
  known: dict[str, list[int]] = collections.defaultdict(list)
  for label, called in enumerate(names):
    english = imagenet.names().get(called[0], ())
    for key in dict.fromkeys(map(compared, (*called, *english))):
      known[key].append(label)
  return known


def _small_names(outputs: Sequence[Sequence[str]]) -> set[str]:
  """Return what `_small` makes of all names of published outputs, at once."""
  english = imagenet.names()
  lines = [
    n for called in outputs for n in (*called, *english.get(called[0], ()))
  ]
  return set("\n".join(lines).replace("_", " ").casefold().split("\n"))


def _key(name: str) -> str:
  """Return a name, or the wnid that it begins with."""
  wnid = _WNID.match(name.strip())
  return wnid[0] if wnid else " ".join(name.replace("_", " ").split())


def _small(name: str) -> str:
  """Return a name in lower case: `Cardigan` is a dog, `cardigan` a jacket."""
  return _key(name).casefold()


def _digits(name: str) -> str:
  """Return a whole number without leading zeros; '' if the text is not one."""
  return str(int(name)) if name.isdecimal() else ""


def _check_once(
  where: str, lines: Sequence[str], labels: Sequence[int]
) -> None:
  """Refuse two outputs of one class."""
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

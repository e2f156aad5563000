"""The texts of a zero-shot model's run: `config.model.prompts` and `class_names`.

A class is called as the data set calls it, underscores as blanks; a class of
ImageNet, which sets call by its wnid, by its curated name (`models/zero_shot`).
`class_names` has other words: a file or a list with `class<TAB>words` a line,
or (class, words); of ImageNet's classes also 1,000 lines in the order of the wnids, and
of a set whose classes have no names a line a class.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.cells import provenance
from eval.run import spec as spec_lib
from eval.run.execution import progress, run_cache
from eval.run.model import kept_weights
from models import weights_file
from models.zero_shot import prompts
from models.zero_shot import texts as texts_lib
from robust_tfds import errors, kept_programs, reading
from robust_tfds.building.sources import imagenet
from robust_tfds.storage import paths

_KEY = "class_names"
_WNID = re.compile(r"n\d{8}")


def texts(
  entry: spec_lib.Model, classes: Sequence[str], count: int
) -> texts_lib.Texts:
  """Return the texts of a model's classes.

  Args:
    entry: the model's part of the config, with prompts.
    classes: what the data set calls its classes, in label order; empty where
      nobody knows.
    count: how many there are.

  Raises:
    UserError: other settings contradict it; see `texts_lib.make`.
  """
  for key in ("classes", "train", "last_layer"):
    if getattr(entry, key):
      raise errors.UserError(
        f"{entry.key}: prompts and {key} are both set. Prompts make an output for"
        f" each of the data set's classes: leave {key} out. Other words for the"
        f" classes are {_KEY}."
      )
  if not entry.checkpoint:
    raise errors.UserError(
      f"{entry.key}: prompts are read by the text tower in the checkpoint, and none"
      " is named: set checkpoint to the file of both towers."
    )
  names, note, published = _names(entry, classes, count)
  stated = entry.prompts if isinstance(entry.prompts, str) else [*entry.prompts]
  return texts_lib.make(names, stated, [note], known=published)


def embeddings(head: texts_lib.Head) -> np.ndarray:
  """Return the classes' embeddings, those of an earlier run if it made the same."""
  facts = {
    **head.facts,
    "tower": weights_file.sha256(head.tower.variables),
    **run_cache.surroundings(),
  }
  place = kept_programs.folder()
  stem = f"weights-texts-{provenance.fingerprint(facts)}"
  for file in place.glob(f"{stem}-*.npz") if place else ():
    kept = kept_weights.read(file)
    if kept is not None:
      return np.asarray(kept["text"])
  progress.say(f"embedding {len(head.ids):,} prompts")
  made = {"text": head.embeddings()}
  if place:
    sha256 = weights_file.sha256(made)
    kept_weights.keep(place / f"{stem}-{sha256}.npz", made)
  return made["text"]


def _names(
  entry: spec_lib.Model, classes: Sequence[str], count: int
) -> tuple[Sequence[str], str, bool]:
  """Return the words of each class, what to print, and whether they are published."""
  known = imagenet.wnids()
  of_imagenet = [known.index(c) for c in classes if c in known]
  whole = 0 < len(of_imagenet) == len(classes)
  if entry.class_names:
    lines = _lines(entry.class_names)
    listed = [(a, b) for a, tab, b in (x.partition("\t") for x in lines) if tab]
    if len(listed) == len(lines):
      return _of_classes(listed, classes), f"class names: {_KEY}'s", False
    if listed:
      raise errors.UserError(
        f"{_KEY}: {len(listed)} of {len(lines)} lines are class<TAB>words, expected"
        " all or none."
      )
    if whole and len(lines) == len(known):
      names = [lines[i] for i in of_imagenet]
      return names, f"class names: {_KEY}'s, in the order of the wnids", True
    if classes or len(lines) != count:
      raise errors.UserError(
        f"{_KEY}: got {len(lines)} lines without a class. Write class<TAB>words"
        f" for each of the data set's {count} classes"
        + f" ({', '.join(classes[:3])}, ...)" * bool(classes)
        + (
          "; or 1,000 lines in the order of ImageNet's wnids."
          if whole
          else "."
          if classes
          else ", or as many lines as there are classes."
        )
      )
    return lines, f"class names: {_KEY}'s, in the order of the labels", False
  if whole:
    names, whose = prompts.imagenet()
    note = f"class names: {whose}'s of ImageNet"
    return [names[i] for i in of_imagenet], note, True
  unnamed = [c for c in classes if _WNID.fullmatch(c)]
  if unnamed or not classes:
    said = f"e.g. {unnamed[0]}" if unnamed else f"of {count} classes"
    raise errors.UserError(
      f"{entry.key}: nothing says what the data set's classes are called ({said}),"
      f" and prompts are made of their names. Set {_KEY}: a file or list with"
      + (" class<TAB>words a line." if classes else " a line a class.")
    )
  blank = "its own names, underscores as blanks"
  return [c.replace("_", " ") for c in classes], f"class names: {blank}", False


def _lines(stated: Any) -> list[str]:
  """Return the lines of a file or a list, of which items may be (class, words)."""
  if isinstance(stated, (str, os.PathLike)):
    return reading.line_list(paths.parse(stated, _KEY))
  return [x if isinstance(x, str) else "\t".join(map(str, x)) for x in stated]


def _of_classes(
  listed: Sequence[tuple[str, str]], classes: Sequence[str]
) -> list[str]:
  """Return words in label order.

  Raises:
    UserError: an unknown class, one twice, or one without words.
  """
  words = dict(listed)
  for name, _ in listed:
    if name not in classes:
      raise errors.UserError(
        f"{_KEY}: {errors.unknown_error('class', name, classes)}"
      )
  if len(words) < len(listed):
    raise errors.UserError(f"{_KEY}: a class has two lines, expected one each.")
  missing = [c for c in classes if c not in words]
  if missing:
    raise errors.UserError(
      f"{_KEY}: {len(missing)} of {len(classes)} classes have no line, e.g."
      f" {missing[0]!r}."
    )
  return [words[c] for c in classes]

"""The texts of a zero-shot model's run: `config.model.prompts` and `class_names`.

A class is called as the data set calls it, underscores as blanks; a class of
ImageNet, which sets call by its wnid, by its curated name (`models/zero_shot`).
`class_names` has other words: a file or a list of lines `class<TAB>words`, where a class
without a name is its number.
"""

import os
import re
from collections.abc import Sequence

from eval.run import spec as spec_lib
from models.zero_shot import prompts
from models.zero_shot import texts as texts_lib
from robust_tfds import errors, reading
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
    classes: what the data set calls its classes, in label order; empty if
      unknown.
    count: how many there are.

  Raises:
    UserError: other settings contradict it, or a class has no words; see
      `texts_lib.make`.
  """
  for key in ("classes", "num_classes", "train", "last_layer"):
    if getattr(entry, key):
      raise errors.UserError(
        f"{entry.key}: prompts and {key} are both set. Prompts make an output for"
        f" each of the data set's classes: leave {key} out."
      )
  if not entry.checkpoint:
    raise errors.UserError(
      f"{entry.key}: prompts are read by the text tower in a checkpoint, and none"
      " is named: set checkpoint to the file of both towers."
    )
  known = {wnid: label for label, wnid in enumerate(imagenet.wnids())}
  is_imagenet = bool(classes) and set(classes) <= known.keys()
  named = bool(classes) and not any(map(_WNID.fullmatch, classes))
  if entry.class_names:
    names = _own_words(entry, classes or [str(label) for label in range(count)])
    owner = f"{_KEY}'s"
  elif is_imagenet:
    published, owner = prompts.imagenet()
    names = [published[known[wnid]] for wnid in classes]
  elif named:
    names = [name.replace("_", " ") for name in classes]
    owner = "the data set's own, underscores as blanks"
  else:
    raise errors.UserError(
      f"{entry.key}: nothing says what the data set's {count} classes are called,"
      f" and prompts are made of their names. Set {_KEY}: a file or list with"
      " class<TAB>words a line (of evaluate {class: words}); the first class is"
      f" {classes[0] if classes else '0'}."
    )
  published_names = is_imagenet and not entry.class_names
  return texts_lib.make(
    names, entry.prompts or (), owner, published=published_names
  )


def _own_words(entry: spec_lib.Model, classes: Sequence[str]) -> list[str]:
  """Return the words of `class_names` in label order.

  Raises:
    UserError: a line of no class, two of one, or a class without one.
  """
  stated = entry.class_names
  if isinstance(stated, (str, os.PathLike)):
    lines = reading.line_list(paths.parse(stated, _KEY))
    stated = [line for line in lines if line.strip()]
  words: dict[str, str] = {}
  for line in map(str, stated or ()):
    name, tab, text = line.partition("\t")
    if not tab or name in words:
      raise errors.UserError(
        f"{_KEY}: {line[:80]!r}: expected class<TAB>words, one line a class."
      )
    words[name] = text
  for name in words.keys() - {*classes}:
    unknown = errors.unknown_error("class", name, classes)
    raise errors.UserError(f"{_KEY}: {unknown}")
  if missing := [name for name in classes if name not in words]:
    raise errors.UserError(
      f"{_KEY}: {len(missing)} of {len(classes)} classes have no line, e.g."
      f" {missing[0]!r}."
    )
  return [words[name] for name in classes]

"""Templates of prompts, and the curated names of ImageNet's classes.

OpenAI's 80 templates, its 7 and the 1,000 names are read from the installed
`open_clip_torch`, whose file of them (`zero_shot_metadata.py`) is run alone, without
torch. Names differ between its versions, so a cell's facts have their sha256.
"""

import functools
import importlib.util
import pathlib
import re
import runpy
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from models.zero_shot import tokenizer
from robust_tfds import errors, reading
from robust_tfds.storage import paths

CLEAN = "-clean"
# Name -> the list in `zero_shot_metadata.py`.
_LISTS = {
  "openai80": "OPENAI_IMAGENET_TEMPLATES",
  "openai7": "SIMPLE_IMAGENET_TEMPLATES",
}
_SINGLE = "single"
NAMES = ("openai80", f"openai80{CLEAN}", "openai7", _SINGLE)
IMAGENET = "IMAGENET_CLASSNAMES"
_PLACE = "{}"
# What test corruptions do, as templates say it: six words of OpenAI's 80, twice
# each, and its black and white photos; then what others write.
_CORRUPTION = re.compile(
  r"blur\w*|pixel\w*|jpe?g|compress\w*|corrupt\w*|distort\w*|low[- ]res\w*|dark"
  r"|bright|black and white|gr[ae]y ?scale|nois[ey]\w*|grain[ey]\w*|fog\w*|haz[ey]"
  r"|snow\w*|frost\w*|rain\w*|(?:over|under)exposed|low[- ]contrast",
  re.IGNORECASE,
)


def templates(stated: str | Sequence[str]) -> tuple[str, ...]:
  """Return the templates of a name, of a file with a line each, or of a list.

  Args:
    stated: one of `NAMES`, a file, one template, or several.

  Raises:
    UserError: an unknown name, no template, or one without exactly one `{}`.
  """
  listed: Sequence[Any] = [stated] if isinstance(stated, str) else stated
  if isinstance(stated, str) and _PLACE not in stated:
    base = stated.removesuffix(CLEAN)
    if stated in NAMES:
      listed = [_PHOTO] if stated == _SINGLE else _installed(_LISTS[base])
    elif paths.is_file(paths.parse(stated, "prompts")):
      listed = [x for x in reading.line_list(stated) if x.strip()]
    else:
      unknown = errors.unknown_error("prompts", stated, NAMES)
      raise errors.UserError(
        f"{unknown} Or a file of templates, or a list of them, each with one"
        f" {_PLACE} for the class's name: 'a photo of a {_PLACE}.'."
      )
    if stated.endswith(CLEAN):
      listed = [text for text in listed if not names_corruption(text)]
  if not listed:
    raise errors.UserError(f"prompts: got {stated!r}, expected a template.")
  for text in listed:
    count = text.count(_PLACE) if isinstance(text, str) else 0
    if count != 1:
      raise errors.UserError(
        f"prompts: {text!r} has {count} places for the class's name, expected one"
        f" {_PLACE}: 'a photo of a {_PLACE}.'."
      )
  return tuple(listed)


_PHOTO = "a photo of a {}."  # openai/CLIP, README.md


def names_corruption(template: str) -> bool:
  """Return whether a template names what a corruption does.

  >>> names_corruption("a blurry photo of the {}."), names_corruption("a {}.")
  (True, False)
  """
  return bool(_CORRUPTION.search(template.replace(_PLACE, "")))


@functools.cache
def imagenet() -> tuple[tuple[str, ...], str]:
  """Return the curated names of ImageNet's classes in label order, and whose.

  Raises:
    UserError: the package that has them is not installed.
  """
  version = metadata.version("open_clip_torch") if _file() else ""
  return tuple(_installed(IMAGENET)), f"open_clip_torch {version}"


def _installed(name: str) -> list[str]:
  """Return a list of the package's file; templates have `{}` for the name."""
  file = _file()
  if file is None:
    raise errors.UserError(
      "OpenAI's templates and ImageNet's curated names are those of"
      " open_clip_torch, which is not installed: pip install"
      f" 'robust_tfds[{tokenizer.EXTRA}]', or pip install --no-deps open_clip_torch"
      " (2 MB, whose files alone are read), or give a list or file of your own"
      " (prompts=, class_names=)."
    )
  listed = runpy.run_path(str(file)).get(name)
  if not listed:
    raise errors.UserError(
      f"{file}: has no {name}. Install another version of open_clip_torch, or give"
      " a list or file of your own (prompts=, class_names=)."
    )
  return [each if isinstance(each, str) else each(_PLACE) for each in listed]


def _file() -> pathlib.Path | None:
  """Return the file of templates and names; None where it is not installed."""
  spec = importlib.util.find_spec("open_clip")
  for folder in (spec and spec.submodule_search_locations) or ():
    file = pathlib.Path(folder) / "zero_shot_metadata.py"
    if file.exists():
      return file
  return None

"""Templates of prompts, and the curated names of ImageNet's classes.

OpenAI's 80 templates, its 7 and the 1,000 names are those of the installed
`open_clip_torch`, whose file of them (`zero_shot_metadata.py`) is run alone, without
torch. Names differ between its versions, so a cell's facts have their sha256.
"""

import functools
import re
import runpy
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from models.zero_shot import tokenizer
from robust_tfds import errors, reading
from robust_tfds.storage import paths

CLEAN = "-clean"
_SINGLE = "a photo of a {}."  # openai/CLIP, README.md
# Name -> the list in the package's file.
_LISTS = {
  "openai80": "OPENAI_IMAGENET_TEMPLATES",
  "openai7": "SIMPLE_IMAGENET_TEMPLATES",
}
NAMES = ("openai80", f"openai80{CLEAN}", "openai7", "single")
# What test corruptions do, as templates say it: first OpenAI's words, of which the
# 80 have each twice, then what others write.
_CORRUPTION = re.compile(
  r"\b(?:blur|pixelat|jpe?g|low[- ]resolution|dark|bright|black and white"
  r"|corrupt|compress|distort|gr[ae]y ?scale|nois[ey]|grainy|foggy|haz[ey]|snowy"
  r"|frosty|rainy|(?:over|under)exposed|low[- ]contrast)",
  re.IGNORECASE,
)


def templates(prompts: str | Sequence[str]) -> tuple[str, ...]:
  """Return the templates of a name, of a file with a line each, or of a list.

  Args:
    prompts: one of `NAMES`, a file, one template, or several.

  Raises:
    UserError: an unknown name, no template, or one without exactly one `{}`.
  """
  listed: Sequence[Any] = prompts
  if isinstance(prompts, str):
    listed = [prompts] if "{" in prompts else _named_list(prompts)
  if not listed:
    raise errors.UserError(f"prompts: got {prompts!r}, expected a template.")
  for text in listed:
    count = text.count("{}") if isinstance(text, str) else 0
    if count != 1:
      raise errors.UserError(
        f"prompts: {text!r} has {count} places for the class's name, expected one"
        " {}: 'a photo of a {}.'."
      )
  return tuple(listed)


def _named_list(text: str) -> list[str]:
  """Return the templates of a name, or of a file."""
  base = text.removesuffix(CLEAN)
  if text == "single":
    return [_SINGLE]
  if text in NAMES:
    listed = _installed(_LISTS[base])
    return [t for t in listed if base == text or not names_corruption(t)]
  if paths.is_file(paths.parse(text, "prompts")):
    return [line for line in reading.line_list(text) if line.strip()]
  unknown = errors.unknown_error("prompts", text, NAMES)
  raise errors.UserError(
    f"{unknown} Or a file of templates, or a list of them, each with one {{}} for"
    f" the class's name: {_SINGLE!r}."
  )


def names_corruption(template: str) -> bool:
  """Return whether a template names what a corruption does.

  >>> names_corruption("a blurry photo of the {}."), names_corruption("a {}.")
  (True, False)
  """
  return bool(_CORRUPTION.search(template))


@functools.cache
def imagenet() -> tuple[tuple[str, ...], str]:
  """Return the curated names of ImageNet's classes in label order, and whose.

  Raises:
    UserError: the package that has them is not installed.
  """
  names = tuple(_installed("IMAGENET_CLASSNAMES"))
  return names, f"open_clip_torch {metadata.version('open_clip_torch')}'s"


def _installed(name: str) -> list[str]:
  """Return a list of the package's file; templates have `{}` for the name."""
  file = tokenizer.installed("open_clip", "zero_shot_metadata.py")
  listed = runpy.run_path(str(file)).get(name) if file else None
  if not listed:
    raise errors.UserError(
      "OpenAI's templates and ImageNet's curated names are read from"
      f" open_clip_torch ({file or 'not installed'} has no {name}):"
      f" {tokenizer.GET}, or give your own (prompts=, class_names=)."
    )
  return [each if isinstance(each, str) else each("{}") for each in listed]

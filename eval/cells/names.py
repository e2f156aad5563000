"""Folder names for names that users chose: one rule for the whole workdir.

Letters, digits and `_ - +` stay, and dots inside a name; every other character
becomes `%` and two hexadecimal digits for each byte of its UTF-8, as in URLs. So
no two names share a folder, and none leads out of it.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any
from urllib import parse

from robust_tfds import errors

# File systems allow 255 bytes in a name; `.json` and the like come on top.
_BYTES = 200
_STAY = "._-+"
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode categories


def folder_name(name: str) -> str:
  """Return a name in the form of a folder name.

  Raises:
    UserError: an empty name, one with invisible characters, or one that is too
      long.
  """
  if not name:
    raise errors.UserError("A name is empty: it has to name a folder.")
  character = _invisible(name)
  if character:
    raise errors.UserError(
      f"The name {name!r} holds the invisible character {character!r}; it has"
      " to name a folder. Choose another name."
    )
  last = len(name) - 1
  out = "".join(
    _encoded(c) if c == "." and i in (0, last) else _safe(c)
    for i, c in enumerate(name)
  )
  if len(out.encode()) > _BYTES:
    raise errors.UserError(
      f"The name {name[:40]!r}... has {len(name)} characters, too many to name a"
      f" folder ({_BYTES} bytes are allowed). Choose a shorter one."
    )
  return out


def check_visible(value: Any, source: str) -> None:
  """Refuse texts with line breaks or invisible characters.

  Args:
    value: a text, or lists and objects of JSON that hold texts.
    source: the beginning of an error message.

  Raises:
    UserError: a text with invisible characters, e.g. a line break.
  """
  if isinstance(value, Mapping):
    for name, item in value.items():
      check_visible(name, source)
      check_visible(item, f"{source}: {name}")
  elif isinstance(value, (list, tuple)):
    for item in value:
      check_visible(item, source)
  elif isinstance(value, str) and _invisible(value):
    raise errors.UserError(
      f"{source}: got {value[:200]!r}, expected a text of one line; it holds the"
      f" invisible character {_invisible(value)!r}."
    )


def check_distinct(names: Iterable[str], kind: str) -> None:
  """Refuse names whose folders are equal on some file systems.

  Args:
    kind: the kind of thing they name, e.g. `model`.

  Raises:
    UserError: see `folder_name`, or two that differ only by case.
  """
  first: dict[str, str] = {}
  for name in names:
    same = folder_name(name).casefold()
    other = first.setdefault(same, name)
    if other != name:
      raise errors.UserError(
        f"The {kind}s {other!r} and {name!r} share a folder where file systems"
        " take large letters for small ones. Rename one."
      )


def _invisible(text: str) -> str:
  """Return the first invisible character; '' if there is none."""
  return next((c for c in text if unicodedata.category(c) in _INVISIBLE), "")


def _safe(character: str) -> str:
  if character.isalnum() or character in _STAY:
    return character
  return _encoded(character)


def _encoded(character: str) -> str:
  if character == ".":
    return "%2E"
  return parse.quote(character, safe="")

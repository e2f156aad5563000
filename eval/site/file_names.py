"""Names of the site's files: one a key, apart also where case is none.

A key of small letters, digits, `-` and `_` is its own name. Every other gets its
letters and digits and eight digits of its sha256, so the name stays the same
whatever else is on the site.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_LENGTH = 48
_DIGITS = 8
# Names that Windows keeps for devices.
_DEVICES = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])")


def of_keys(keys: Iterable[str]) -> dict[str, str]:
  """Key -> the name of its files, without an ending; no two are equal.

  >>> of_keys(["fog", "Fog"])
  {'fog': 'fog', 'Fog': 'fog-14394e97'}
  """
  out: dict[str, str] = {}
  taken: set[str] = set()
  # Plain keys first: theirs are the names that nobody else may have.
  distinct = dict.fromkeys(keys)
  for key in sorted(distinct, key=lambda k: not _is_plain(k)):
    digits = _DIGITS
    name = _name(key, digits)
    while name in taken:
      digits += 1
      name = _name(key, digits)
    taken.add(name)
    out[key] = name
  return {key: out[key] for key in distinct}


def _is_plain(key: str) -> bool:
  return bool(_PLAIN.fullmatch(key)) and not _DEVICES.fullmatch(key)


def _name(key: str, digits: int) -> str:
  if _is_plain(key):
    return key
  text = key.encode("utf-8", "surrogatepass")
  mark = hashlib.sha256(text).hexdigest()[:digits]
  readable = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:_LENGTH]
  return f"{readable}-{mark}" if readable else mark

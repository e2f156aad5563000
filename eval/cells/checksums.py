"""Checksums that a record holds of its own other fields: they tell damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from etils import epath

from robust_tfds import errors

_FIELD = "checksum"


def of(fields: Mapping[str, Any]) -> str:
  """sha256 of all fields but the checksum, as sorted JSON without spaces."""
  rest = {name: value for name, value in fields.items() if name != _FIELD}
  text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
  return hashlib.sha256(text.encode()).hexdigest()


def check(path: epath.Path, fields: Mapping[str, Any]) -> None:
  """UserError unless the checksum is that of the other fields; names the file."""
  if fields[_FIELD] != of(fields):
    raise errors.UserError(
      f"{path}: checksum: it is not that of the other fields, one of which was"
      " changed since it was written."
    )

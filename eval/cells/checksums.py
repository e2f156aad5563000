"""Checksums that a record holds of its own other fields: they tell damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from etils import epath

from robust_tfds import errors

_FIELD = "checksum"


def of(fields: Mapping[str, Any], *, spaces: bool = False) -> str:
  """sha256 of all fields but the checksum, as sorted JSON.

  Args:
    fields: of the record; with or without a checksum.
    spaces: whether that JSON has spaces between its parts: so it was from the
      first config.json on; notes have none.
  """
  rest = {name: value for name, value in fields.items() if name != _FIELD}
  separators = None if spaces else (",", ":")
  text = json.dumps(rest, sort_keys=True, separators=separators)
  return hashlib.sha256(text.encode()).hexdigest()


def check(
  path: epath.Path, fields: Mapping[str, Any], *, spaces: bool = False
) -> None:
  """Refuses a record that was changed.

  Args:
    path: its file.
    fields: of the record, with its checksum.
    spaces: see `of`.

  Raises:
    UserError: the checksum is not that of the other fields; names the file.
  """
  if fields[_FIELD] != of(fields, spaces=spaces):
    raise errors.UserError(
      f"{path}: checksum: it is not that of the other fields, one of which was"
      " changed since it was written."
    )

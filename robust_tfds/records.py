"""Records: JSON objects that lie in a workdir, with the fields that they may have.

A record that is signed holds a checksum of its own other fields, which tells damage,
not intent. Fields that later code adds are in no older record's checksum.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

import pydantic
from etils import epath

from robust_tfds import errors, reading

_FIELD = "checksum"


class Record(pydantic.BaseModel):
  """A record with named fields and no others; it is never changed."""

  model_config = pydantic.ConfigDict(
    extra="forbid", frozen=True, strict=True, protected_namespaces=()
  )


class Signed(Record):
  """A record whose last field is `checksum`, the sha256 of all others."""

  @classmethod
  def read(cls, path: epath.Path, value: Any) -> Self:
    """Make the record of a file's content.

    Args:
      value: what `reading.json_file` gave.

    Raises:
      UserError: it is none, or was changed; names the file and the field.
    """
    record = reading.records(value, cls, str(path))
    check(path, record.written())
    return record

  def signed(self) -> Self:
    """Return the record with its checksum."""
    return self.model_copy(update={_FIELD: checksum(self.written())})

  def written(self) -> dict[str, Any]:
    """Return the fields that were written: records of earlier code have fewer."""
    return self.model_dump(exclude_unset=True, by_alias=True)

  def dumps(self) -> str:
    """Return the text of the record's file."""
    return json.dumps(self.written(), indent=1, sort_keys=True) + "\n"


def checksum(fields: Mapping[str, Any], *, spaces: bool = False) -> str:
  """Compute the sha256 of all fields but the checksum, as sorted JSON.

  Args:
    fields: fields of the record; with or without a checksum.
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
  """Refuse a record that was changed.

  Args:
    fields: fields of the record, with its checksum.
    spaces: see `checksum`.

  Raises:
    UserError: the checksum is not that of the other fields; names the file.
  """
  if fields[_FIELD] != checksum(fields, spaces=spaces):
    raise errors.UserError(
      f"{path}: checksum: it does not fit the other fields, one of which was"
      " changed after it was written."
    )

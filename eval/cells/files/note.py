"""The note of a finished cell, `provenance.json`: written last, read first.

It names the cell's model and examples, and the checksums of its files and of
the examples' file (`eval/cells/files/examples.py`): a cell without a note is
not finished, and one whose files do not match the note is damaged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from etils import epath

from eval.cells.cell_facts import DataFacts, ModelFacts
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.records import Record, Signed
from robust_tfds.storage import paths

FILE = "provenance.json"
VERSION: Literal[2] = 2

_Sha256 = Annotated[str, pydantic.Field(pattern="^[0-9a-f]{64}$")]
_Count = Annotated[int, pydantic.Field(ge=0)]


class Split(Record):
  """The examples of a cell.

  Attributes:
    name: name of what was read; cells of one dataset and split have the same
      examples. Empty if unknown.
    rows: number of rows of the columns.
    examples: number of different ids among them.
    ids: sha256 of the ids, in their order.
    labels: sha256 of the true classes, in that order, as little-endian int64;
      empty if the examples have none of their own.
  """

  name: str
  rows: _Count
  examples: _Count
  ids: _Sha256
  labels: str


class File(Record):
  """The size and checksum of a written file."""

  size: _Count
  sha256: _Sha256

  @classmethod
  def from_bytes(cls, data: bytes) -> File:
    """Create it from the file's bytes."""
    return cls(size=len(data), sha256=hashlib.sha256(data).hexdigest())


class Note(Signed):
  """The content of `provenance.json`.

  Attributes:
    version: version of this schema.
    model: the cell's model, and so on as in `cell.Cell`.
    dataset: its data set.
    config: its condition.
    corruption: the condition's name; empty for clean.
    severity: the condition's level.
    kind: the condition's family.
    seed: the run's seed.
    fingerprint: see `eval/cells/provenance.py`.
    of_model: the part of the fingerprint that depends only on the model, the
      same in all its cells; empty if unknown.
    data: facts of the data, in words; None if not recorded.
    model_facts: facts of the model, under the key `by`; None if not recorded.
    random: whether repeated calls of the model differ.
    without_output: number of classes of the data set that the model has no
      output for.
    split: the examples.
    files: name -> the files beside the note.
    examples: the file of the examples' facts.
    checksum: sha256 of all the above.
  """

  version: Literal[2]
  model: Annotated[str, pydantic.Field(min_length=1)]
  dataset: Annotated[str, pydantic.Field(min_length=1)]
  config: str
  corruption: str
  severity: int
  kind: str
  seed: int
  fingerprint: str
  of_model: str = ""
  data: DataFacts | None = None
  model_facts: ModelFacts | None = pydantic.Field(default=None, alias="by")
  random: bool = False
  without_output: _Count = 0
  split: Split
  files: dict[str, File]
  examples: File
  checksum: _Sha256

  @property
  def place(self) -> tuple[str, str, str, str]:
    """The names of the cell's nested folders, equal to `Cell.place`."""
    return self.model, self.dataset, self.config, f"seed{self.seed}"


def make(
  cell: Mapping[str, object],
  split: Split,
  files: Mapping[str, File],
  examples: File,
) -> Note:
  """Return the note of a cell.

  Args:
    cell: the result of `Cell.note`.
    files: name -> the files beside the note.
    examples: the file of the examples' facts.
  """
  facts: dict[str, Any] = {
    "version": VERSION,
    **cell,
    "split": split.model_dump(),
    "files": {name: file.model_dump() for name, file in files.items()},
    "examples": examples.model_dump(),
  }
  note = reading.records({**facts, "checksum": "0" * 64}, Note, FILE)
  return note.signed()


def split_of(
  name: str, example_id: np.ndarray, labels: np.ndarray | None = None
) -> Split:
  """Return the examples of columns.

  Args:
    example_id: str `[N]`, sorted.
    labels: int `[N]` or `[N, L]`, the true classes; None if there are none.
  """
  first = np.ones(len(example_id), bool)
  first[1:] = example_id[1:] != example_id[:-1]
  ids = example_id[first].tolist()
  text = json.dumps(ids, ensure_ascii=False, separators=(",", ":"))
  digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
  return Split(
    name=name,
    rows=len(example_id),
    examples=len(ids),
    ids=digest.hexdigest(),
    labels=""
    if labels is None
    else hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest(),
  )


def read(folder: epath.Path) -> Note:
  """Return the note of a cell.

  Raises:
    UserError: it is missing, invalid or changed; the message names the file and
      the field.
  """
  path = folder / FILE
  value = reading.json_file(path)
  if isinstance(value, dict) and value.get("version") != VERSION:
    raise errors.UserError(
      f"{path}: version: got {value.get('version')!r}, expected {VERSION}."
    )
  return Note.read(path, value)


def check_size(path: epath.Path, file: File) -> None:
  """Refuse a file that is missing or of another size, without reading it.

  Raises:
    UserError: the message names the file.
  """
  size = reading.file_size(path)
  if size != file.size:
    raise errors.UserError(
      f"{path}: {size:,} bytes, but {file.size:,} were written."
    )


def read_file(path: epath.Path, file: File) -> bytes:
  """Return all bytes of a file and check that they are the written ones.

  Raises:
    UserError: it was changed, or is missing; the message names the file.
  """
  check_size(path, file)
  data = reading.file_bytes(path, limit=limits.ARRAY_BYTES)
  if File.from_bytes(data) != file:
    raise errors.UserError(
      f"{path}: its checksum is not the recorded one: the file was changed or"
      " damaged."
    )
  return data


def file_sha256(path: epath.Path) -> str:
  """Return the sha256 of a file's bytes.

  Raises:
    UserError: it cannot be read.
  """
  try:
    return paths.sha256(path)
  except OSError as e:
    raise errors.UserError(f"{path}: cannot be read: {e.strerror}.") from e

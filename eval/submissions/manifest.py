"""`submission.json`: facts of a submission, and a list of all its other files.

It is written last: a folder without it is not a submission. Its checksums reveal
damage, not forgery: whoever changes a file can recompute them.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic
from etils import epath

from eval.cells import names, provenance
from eval.cells.cell_facts import DataFacts, ModelFacts
from eval.cells.files.note import File
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.records import Signed
from robust_tfds.storage import disk

FILE = "submission.json"
VERSION: Literal[1] = 1
# 100 models x 96 conditions take about 4 MiB.
_BYTES = 64 * limits.MIB

_Text = Annotated[str, pydantic.Field(min_length=1, max_length=10_000)]


class Manifest(Signed):
  """The content of `submission.json`.

  Attributes:
    version: version of this schema.
    code: version of robust_tfds that wrote it.
    task: the run's task.
    cells: number of cells.
    models: label -> facts of the model; `trained_on` is known.
    data: hash -> facts of the cells' data.
    files: path in the folder, with slashes -> every file but this one.
    checksum: sha256 of all the above.
  """

  version: Literal[1]
  code: _Text
  task: _Text
  cells: Annotated[int, pydantic.Field(ge=1)]
  models: Annotated[dict[_Text, ModelFacts], pydantic.Field(min_length=1)]
  data: Annotated[dict[_Text, DataFacts], pydantic.Field(min_length=1)]
  files: Annotated[dict[str, File], pydantic.Field(min_length=1)]
  checksum: str


def make(
  task: str,
  cells: int,
  models: Mapping[str, ModelFacts],
  data: Mapping[str, DataFacts],
  files: Mapping[str, File],
) -> Manifest:
  """Return the manifest of a submission; see `Manifest`."""
  return Manifest(
    version=VERSION,
    code=provenance.code_version(),
    task=task,
    cells=cells,
    models=dict(models),
    data=dict(data),
    files=dict(sorted(files.items())),
    checksum="",
  ).signed()


def write(folder: epath.Path, manifest: Manifest) -> None:
  """Write the manifest into the folder of an otherwise complete submission.

  Raises:
    UserError: one of its texts has more than one line.
  """
  names.check_visible(manifest.written(), str(folder / FILE))
  disk.write_text(folder / FILE, manifest.dumps())


def read(folder: epath.Path) -> Manifest:
  """Return the manifest of a submission.

  Raises:
    UserError: not a submission, or an invalid, too large or changed manifest, or
      one of another version; a text with several lines, which could look like
      lines of the checker's answer. The message names the file and the field.
  """
  path = folder / FILE
  if not disk.exists(path):
    raise errors.UserError(
      f"{folder} is not a submission: it holds no {FILE}. Make one by"
      " robust-tfds board --export=RUN --out=DIR."
    )
  limits.check(reading.file_size(path), _BYTES, str(path), "bytes")
  value = reading.json_file(path)
  version = value.get("version") if isinstance(value, dict) else None
  if version != VERSION:
    raise errors.UserError(
      f"{path}: version: got {version!r}, this code reads {VERSION}."
    )
  names.check_visible(value, str(path))
  return Manifest.read(path, value)

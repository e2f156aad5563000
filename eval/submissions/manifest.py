"""`submission.json`: what a submission is of, and every other file in it.

Written last; a folder without it is no submission. Its checksum tells damage, not
intent: whoever changes a file can change every sum. What no sum can tell is held
against the predictions and the data set (`eval/submissions/checker.py`).
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
  """What `submission.json` holds.

  Attributes:
    version: of this schema.
    code: version of robust_tfds that wrote it.
    task: of the run.
    cells: how many there are.
    models: label -> facts of the model; `trained_on` is known.
    data: hash -> facts of data that cells are of.
    files: path below the folder, with slashes -> every file but this one.
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
  """The manifest of a submission; see `Manifest`."""
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
  """Write it into the folder of a submission that is whole otherwise.

  Raises:
    UserError: a text of it has more than one line, or a label looks like another.
  """
  names.check_visible(manifest.written(), str(folder / FILE))
  for label in manifest.models:
    names.check_scripts(label, str(folder / FILE))
  disk.write_text(folder / FILE, manifest.dumps())


def read(folder: epath.Path) -> Manifest:
  """The manifest of a submission.

  Raises:
    UserError: no submission; a manifest that is none, is too large, was changed
      or is of another version, a text of several lines, which would be read
      as lines of an answer, or a label that looks like another. Names the file
      and the field.
  """
  path = folder / FILE
  if not disk.exists(path):
    raise errors.UserError(
      f"{folder} is no submission: it holds no {FILE}. Make one by"
      " robust-tfds board --export=RUN --out=DIR."
    )
  limits.check(reading.file_size(path), _BYTES, str(path), "bytes")
  value = reading.json_file(path)
  version = value.get("version") if isinstance(value, dict) else None
  if version != VERSION:
    raise errors.UserError(
      f"{path}: version: got {version!r}, this code reads {VERSION}."
    )
  texts = {k: v for k, v in value.items() if k != "files"}  # paths: `layout`
  names.check_visible(texts, str(path))
  manifest = Manifest.read(path, value)
  for label in manifest.models:
    names.check_scripts(label, str(path))
  return manifest

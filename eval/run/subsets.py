"""Subsets of a data set by name, or from a file of ids.

  robustbench5k   the 5,000 ImageNet pictures of RobustBench's ImageNet tables
                  (Croce et al. 2021), whose ids its package brings; found where it
                  is installed and never imported
  2015            the frames of ImageNet-Vid-Robust whose videos are in ILSVRC 2015
                  too, on which Shankar et al. 2021 have R-FCN (Table 3)
  FILE            one id a line, in UTF-8; empty lines are skipped

What is chosen is named in every row and caption: a name as it is, a file by its
stem and the first 8 digits of the sha256 of its sorted ids. How ids name examples:
`eval/pipeline/subset.py`.
"""

import hashlib
import importlib.util
import os
import pathlib
import re

from eval.pipeline import subset
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.storage import paths

ROBUSTBENCH = "robustbench5k"
OF_2015 = "2015"
NAMES = (ROBUSTBENCH, OF_2015)
# The set names a video by the year of the release that it came with (487 of 1,109).
_STARTS = {OF_2015: "val/ILSVRC2015_val_"}
_PACKAGE = "robustbench"
_IDS = "helper_files/imagenet_test_image_ids.txt"
# Of robustbench 1.1.1's file.
_SHA256 = "d4121626d07722a0126c35b1563042e46a546f1a05ce705f2cdc635896d58574"
_REMEDY = (
  "install it without what it needs to run (pip install --no-deps"
  " robustbench==1.1.1), or give a file of ids: config.data.subset=FILE"
)


def read(
  value: str | os.PathLike[str], key: str = "config.data.subset"
) -> subset.Subset:
  """Return the subset of a name or a file.

  Args:
    value: a name or a path.
    key: where it is said, for refusals.

  Raises:
    UserError: an unknown name, a package that is not there or has another file,
      no ids, or one twice; begins with the key.
  """
  text = os.fspath(value)
  if text == ROBUSTBENCH:
    return _robustbench(key)
  if text in _STARTS:
    return subset.OfNames(text, (), f"{key}={text}", _STARTS[text])
  path = paths.parse(text, key)
  if not path.exists():
    raise errors.UserError(
      f"{key}: got {text!r}, which is no file, and no name: {', '.join(NAMES)}."
    )
  with errors.prefixed(key):
    data = _bytes(path)
  # What separates notes in a table does not stand in one.
  name = re.sub(r"[^\w.-]+", "_", pathlib.PurePosixPath(path.name).stem)
  source = f"{key}: {path}"
  ids = _ids(data, source)
  return subset.Subset(f"{name}-{subset.sha256(ids)[:8]}", ids, source)


def _robustbench(key: str) -> subset.Subset:
  """Return the ids that an installed package brings."""
  key = f"{key}={ROBUSTBENCH}"
  spec = importlib.util.find_spec(_PACKAGE)  # imports nothing
  folders = list(spec.submodule_search_locations or ()) if spec else []
  files = [pathlib.Path(folder) / _IDS for folder in folders]
  files = [file for file in files if file.is_file()]
  if not files:
    raise errors.UserError(
      f"{key}: its ids are those of the package {_PACKAGE}, which is not"
      f" installed: {_REMEDY}."
    )
  data = _bytes(files[0])
  if hashlib.sha256(data).hexdigest() != _SHA256:
    raise errors.UserError(
      f"{key}: {files[0]} is not the file of {_PACKAGE} 1.1.1 (sha256"
      f" {_SHA256[:12]}...): {_REMEDY}."
    )
  source = f"{key}: {files[0]}"
  return subset.Subset(ROBUSTBENCH, _ids(data, source), source)


def _bytes(path: os.PathLike[str]) -> bytes:
  return reading.file_bytes(path, limit=limits.TEXT_BYTES)


def _ids(data: bytes, source: str) -> tuple[str, ...]:
  """Return the ids of a file's bytes."""
  first: dict[str, int] = {}
  lines = reading.decode(data, source).splitlines()
  for number, line in enumerate(lines, 1):
    text = line.strip()
    if text in first:
      raise errors.UserError(
        f"{source}: line {number}: {text!r} stands on line {first[text]} already."
        " Name each example once."
      )
    if text:
      first[text] = number
  if not first:
    raise errors.UserError(f"{source}: no ids, expected one a line.")
  return tuple(first)

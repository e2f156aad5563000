"""Where Tiny ImageNet's validation images lie."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import zipfile

import numpy as np

from robust_tfds import errors
from robust_tfds.datasets import geometry

NUM_CLASSES = 200
NAME = "tiny-imagenet-200"
_WNIDS = "wnids.txt"
_ANNOTATIONS = "val/val_annotations.txt"
_CROPS = "bbox_crop"

INSTRUCTIONS = f"""\
Tiny ImageNet in the manual dir: {NAME}.zip
(http://cs231n.stanford.edu/{NAME}.zip) as it is, or extracted to {NAME}/. Where
a folder {_CROPS}/<wnid>/ of larger crops of the same names lies in {NAME}/, as
the authors used, its pictures are taken instead."""


@dataclasses.dataclass(frozen=True)
class File:
  """One picture: a file, or a member of the zip archive."""

  name: str
  label: int
  path: str
  member: str = ""

  def data(self) -> bytes:
    """The file's bytes."""
    if not self.member:
      return pathlib.Path(self.path).read_bytes()
    with zipfile.ZipFile(self.path) as archive:
      return archive.read(self.member)

  def picture(self, rule: str = "whole") -> np.ndarray:
    """uint8 `[H, W, 3]`, resized by a rule of `geometry.py`."""
    return geometry.decode(self.data(), rule, self.name)


def wnids(manual_dir: os.PathLike | str) -> list[str]:
  """The 200 classes in label order, that of the sorted wnids.

  Raises:
    FileNotFoundError: no list of them.
    UserError: not a list of 200 different names.
  """
  root = _root(manual_dir)
  lines = _text(root, _WNIDS).split()
  names = sorted(set(lines))
  if len(lines) != NUM_CLASSES or len(names) != NUM_CLASSES:
    raise errors.UserError(
      f"{root}, {_WNIDS}: {NUM_CLASSES} lines of different wnids expected, got"
      f" {len(lines)} lines with {len(names)}; labels are numbered by the whole"
      " list. Unpack the official archive again."
    )
  return names


def clean(manual_dir: os.PathLike | str) -> list[File]:
  """The validation pictures, sorted by name.

  Raises:
    FileNotFoundError: not there; says what was looked for, where.
    UserError: a broken line of annotations, or an unknown class.
  """
  root = _root(manual_dir)
  label_of = {wnid: i for i, wnid in enumerate(wnids(manual_dir))}
  files = []
  for number, line in enumerate(_text(root, _ANNOTATIONS).splitlines(), 1):
    parts = line.split("\t")
    if len(parts) < 2 or parts[1] not in label_of:
      raise errors.UserError(
        f"{_ANNOTATIONS}, line {number}: <name> TAB <wnid> of {_WNIDS} expected,"
        f" got {line!r}."
      )
    name, wnid = parts[:2]
    files.append(_file(root, name, wnid, label_of[wnid]))
  return sorted(files, key=lambda f: f.name)


def _file(root: pathlib.Path, name: str, wnid: str, label: int) -> File:
  if pathlib.PurePath(name).name != name:
    raise errors.UserError(f"{_ANNOTATIONS}: {name!r} leaves its folder.")
  if root.suffix == ".zip":
    return File(name, label, str(root), f"{NAME}/val/images/{name}")
  crop = root / _CROPS / wnid / name
  whole = root / "val" / "images" / name
  return File(name, label, str(crop if crop.exists() else whole))


def _root(manual_dir: os.PathLike | str) -> pathlib.Path:
  """The extracted folder, else the archive."""
  base = pathlib.Path(os.fspath(manual_dir))
  for root in (base / NAME, base / f"{NAME}.zip"):
    if root.exists():
      return root
  raise FileNotFoundError(
    f"No Tiny ImageNet in {base}. Looked for {NAME}/ and {NAME}.zip."
    f"\n{INSTRUCTIONS}"
  )


def _text(root: pathlib.Path, name: str) -> str:
  try:
    if root.suffix == ".zip":
      with zipfile.ZipFile(root) as archive:
        return archive.read(f"{NAME}/{name}").decode("utf-8")
    return (root / name).read_text("utf-8")
  except (FileNotFoundError, KeyError) as e:
    raise FileNotFoundError(f"{root} holds no {name}; unpack it whole.") from e
  except zipfile.BadZipFile as e:
    raise errors.UserError(f"{root} is not a whole zip archive ({e}).") from e

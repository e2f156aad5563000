"""The validation images of Tiny ImageNet."""

import functools
import os
import pathlib
from collections.abc import Callable, Collection

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import source
from robust_tfds.reading import archives
from robust_tfds.storage import paths

NUM_CLASSES = 200
NAME = "tiny-imagenet-200"
_WNIDS = "wnids.txt"
_ANNOTATIONS = "val/val_annotations.txt"
_PICTURES = "val/images"
_CROPS = "bbox_crop"

INSTRUCTIONS = f"""\
Tiny ImageNet in the manual dir: {NAME}.zip
(http://cs231n.stanford.edu/{NAME}.zip) as it is, or extracted to {NAME}/. Where
a folder {_CROPS}/<wnid>/ of larger crops of the same names lies in {NAME}/, as
the authors used, its pictures are taken instead."""


def wnids(manual_dir: os.PathLike | str) -> list[str]:
  """Return the 200 classes in label order, that of the sorted wnids.

  Raises:
    FileNotFoundError: there is no list of them.
    UserError: not a list of 200 different names.
  """
  where, text = _text(_root(manual_dir), _WNIDS)
  lines = text.split()
  names = sorted(set(lines))
  if len(lines) != NUM_CLASSES or len(names) != NUM_CLASSES:
    raise errors.UserError(
      f"{where}: {NUM_CLASSES} lines of different wnids expected, got"
      f" {len(lines)} lines with {len(names)}; labels are numbered by the whole"
      " list. Unpack the official archive again."
    )
  return names


def clean(manual_dir: os.PathLike | str) -> list[source.File]:
  """Return the validation pictures, sorted by name.

  Raises:
    FileNotFoundError: they are missing; the message lists the places.
    UserError: a broken line of annotations, an unknown class, a picture that is
      listed twice or missing.
  """
  root = _root(manual_dir)
  label_of = {wnid: i for i, wnid in enumerate(wnids(manual_dir))}
  listed, text = _text(root, _ANNOTATIONS)
  names_in = functools.cache(lambda folder: frozenset(paths.names(folder)))
  files: dict[str, source.File] = {}
  for number, line in enumerate(text.splitlines(), 1):
    if not line.strip():
      continue
    parts = line.split("\t")
    where = f"{listed}, line {number}"
    if len(parts) < 2 or parts[1] not in label_of:
      raise errors.UserError(
        f"{where}: <name> TAB <wnid> of {_WNIDS} expected, got {line!r}."
      )
    name, wnid = parts[:2]
    if name in files:
      raise errors.UserError(f"{where}: {name!r} is listed twice.")
    files[name] = _file(root, name, wnid, label_of[wnid], where, names_in)
  return [files[name] for name in sorted(files)]


def _file(
  root: epath.Path,
  name: str,
  wnid: str,
  label: int,
  where: str,
  names_in: Callable[[epath.Path], Collection[str]],
) -> source.File:
  if pathlib.PurePath(name).name != name:
    raise errors.UserError(f"{where}: {name!r} leaves its folder.")
  if root.suffix == ".zip":
    member = _members(root).get(f"{_PICTURES}/{name}")
    if member is None:
      raise FileNotFoundError(f"{where}: {root} holds no {_PICTURES}/{name}.")
    return source.File(name, str(root), member, label)
  for folder in (root / _CROPS / wnid, root / _PICTURES):
    if name in names_in(folder):
      return source.File(name, str(folder / name), label=label)
  raise FileNotFoundError(f"{where}: there is no {root / _PICTURES / name}.")


def _root(manual_dir: os.PathLike | str) -> epath.Path:
  """Return the extracted folder, else the archive."""
  base = paths.parse(manual_dir)
  for root in (base / NAME, base / f"{NAME}.zip"):
    if root.exists():
      return root
  raise FileNotFoundError(
    f"No Tiny ImageNet in {base}. Looked for {NAME}/ and {NAME}.zip."
    f"\n{INSTRUCTIONS}"
  )


def _text(root: epath.Path, name: str) -> tuple[str, str]:
  """Return (beginning of messages, text) of a list."""
  if root.suffix != ".zip":
    if not (root / name).exists():
      raise FileNotFoundError(f"{root} holds no {name}; unpack it whole.")
    return str(root / name), reading.text_file(root / name)
  member = _members(root).get(name)
  if member is None:
    raise FileNotFoundError(f"{root} holds no {NAME}/{name}.")
  return member.where, reading.decode(archives.data(member), member.where)


def _members(root: epath.Path) -> dict[str, archives.Member]:
  """Return the archive's files by their path below its folder."""
  return _member_map(str(root), paths.state(root))


@functools.lru_cache(maxsize=1)  # 120,000 names
def _member_map(archive: str, state: paths.State) -> dict[str, archives.Member]:
  del state  # an archive that was replaced is read again
  return {
    member.name.removeprefix(f"{NAME}/"): member
    for member in archives.members(archive)
    if member.name.startswith(f"{NAME}/")
  }

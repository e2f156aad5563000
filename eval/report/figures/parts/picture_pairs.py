"""Pictures of one folder and their stylized versions in another."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds import errors
from robust_tfds.reading import picture_folders, pictures
from robust_tfds.storage import paths

# As the code that the paper used names its output: `<stem>-stylized-<style>`.
_MARK = "-stylized-"
_LONGEST_SIDE = 480  # px of a picture that is drawn


@dataclasses.dataclass(frozen=True)
class Pair:
  """A picture and its stylized version.

  Attributes:
    name: path of the picture, below the first folder.
    clean: its file.
    stylized: the version's file.
  """

  name: str
  clean: epath.Path
  stylized: epath.Path


@dataclasses.dataclass(frozen=True)
class Pairs:
  """The pairs of two folders.

  Attributes:
    listed: pictures with a version, by name.
    clean: how many pictures the first folder has.
  """

  listed: Sequence[Pair]
  clean: int


def find_pairs(clean: epath.Path, stylized: epath.Path) -> Pairs:
  """Pair the pictures at the same places below two folders.

  A version has the picture's name, or `-stylized-<style>` after it; extensions may
  differ. The first of several versions by name is taken.

  Raises:
    UserError: one folder twice, or no picture has a version.
  """
  if paths.resolved(clean) == paths.resolved(stylized):
    raise errors.UserError(
      f"--clean and --stylized name one folder, {clean}: name two."
    )
  ours = _find_stems(clean)
  versions = _versions(_find_stems(stylized))
  listed = [
    Pair(file.relative_to(clean).as_posix(), file, versions[stem])
    for stem, file in sorted(ours.items())
    if stem in versions
  ]
  if not listed:
    raise errors.UserError(
      f"None of the {len(ours):,} pictures of --clean={clean} has a version in"
      f" --stylized={stylized}: expected `NAME.jpg` or"
      f" `NAME{_MARK}STYLE.jpg` for NAME.jpg, in the same folder below."
    )
  return Pairs(listed, len(ours))


def pixels(file: epath.Path) -> tuple[np.ndarray, tuple[int, int]]:
  """Return a picture as drawn, uint8 `[H, W, 3]`, and its full height and width."""
  from PIL import Image

  whole = pictures.picture(file)
  image = Image.fromarray(whole)
  image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
  return np.asarray(image), whole.shape[:2]


def _find_stems(root: epath.Path) -> dict[str, epath.Path]:
  """Return path below a folder, without extension -> picture."""
  walk = picture_folders.Walk(root)
  out = {
    file.relative_to(root).with_suffix("").as_posix(): file
    for file in walk.files()
  }
  if walk.faults:
    raise errors.UserError(walk.faults[0])
  return out


def _versions(files: Mapping[str, epath.Path]) -> dict[str, epath.Path]:
  """Return stem of a picture -> its version."""
  out: dict[str, epath.Path] = {}
  for stem, file in sorted(files.items()):
    name, mark, _ = stem.rpartition(_MARK)
    if mark:
      out.setdefault(name, file)
  return {**out, **files}

"""Frames around anchors in folders, for both natural-video sets.

A set's metadata defines which frames lie near an anchor and how humans judged
them (`imagenet_vid_robust/metadata.py`, `ytbb_robust/metadata.py`). From that
follow, for both sets, which frames exist, where they are, and what a set
contains.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import frames, source
from robust_tfds.building.sources import folders
from robust_tfds.storage import paths

ARCHIVE = "imagenet_vid_ytbb_robust"  # both sets are published in one archive
HOMEPAGE = "https://modestyachts.github.io/natural-perturbations-website"
_LISTED = 3  # missing files that an error names
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Anchor:
  """An anchor and the frames that humans kept near it.

  Attributes:
    path: the anchor's path, which names its set.
    path_at: offset -> path of the frame there, empty for none.
    reviewed: offsets of the frames that humans kept, 0 for the anchor itself.
  """

  path: str
  path_at: Callable[[int], str]
  reviewed: Collection[int]

  def members(
    self,
    labels_of: Callable[[str], tuple[int, ...]],
    pictures: epath.Path | None = None,
  ) -> list[frames.Frame]:
    """Return the anchor and its frames in the order of their offsets, without
    pixels.

    Args:
      labels_of: a frame's path -> its class ids.
      pictures: a folder; its frames within ten are added although the review
        rejected them.
    """
    near = [] if pictures is None else candidates(self.path_at, pictures)
    return [
      frames.Frame(
        example_id=self.path_at(offset),
        group_id=self.path,
        frame=offset,
        labels=labels_of(self.path_at(offset)),
        reviewed=offset in self.reviewed,
      )
      for offset in sorted({0, *self.reviewed, *near})
    ]


def add_pixels(
  frame: frames.Frame, pictures: epath.Path, **facts: Any
) -> frames.Frame:
  """Return a frame that is read from a folder, with further fields."""
  picture, anchor = (
    source.File("", str(pictures / path))
    for path in (frame.example_id, frame.group_id)
  )
  return dataclasses.replace(frame, picture=picture, anchor=anchor, **facts)


def files(
  dl_manager: Any, archives: Sequence[str], instructions: str
) -> folders.SourceFolders:
  """Return the places of a set's files: the manual dir, or an archive in it."""
  roots = folders.extracted(dl_manager, archives, ARCHIVE)
  return folders.SourceFolders(roots, instructions)


def check_files(files: Sequence[str | os.PathLike], advice: str) -> None:
  """Refuse a source with missing frames before anything is written.

  Raises:
    FileNotFoundError: the message names the first ones and their number.
  """
  there = paths.exist(files)
  absent = [os.fspath(p) for p, is_there in zip(files, there) if not is_there]
  if absent:
    more = f" and {len(absent) - _LISTED} more" if len(absent) > _LISTED else ""
    raise FileNotFoundError(
      f"{len(absent)} of {len(files)} frames are missing:"
      f" {', '.join(absent[:_LISTED])}{more}.\n{advice}"
    )


def candidates(path_at: Callable[[int], str], folder: os.PathLike) -> list[int]:
  """Return the offsets within ten at which a frame exists, without 0.

  Args:
    path_at: offset -> the frame's path below `folder`, empty for none.

  Raises:
    FileNotFoundError: a frame is missing between frames that are there.
  """
  offsets = [o for o in range(-frames.K, frames.K + 1) if o and path_at(o)]
  files = [paths.parse(folder) / path_at(o) for o in offsets]
  there = [o for o, is_there in zip(offsets, paths.exist(files)) if is_there]
  for sign in (-1, 1):
    side = {abs(o) for o in there if o * sign > 0}
    holes = set(range(1, max(side, default=0))) - side
    if holes:
      raise FileNotFoundError(
        f"{path_at(sign * min(holes))} is missing between frames that are there."
      )
  return there


def named(source: str, read: Callable[..., _T], *args: Any, **kw: Any) -> _T:
  """Call a reader of metadata; its errors begin with the source."""
  try:
    return read(*args, **kw)
  except errors.UserError as e:
    raise errors.UserError(f"{source}: {e}") from e


def finite(text: str, expected: str) -> float:
  """Parse a finite number.

  Args:
    text: the text in a file.
    expected: the place and the expected content: `a.csv, line 3: a coordinate`.

  Raises:
    UserError: the text is not a finite number.
  """
  try:
    value = float(text)
  except ValueError:
    value = math.nan
  if not math.isfinite(value):
    raise errors.UserError(f"{expected} expected, got {text!r}.")
  return value


def classes(label_map: epath.Path) -> list[dict[str, Any]]:
  """Return a set's classes in the order of their ids: `name`, `members` and so
  on.
  """
  return reading.json_file(label_map)["classes"]

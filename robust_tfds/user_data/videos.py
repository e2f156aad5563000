"""`videos:PATH`: videos of any sizes and lengths, in a folder a class.

Videos are listed as `folder:` lists pictures. An example's id is the path below the
folder. Whole videos are perturbed at their own size, as in the benchmarks, then cut to
clips and cropped by each model's rule. Rotations that a file asks for are applied;
sound is ignored. Frames are counted, not timed: a varying rate is read as its average.
"""

import re
from collections.abc import Sequence
from typing import ClassVar

from robust_tfds import errors
from robust_tfds.building import base, own_set, source
from robust_tfds.building import videos as building
from robust_tfds.reading import picture_folders
from robust_tfds.reading import videos as video_files
from robust_tfds.user_data import folder, labelled


class Videos(folder.Folder):
  """The videos of a folder.

  Attributes:
    groups: see `own_set.Options`.
    group_ids: the group of each file, in the order of `files`; '' without groups.
  """

  kind = "videos"
  noun = "video"
  extensions = video_files.EXTENSIONS
  other = ("folder", picture_folders.EXTENSIONS)
  groups: str = ""
  group_ids: Sequence[str] = ()

  def group_by(self, groups: str) -> None:
    """Group the videos by a regular expression; '' groups none.

    Raises:
      UserError: it does not have exactly one part in brackets, or does not match
        some id.
    """
    ids = [file.name for file in self.files()]
    self.groups, self.group_ids = groups, [""] * len(ids)
    if not groups:
      return
    try:
      pattern = re.compile(groups)
    except (re.error, TypeError) as e:
      raise _no_groups(groups, str(e)) from e
    if pattern.groups != 1:
      raise _no_groups(groups, f"it has {pattern.groups} parts")
    if missed := [i for i in ids if not pattern.search(i)]:
      raise _no_groups(groups, f"it is not found in {missed[0]!r}")
    self.group_ids = [pattern.findall(i)[0] for i in ids]

  def size_of(self, file: source.File) -> tuple[int, int]:
    """Return (height, width) of a video's frames as they are stored."""
    return video_files.size(file.path)

  def file_notes(self, file: source.File) -> Sequence[str]:
    """Return no notes, after opening the header: rotations are applied."""
    with errors.prefixed(file.where), video_files.opened(file.path):
      return ()

  def decode(self, file: source.File) -> None:
    """Decode every frame."""
    with errors.prefixed(file.where):
      for _ in video_files.iterate(file.path):
        pass

  def described(self) -> Sequence[str]:
    """Return the grouping, if there is one: intervals depend on it."""
    return [f"groups\t{self.groups}"] if self.groups else []


def _no_groups(text: str, why: str) -> errors.UserError:
  return errors.UserError(
    f"groups={text!r}: {why}. Expected a regular expression with one part in round"
    " brackets, found in every id (the path below the folder) and naming what the"
    " video was cut from, e.g. '/(.+)_clip'."
  )


class _Videos(
  building.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The builder of whole perturbed videos, which models crop."""

  OWN: ClassVar[Videos]

  def _sources(self, dl_manager: object) -> Sequence[building.Source]:
    del dl_manager
    pairs = zip(self.OWN.files(), self.OWN.group_ids, strict=True)
    return [
      building.Source(file.name, file.label or 0, file, group_id=group)
      for file, group in pairs
    ]


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """Return the builder of a folder's videos; see `Videos`."""
  own = Videos.from_place(place, options)
  own.group_by(options.groups)
  return labelled.subclass(_Videos, own, "videos_p")

"""The published ImageNet-C, ImageNet-P and similar sets: one file per example.

Layout: `<condition>/<wnid>/<name>`, extracted, or inside tar archives as they are.
Archives are read in place, member by member: nothing is unpacked, so no path in an
archive can leave its folder.

  pictures  `<corruption>/<severity>/<wnid>/<name>.JPEG` in the set's own folder of
            the manual dir; in `<folder>.tar` or `.tar.gz` beside it, or in `noise.tar`,
            `blur.tar`, `weather.tar`, `digital.tar`, `extra.tar` (Zenodo record
            2235448) in it
  videos    `<perturbation>[_2|_3]/<wnid>/<name>.mp4` (docs/evidence/specs/imagenet_p.md
            section 3) in the manual dir or the set's own folder there; in any tar
            archive, found by its content, since the authors do not say how theirs
            group the folders
"""

import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from etils import epath

from robust_tfds import conditions, errors
from robust_tfds.building import geometry, movie_feature, pictures
from robust_tfds.building.sources import folders, known_files
from robust_tfds.reading import archives
from robust_tfds.reading import videos as video_files
from robust_tfds.storage import paths

_VIDEO = ".mp4"
# (what messages begin with, wnid, name, the file's bytes)
_File = tuple[str, str, str, bytes]


def find_pictures(
  manual_dir: os.PathLike | str,
  set_folders: Sequence[str],
  condition: conditions.Condition,
  wnids: Sequence[str],
  side_px: int | None,
) -> Iterator[pictures.Row]:
  """Yield the rows of one condition: (the file's name, label, its bytes).

  Args:
    manual_dir: where the user put the files.
    set_folders: names of the set's folders there; the first with the condition
      is used; empty for the manual dir itself.
    condition: the corruption and severity.
    wnids: the classes in label order.
    side_px: side of the square pictures.

  Raises:
    FileNotFoundError: there are none; the message lists the places.
    UserError: a broken archive, a folder that is no class, a broken picture or
      one of another size; the message names it.
  """
  files = _pictures(paths.parse(manual_dir), set_folders, condition)
  layout = "<corruption>/<severity>/<wnid>/<name>.JPEG"
  for where, label, name, data in _labelled(files, wnids, layout, "picture"):
    shape = geometry.decode(data, "whole", where).shape
    if shape != (side_px, side_px, 3):
      raise errors.UserError(
        f"{where}: {side_px} px squares expected, got {shape[0]}x{shape[1]}: it"
        " is of another edition of the set."
      )
    yield name, label, data


def find_videos(
  manual_dir: os.PathLike | str,
  set_folder: str,
  config: str,
  wnids: Sequence[str],
  shape: Sequence[int | None],
) -> Iterator[tuple[str, int, bytes]]:
  """Yield (id, label, bytes) of one condition's videos, sorted by wnid and
  name.

  Args:
    manual_dir: where the user put the files.
    set_folder: name of the set's folder there, which may hold them.
    config: `<perturbation>` or `<perturbation>_2`, `_3`.
    wnids: the classes in label order.
    shape: (frames, height, width, 3) that every video must have.

  Raises:
    FileNotFoundError: there are none; the message lists the places.
    UserError: a folder that is no class.
    video_files.BrokenVideoError: a video that cannot be read or has other frames.
  """
  root = paths.parse(manual_dir)
  files = _videos([root / set_folder, root], config)
  layout = f"<perturbation>/<wnid>/<name>{_VIDEO}"
  labelled = _labelled(files, wnids, layout, "video", _name_of_source)
  for where, label, example_id, data in labelled:
    yield example_id, label, _validated(data, where, shape)


def _name_of_source(video: str) -> str:
  """Return the picture that a video was made from."""
  return f"{video[: -len(_VIDEO)]}.JPEG"


def _labelled(
  files: Iterable[_File],
  wnids: Sequence[str],
  layout: str,
  kind: str,
  id_of: Callable[[str], str] = str,
) -> Iterator[tuple[str, int, str, bytes]]:
  """Yield (beginning of messages, label, id, bytes) of files.

  Raises:
    UserError: a folder that is no class, or two files of one id.
  """
  label_of = {wnid: i for i, wnid in enumerate(wnids)}
  class_of: dict[str, str] = {}
  for where, wnid, name, data in files:
    if wnid not in label_of:
      raise errors.UserError(
        f"{where}: {wnid!r} is not one of the {len(wnids)} classes. Expected"
        f" {layout}."
      )
    example_id = id_of(name)
    if example_id in class_of:
      raise errors.UserError(
        f"{where}: {name!r} is a {kind} of {class_of[example_id]} too; the name"
        " of a file is its id and occurs once in a condition."
      )
    class_of[example_id] = wnid
    yield where, label_of[wnid], example_id, data


def _extracted(
  places: Sequence[epath.Path], is_ours: Callable[[pathlib.PurePath], bool]
) -> list[epath.Path]:
  """Return the files `<wnid>/<name>` of the first place that has any, sorted."""
  for place in places:
    files = [
      place / wnid / name
      for wnid, name in paths.two_deep(place)
      if is_ours(pathlib.PurePath(name))
    ]
    if files:
      return files
  return []


def _read(files: Sequence[epath.Path]) -> Iterator[_File]:
  for path in files:
    yield str(path), path.parent.name, path.name, paths.read_bytes(path)


def _pictures(
  root: epath.Path, names: Sequence[str], condition: conditions.Condition
) -> Iterator[_File]:
  below = f"{condition.name}/{condition.level}"
  places = [root / name / below for name in names]
  files = _extracted(places, lambda name: not folders.is_hidden(name))
  if files:
    yield from _read(files)
    return
  tars = [root / f"{n}{end}" for n in names if n for end in (".tar", ".tar.gz")]
  of_group = known_files.group_tar(condition.name)
  tars += [root / name / of_group for name in names if of_group]
  for tar in tars:
    empty = True
    for file in _pictures_in(tar, below) if tar.exists() else ():
      empty = False
      yield file
    if not empty:
      return
  raise FileNotFoundError(
    f"No published images of {condition.name}, severity {condition.level}."
    f" Looked for {', '.join(map(str, places))} with <wnid>/<name>.JPEG, and for"
    f" such members in {', '.join(map(str, tars))}."
  )


def _pictures_in(archive: epath.Path, below: str) -> Iterator[_File]:
  """Yield the members `[<folder>/]<corruption>/<severity>/<wnid>/<name>`."""

  def belongs(name: str) -> bool:
    *_, corruption, severity, _, last = "", "", "", *name.split("/")
    ours = f"{corruption}/{severity}" == below
    return ours and not folders.is_hidden(pathlib.PurePosixPath(last))

  for member, data in archives.contents(archive, belongs):
    wnid, name = member.name.split("/")[-2:]
    yield member.where, wnid, name, data


def _videos(roots: Sequence[epath.Path], config: str) -> Iterator[_File]:
  files = _extracted([root / config for root in roots], _is_video)
  yield from _read(files) if files else _tar_videos(roots, config)


def _tar_videos(roots: Sequence[epath.Path], config: str) -> Iterator[_File]:
  """Yield the videos of the first archive that holds any."""
  fault: errors.UserError | None = None
  for archive in _tars(roots):
    try:
      members = _videos_in(archive, config)
    except _Empty as e:  # may be of another set
      fault = fault or e.fault
      continue
    for member in members:
      wnid, name = member.name.split("/")[-2:]
      yield member.where, wnid, name, archives.data(member)
    return
  if fault:
    raise fault
  raise FileNotFoundError(
    f"No published videos of {config}. Looked for"
    f" {', '.join(str(r / config) for r in roots)}/<wnid>/*.mp4, and for tar"
    f" archives with such members in {', '.join(map(str, roots))}."
  )


def _tars(roots: Sequence[epath.Path]) -> Iterator[epath.Path]:
  for root in roots:
    names = (pathlib.PurePath(name) for name in paths.names(root))
    yield from (root / n for n in names if n.match("*.tar"))


class _Empty(Exception):
  """An error for an archive without videos of a condition."""

  def __init__(self, fault: errors.UserError | None = None):
    super().__init__()
    self.fault = fault


def _videos_in(archive: epath.Path, config: str) -> list[archives.Member]:
  """Return an archive's videos of a condition, by wnid and name.

  Raises:
    UserError: it has some and is incomplete.
    _Empty: it has none.
  """

  def belongs(name: str) -> bool:
    *_, perturbation, _, _ = "", "", *name.split("/")
    return perturbation == config and _is_video(pathlib.PurePosixPath(name))

  members = []
  try:
    for member in archives.members(archive, belongs):
      members.append(member)
  except errors.UserError as e:
    if not members:
      raise _Empty(e) from e
    raise
  if not members:
    raise _Empty()
  return sorted(members, key=lambda m: m.name.split("/")[-2:])


def _is_video(path: pathlib.PurePath) -> bool:
  return path.suffix.lower() == _VIDEO and not folders.is_hidden(path)


def _validated(data: bytes, where: str, shape: Sequence[int | None]) -> bytes:
  try:
    got = video_files.decode(data).shape
  except video_files.BrokenVideoError as e:
    raise video_files.BrokenVideoError(f"{where}: {e}") from e
  movie_feature.check(got, shape, where)
  return data

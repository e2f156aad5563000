"""The published ImageNet-P and its like: one MP4 file a sequence.

Layout, in the manual dir or a folder of the set's own name there:
`<perturbation>[_2|_3]/<wnid>/<name>.mp4` (docs/specs/imagenet_p.md section 3),
extracted, or inside tar archives as they are. Archives are found by their
content, since the authors do not say how theirs group the folders; members are
read at their offsets, nothing is unpacked.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Sequence

from etils import epath

from robust_tfds import errors
from robust_tfds.building import movie_feature
from robust_tfds.building.sources import folders
from robust_tfds.reading import archives
from robust_tfds.reading import videos as video_files
from robust_tfds.storage import paths

_ENDING = ".mp4"
# (what messages begin with, wnid, name, the file's bytes)
_File = tuple[str, str, str, bytes]


def find(
  manual_dir: os.PathLike | str,
  set_folder: str,
  config: str,
  wnids: Sequence[str],
  shape: Sequence[int | None],
) -> Iterator[tuple[str, int, bytes]]:
  """(id, label, bytes) of one condition's videos, sorted by wnid and name.

  Args:
    manual_dir: where the user put the files.
    set_folder: name of the set's folder there, which may hold them.
    config: `<perturbation>` or `<perturbation>_2`, `_3`.
    wnids: the classes in label order.
    shape: (frames, height, width, 3) that every video must have.

  Raises:
    FileNotFoundError: there are none; says where was looked.
    UserError: a folder that is no class.
    video_files.BrokenVideoError: a video that cannot be read or has other frames.
  """
  label_of = {wnid: i for i, wnid in enumerate(wnids)}
  root = paths.of(manual_dir)
  roots = [root / set_folder, root]
  ids: dict[str, str] = {}
  for where, wnid, name, data in _files(roots, config):
    if wnid not in label_of:
      raise errors.UserError(
        f"{where}: {wnid!r} is not one of the {len(wnids)} classes. Expected"
        " <perturbation>/<wnid>/<name>.mp4."
      )
    example_id = f"{name[: -len(_ENDING)]}.JPEG"  # the source's name
    if example_id in ids:
      raise errors.UserError(
        f"{where}: {name!r} is a video of {ids[example_id]} too; the name of a"
        " file is its id and occurs once in a condition."
      )
    ids[example_id] = wnid
    yield example_id, label_of[wnid], _validated(data, where, shape)


def _files(roots: Sequence[epath.Path], config: str) -> Iterator[_File]:
  for root in roots:
    place = root / config
    files = [
      place / wnid / name
      for wnid, name in paths.two_deep(place)
      if _is_video(pathlib.PurePath(name))
    ]
    if files:
      yield from (
        (str(p), p.parent.name, p.name, paths.read_bytes(p)) for p in files
      )
      return
  yield from _in_archives(roots, config)


def _in_archives(roots: Sequence[epath.Path], config: str) -> Iterator[_File]:
  """The videos of the first archive that holds any."""
  fault: errors.UserError | None = None
  for archive in _tars(roots):
    try:
      members = _members(archive, config)
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
  """An archive without videos of a condition, and what else is wrong with it."""

  def __init__(self, fault: errors.UserError | None = None):
    super().__init__()
    self.fault = fault


def _members(archive: epath.Path, config: str) -> list[archives.Member]:
  """An archive's videos of a condition, by wnid and name.

  Raises:
    UserError: it has some and is not whole.
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
  return path.suffix.lower() == _ENDING and not folders.is_hidden(path)


def _validated(data: bytes, where: str, shape: Sequence[int | None]) -> bytes:
  try:
    got = video_files.decode(data).shape
  except video_files.BrokenVideoError as e:
    raise video_files.BrokenVideoError(f"{where}: {e}") from e
  movie_feature.check(got, shape, where)
  return data

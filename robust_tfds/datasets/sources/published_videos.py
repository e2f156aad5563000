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
import tarfile
from collections.abc import Iterator
from collections.abc import Sequence

from robust_tfds import errors
from robust_tfds import movies
from robust_tfds.datasets import movie_feature


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
    movies.BrokenVideoError: a video that cannot be read or has other frames.
  """
  label_of = {wnid: i for i, wnid in enumerate(wnids)}
  root = pathlib.Path(os.fspath(manual_dir))
  roots = [root / set_folder, root]
  for wnid, name, data in _files(roots, config):
    if wnid not in label_of:
      raise errors.UserError(
        f"{config}/{wnid}/{name}: {wnid!r} is not one of the"
        f" {len(wnids)} classes. Expected <perturbation>/<wnid>/<name>.mp4."
      )
    example_id = name.removesuffix(".mp4") + ".JPEG"  # the source's name
    yield example_id, label_of[wnid], _validated(data, name, shape)


def _files(
  roots: Sequence[pathlib.Path], config: str
) -> Iterator[tuple[str, str, bytes]]:
  for root in roots:
    files = sorted((root / config).glob("*/*.mp4"))
    if files:
      yield from ((p.parent.name, p.name, p.read_bytes()) for p in files)
      return
  for root in roots:
    for archive in sorted(root.glob("*.tar")):
      members = _members(archive, config)
      if members:
        with open(archive, "rb") as f:
          for wnid, name, member in members:
            f.seek(member.offset_data)
            yield wnid, name, f.read(member.size)
        return
  raise FileNotFoundError(
    f"No published videos of {config}. Looked for"
    f" {', '.join(str(r / config) for r in roots)}/<wnid>/*.mp4, and for tar"
    f" archives with such members in {', '.join(map(str, roots))}."
  )


def _members(
  archive: pathlib.Path, config: str
) -> list[tuple[str, str, tarfile.TarInfo]]:
  try:
    with tarfile.open(archive) as tar:
      members = tar.getmembers()
  except tarfile.TarError as e:
    raise errors.UserError(
      f"{archive} is not a whole tar archive ({e}); download it again."
    ) from e
  out = []
  for member in members:
    parts = pathlib.PurePosixPath(member.name).parts
    if member.isfile() and len(parts) >= 3 and parts[-3] == config:
      if parts[-1].endswith(".mp4"):
        out.append((parts[-2], parts[-1], member))
  return sorted(out, key=lambda row: row[:2])


def _validated(data: bytes, name: str, shape: Sequence[int | None]) -> bytes:
  try:
    got = movies.decode(data).shape
  except movies.BrokenVideoError as e:
    raise movies.BrokenVideoError(f"{name}: {e}") from e
  movie_feature.check(got, shape, name)
  return data

"""Labels and anchor sets of ImageNet-Vid-Robust, and ILSVRC-VID's boxes.

Facts: docs/evidence/specs/video.md section 4. `pmsets.json` maps an anchor's path to
those of its similar frames, `labels.json` a frame's path to its class ids;
paths are `val/<video>/<frame>.JPEG`.
"""

import functools
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import frames
from robust_tfds.building.sources import anchor_sets, folders, stream
from robust_tfds.storage import paths

ARCHIVES = (
  f"{anchor_sets.ARCHIVE}.tar.gz",
  f"{anchor_sets.ARCHIVE}.tar",
  "imagenet-vid-robust.tar.gz",
)
_METADATA = (
  f"{anchor_sets.ARCHIVE}/imagenet-vid-robust/metadata",
  "imagenet-vid-robust/metadata",
  "metadata",
  ".",
)
_FRAMES = (
  f"{anchor_sets.ARCHIVE}/imagenet-vid-robust",
  "imagenet-vid-robust",
  "ILSVRC/Data/VID",
  "ILSVRC2017_VID/ILSVRC/Data/VID",
  "ILSVRC2015/Data/VID",
  "Data/VID",
  ".",
)
_ILSVRC = ("ILSVRC", "ILSVRC2017_VID/ILSVRC", "ILSVRC2015", ".")
_PMSETS, _LABELS = "pmsets.json", "labels.json"
_Labels = dict[str, list[int]]
_PATH = re.compile(r"(val/[^/]+)/(\d+)\.JPEG")

INSTRUCTIONS = f"""\
ImageNet-Vid-Robust in the manual dir, as one of:
  {ARCHIVES[0]} of https://modestyachts.github.io/natural-perturbations-website,
    as it is or extracted (imagenet_vid_ytbb_robust/imagenet-vid-robust/val/...,
    .../metadata/pmsets.json and labels.json);
  the frames of ILSVRC VID 2017 (ILSVRC/Data/VID/val/<video>/<frame>.JPEG) with
    pmsets.json and labels.json in a folder metadata.
Optional: ILSVRC/Annotations/VID/val gives boxes (and the labels of frames before
the review), ILSVRC/Data/VID/snippets/val/<video>.mp4 frame types and rates."""


def anchor_frames(
  pmsets: Mapping[str, Sequence[str]],
  labels: Mapping[str, Sequence[int]],
  *,
  pictures: epath.Path | None = None,
  other_labels: Callable[[str], Sequence[int]] | None = None,
) -> list[frames.Frame]:
  """List the frames of all sets, in the order of the metadata, without pixels.

  Args:
    pmsets: anchor's path -> paths of its reviewed similar frames.
    labels: frame's path -> class ids, 0-29.
    pictures: add the frames that are in this folder within ten of an anchor,
      though the review refused them.
    other_labels: class ids of frames that `labels` lacks.

  Raises:
    UserError: a path of another form, a frame of another video or farther than
      ten from its anchor, no label, an unknown label; names the frame.
  """
  labels_of = functools.partial(
    _labels_of, labels=labels, other_labels=other_labels
  )
  return [
    frame
    for path, near in pmsets.items()
    for frame in _anchor(path, near).members(labels_of, pictures)
  ]


def _anchor(anchor: str, near: Sequence[str]) -> anchor_sets.Anchor:
  video, number, digits = _parse(anchor)
  at = {0: anchor}
  for path in near:
    other, n, _ = _parse(path)
    if n - number in at and n != number:
      raise errors.UserError(f"{path} is twice in the set of {anchor}.")
    if other != video or not 0 < abs(n - number) <= frames.K:
      raise errors.UserError(
        f"{path} cannot be in the set of {anchor}: expected another frame of"
        f" that video, at most {frames.K} away."
      )
    at[n - number] = path

  def path_at(offset: int) -> str:
    return at.get(offset) or _frame_path(video, number, digits, offset)

  return anchor_sets.Anchor(anchor, path_at, at.keys())


def reviewed(files: folders.SourceFolders) -> list[frames.Frame]:
  """List the reviewed sets without pixels: the metadata is all that is needed.

  Raises:
    FileNotFoundError: no metadata.
    UserError: as `anchor_frames`.
  """
  source, sets, labels = _sets_and_labels(files)
  return anchor_sets.named(source, anchor_frames, sets, labels)


def _sets_and_labels(
  files: folders.SourceFolders,
) -> tuple[str, dict[str, list[str]], dict[str, list[int]]]:
  """Read (source as messages name it, sets of frames, labels)."""
  pmsets, labels = (files.file(n, _METADATA) for n in (_PMSETS, _LABELS))
  sets = _json(pmsets, dict[str, list[str]])
  if not sets:
    raise errors.UserError(f"{pmsets}: no anchor, expected sets of frames.")
  return f"{pmsets} with {labels.name}", sets, _json(labels, _Labels)


def _json(path: epath.Path, kind: Any) -> Any:
  """Read a file of metadata and check it against a type."""
  return reading.records(
    reading.json_text(folders.text(path), str(path)), kind, str(path)
  )


def load(
  files: folders.SourceFolders, include_unreviewed: bool
) -> list[frames.Frame]:
  """List the frames with their files, boxes, types and rates.

  Raises:
    FileNotFoundError: no metadata, no frames, or some frames missing.
    UserError: as `anchor_frames`, or a broken annotation.
  """
  source, sets, known = _sets_and_labels(files)
  more = files.optional_file("big_labels.json", _METADATA)
  if more:
    known = {**_json(more, _Labels), **known}
  pictures = files.folder([f"{f}/val" for f in _FRAMES]).parent
  annotations, snippets = (
    files.optional_folder([f"{root}/{name}" for root in _ILSVRC])
    for name in ("Annotations/VID", "Data/VID/snippets")
  )

  def annotated(path: str) -> Sequence[int]:
    if annotations is None:
      return ()
    return sorted({b.label for b in boxes(annotations, path)})

  listed = anchor_sets.named(
    source,
    anchor_frames,
    sets,
    known,
    pictures=pictures if include_unreviewed else None,
    other_labels=annotated,
  )
  anchor_sets.check_files(
    [pictures / f.example_id for f in listed], INSTRUCTIONS
  )
  return [_filled(f, pictures, annotations, snippets) for f in listed]


def _filled(
  frame: frames.Frame,
  pictures: epath.Path,
  annotations: epath.Path | None,
  snippets: epath.Path | None,
) -> frames.Frame:
  kind, fps = "", 0.0
  if snippets:
    video, number, _ = _parse(frame.example_id)
    movie = snippets / f"{video}.mp4"
    if movie.exists():
      kinds, fps = _facts(str(movie))
      kind = kinds[number] if number < len(kinds) else ""
  return anchor_sets.add_pixels(
    frame,
    pictures,
    boxes=boxes(annotations, frame.example_id) if annotations else (),
    frame_type=kind,
    fps=fps,
  )


@functools.lru_cache(maxsize=4)
def _facts(path: str) -> tuple[str, float]:
  return stream.facts(path)


def boxes(annotations: epath.Path, path: str) -> tuple[frames.Box, ...]:
  """Read a frame's objects from its ILSVRC-VID XML; none without a file.

  Boxes are clipped to the frame. Raises UserError for broken XML, an unknown
  wnid or a box without area.
  """
  file = annotations / pathlib.PurePosixPath(path).with_suffix(".xml")
  if not file.exists():
    return ()
  tree = reading.xml_text(paths.read_bytes(file), str(file))
  w, h = (_number(tree, f"size/{s}", file) for s in ("width", "height"))
  if w <= 0 or h <= 0:
    raise errors.UserError(f"{file}: size: {w} x {h} px is no frame.")
  return tuple(_box(entry, w, h, file) for entry in tree.findall("object"))


def _box(entry: Any, w: float, h: float, file: epath.Path) -> frames.Box:
  wnid = _text(entry, "name", file)
  if wnid not in _index_of():
    raise errors.UserError(f"{file}: {wnid!r} is not one of the 30 wnids.")
  sides = {
    s: _number(entry, f"bndbox/{s}", file)
    for s in ("ymin", "xmin", "ymax", "xmax")
  }
  scaled = {
    s: min(max(v / (h if s[0] == "y" else w), 0.0), 1.0)
    for s, v in sides.items()
  }
  if scaled["ymax"] <= scaled["ymin"] or scaled["xmax"] <= scaled["xmin"]:
    raise errors.UserError(f"{file}: the box {sides} has no area in the frame.")
  return frames.Box(_index_of()[wnid], **scaled)


def _number(node: Any, path: str, file: epath.Path) -> float:
  return anchor_sets.finite(
    _text(node, path, file), f"{file}: {path}: a number"
  )


def _text(node: Any, path: str, file: epath.Path) -> str:
  text = node.findtext(path)
  if text is None:
    raise errors.UserError(
      f"{file}: no {path}; it is no annotation of ILSVRC VID."
    )
  return text.strip()


@functools.cache
def classes() -> list[dict[str, Any]]:
  """Return the 30 classes in the order of their ids: `name`, `wnid`, `members`."""
  return anchor_sets.classes(pathlib.Path(__file__).with_name("label_map.json"))


@functools.cache
def _index_of() -> dict[str, int]:
  return {c["wnid"]: i for i, c in enumerate(classes())}


def _parse(path: str) -> tuple[str, int, int]:
  """Parse a frame's path: (video, frame number, its digits)."""
  parts = _PATH.fullmatch(path)
  if not parts:
    raise errors.UserError(
      f"{path!r} is not of the form val/<video>/<frame>.JPEG, as metadata of"
      " ImageNet-Vid-Robust is."
    )
  return parts[1], int(parts[2]), len(parts[2])


def _frame_path(video: str, number: int, digits: int, offset: int) -> str:
  """Return the path of the frame at an offset; empty before the video's first."""
  n = number + offset
  return f"{video}/{n:0{digits}d}.JPEG" if n >= 0 else ""


def _labels_of(
  path: str,
  labels: Mapping[str, Sequence[int]],
  other_labels: Callable[[str], Sequence[int]] | None,
) -> tuple[int, ...]:
  ids = labels.get(path)
  if ids is None and other_labels is not None:
    ids = other_labels(path)
  if not ids:
    raise errors.UserError(
      f"{path} has no label: neither labels.json nor big_labels.json nor an"
      " annotation names its class."
    )
  wrong = [c for c in ids if not 0 <= c < len(classes())]
  if wrong:
    raise errors.UserError(
      f"{path}: unknown label {wrong[0]}; classes are 0..{len(classes()) - 1}."
    )
  return tuple(ids)

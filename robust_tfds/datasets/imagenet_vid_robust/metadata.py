"""Labels and anchor sets of ImageNet-Vid-Robust, and ILSVRC-VID's boxes.

Facts: docs/specs/video.md section 4. `pmsets.json` maps an anchor's path to
those of its similar frames, `labels.json` a frame's path to its class ids;
paths are `val/<video>/<frame>.JPEG`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import re
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from robust_tfds.datasets import frame_sets
from robust_tfds.datasets import source_folders
from robust_tfds.datasets.imagenet_vid_robust import stream

ARCHIVES = (
  "imagenet_vid_ytbb_robust.tar.gz",
  "imagenet_vid_ytbb_robust.tar",
  "imagenet-vid-robust.tar.gz",
)
_METADATA = (
  "imagenet_vid_ytbb_robust/imagenet-vid-robust/metadata",
  "imagenet-vid-robust/metadata",
  "metadata",
  ".",
)
_FRAMES = (
  "imagenet_vid_ytbb_robust/imagenet-vid-robust",
  "imagenet-vid-robust",
  "ILSVRC/Data/VID",
  "ILSVRC2017_VID/ILSVRC/Data/VID",
  "ILSVRC2015/Data/VID",
  "Data/VID",
  ".",
)
_ILSVRC = ("ILSVRC", "ILSVRC2017_VID/ILSVRC", "ILSVRC2015", ".")
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


def anchor_sets(
  pmsets: Mapping[str, Sequence[str]],
  labels: Mapping[str, Sequence[int]],
  *,
  pictures: pathlib.Path | None = None,
  other_labels: Callable[[str], Sequence[int]] | None = None,
) -> list[frame_sets.Frame]:
  """Frames of all sets, in the order of the metadata, without pixels.

  Args:
    pmsets: anchor's path -> paths of its reviewed similar frames.
    labels: frame's path -> class ids, 0-29.
    pictures: add the frames that are in this folder within ten of an anchor,
      though the review refused them.
    other_labels: class ids of frames that `labels` lacks.

  Raises:
    ValueError: a path of another form, a frame of another video or farther than
      ten from its anchor, no label, an unknown label; names the frame.
  """
  out = []
  for anchor, near in pmsets.items():
    video, number, digits = _parse(anchor)
    kept = {0: anchor}
    for path in near:
      other, n, _ = _parse(path)
      if other != video or not 0 < abs(n - number) <= frame_sets.K:
        raise ValueError(
          f"{path} cannot be in the set of {anchor}: expected another frame of"
          f" that video, at most {frame_sets.K} away."
        )
      kept[n - number] = path
    found = dict(kept)
    if pictures is not None:
      at = functools.partial(_at, video, number, digits)
      found |= {o: at(o) for o in frame_sets.candidates(at, pictures)}
    for offset, path in sorted(found.items()):
      out.append(
        frame_sets.Frame(
          example_id=path,
          group_id=anchor,
          frame=offset,
          labels=_labels_of(path, labels, other_labels),
          read=frame_sets.no_pixels,
          reviewed=offset in kept,
        )
      )
  return out


def reviewed(files: source_folders.SourceFolders) -> list[frame_sets.Frame]:
  """The reviewed sets without pixels: the metadata is all that is needed.

  Raises:
    FileNotFoundError: no metadata.
    ValueError: as `anchor_sets`.
  """
  return anchor_sets(*_sets_and_labels(files))


def _sets_and_labels(files: source_folders.SourceFolders) -> tuple[dict, dict]:
  names = "pmsets.json", "labels.json"
  pmsets, labels = (json.loads(files.text(n, _METADATA)) for n in names)
  return pmsets, labels


def load(
  files: source_folders.SourceFolders, everything: bool
) -> list[frame_sets.Frame]:
  """Frames with their files, boxes, types and rates.

  Raises:
    FileNotFoundError: no metadata, no frames, or some frames missing.
    ValueError: as `anchor_sets`, or a broken annotation.
  """
  pmsets, labels = _sets_and_labels(files)
  more = files.text("big_labels.json", _METADATA, optional=True)
  known = {**(json.loads(more) if more else {}), **labels}
  pictures = files.folder([f"{f}/val" for f in _FRAMES]).parent
  annotations, snippets = (
    files.optional_folder([f"{root}/{name}" for root in _ILSVRC])
    for name in ("Annotations/VID", "Data/VID/snippets")
  )

  def annotated(path: str) -> Sequence[int]:
    if annotations is None:
      return ()
    return sorted({b.label for b in boxes(annotations, path)})

  frames = anchor_sets(
    pmsets,
    known,
    pictures=pictures if everything else None,
    other_labels=annotated,
  )
  frame_sets.check_files(
    [pictures / f.example_id for f in frames], INSTRUCTIONS
  )
  return [_filled(f, pictures, annotations, snippets) for f in frames]


def _filled(frame, pictures, annotations, snippets) -> frame_sets.Frame:
  kind, fps = "", 0.0
  if snippets:
    video, number, _ = _parse(frame.example_id)
    movie = snippets / f"{video}.mp4"
    if movie.exists():
      kinds, fps = _facts(str(movie))
      kind = kinds[number] if number < len(kinds) else ""
  return dataclasses.replace(
    frame,
    read=functools.partial(
      frame_sets.read_file, str(pictures / frame.example_id)
    ),
    read_anchor=functools.partial(
      frame_sets.read_file, str(pictures / frame.group_id)
    ),
    boxes=boxes(annotations, frame.example_id) if annotations else (),
    frame_type=kind,
    fps=fps,
  )


@functools.lru_cache(maxsize=4)
def _facts(path: str) -> tuple[str, float]:
  return stream.facts(path)


def boxes(annotations: pathlib.Path, path: str) -> tuple[frame_sets.Box, ...]:
  """Objects of a frame from its ILSVRC-VID XML; none without a file.

  Boxes are clipped to the frame. Raises ValueError for broken XML, an unknown
  wnid or a box without area.
  """
  file = annotations / pathlib.Path(path).with_suffix(".xml")
  if not file.exists():
    return ()
  try:
    tree = ElementTree.parse(file).getroot()
    w, h = (float(_text(tree, f"size/{s}")) for s in ("width", "height"))
    return tuple(_box(entry, w, h, file) for entry in tree.findall("object"))
  except (ElementTree.ParseError, TypeError) as e:
    raise ValueError(f"{file} is no annotation of ILSVRC VID ({e}).") from e


def _box(entry: Any, w: float, h: float, file: pathlib.Path) -> frame_sets.Box:
  wnid = _text(entry, "name")
  if wnid not in _index_of():
    raise ValueError(f"{file}: {wnid!r} is not one of the 30 wnids.")
  sides = {
    s: float(_text(entry, f"bndbox/{s}"))
    for s in ("ymin", "xmin", "ymax", "xmax")
  }
  scaled = {
    s: min(max(v / (h if s[0] == "y" else w), 0.0), 1.0)
    for s, v in sides.items()
  }
  if scaled["ymax"] <= scaled["ymin"] or scaled["xmax"] <= scaled["xmin"]:
    raise ValueError(f"{file}: the box {sides} has no area in the frame.")
  return frame_sets.Box(_index_of()[wnid], **scaled)


def _text(node: Any, path: str) -> str:
  found = node.findtext(path)
  if found is None:
    raise TypeError(f"no {path}")
  return found


@functools.cache
def classes() -> list[dict]:
  """The 30 classes in the order of their ids: `name`, `wnid`, `members`."""
  path = pathlib.Path(__file__).with_name("label_map.json")
  return json.loads(path.read_text("utf-8"))["classes"]


@functools.cache
def _index_of() -> dict[str, int]:
  return {c["wnid"]: i for i, c in enumerate(classes())}


def _parse(path: str) -> tuple[str, int, int]:
  """(video, frame number, its digits)."""
  found = _PATH.fullmatch(path)
  if not found:
    raise ValueError(
      f"{path!r} is not of the form val/<video>/<frame>.JPEG, as metadata of"
      " ImageNet-Vid-Robust is."
    )
  return found[1], int(found[2]), len(found[2])


def _at(video: str, number: int, digits: int, offset: int) -> str:
  """Path of the frame at an offset; empty before the video's first."""
  n = number + offset
  return f"{video}/{n:0{digits}d}.JPEG" if n >= 0 else ""


def _labels_of(path, labels, other_labels) -> tuple[int, ...]:
  found = labels.get(path)
  if found is None and other_labels is not None:
    found = other_labels(path)
  if not found:
    raise ValueError(
      f"{path} has no label: neither labels.json nor big_labels.json nor an"
      " annotation names its class."
    )
  wrong = [c for c in found if not 0 <= c < len(classes())]
  if wrong:
    raise ValueError(
      f"{path}: unknown label {wrong[0]}; classes are 0..{len(classes()) - 1}."
    )
  return tuple(found)

"""Anchors, labels and reviewed pairs of YTBB-Robust.

Facts: docs/specs/video.md section 4. `anchor_labels.json` says which anchors
humans found good and what they show, `pmk_labels.json` which pairs they found
similar; the last annotation of a key counts. A frame's labels are its ANCHOR's.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
import pathlib
import re
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from robust_tfds.datasets import frame_sets
from robust_tfds.datasets import source_folders

ARCHIVES = ("imagenet_vid_ytbb_robust.tar.gz", "imagenet_vid_ytbb_robust.tar")
_FRAMES = (
  "imagenet_vid_ytbb_robust/ytbb-robust/ytbb_videos",
  "ytbb-robust/ytbb_videos",
  "ytbb_videos",
)
_METADATA = (
  "imagenet_vid_ytbb_robust/ytbb-robust/metadata",
  "imagenet_vid_ytbb_robust/ytbb-robust",
  "ytbb-robust/metadata",
  "ytbb-robust",
  "metadata",
  ".",
)
_ANCHORS = "anchor_labels.json"
_PAIRS = "pmk_labels.json"
_ORIGINAL = "ytbb_robustness_test_anchors_full.csv"
_BOXES = "yt_bb_detection_validation.csv"
_BAD_PAIR = (
  "dissimilar",
  "incorrect",
  "problematic",
  "dont know",
  "deformation",
  "background-change",
  "occlusion-increased",
  "blur-increase",
  "bad-anchor",
)
_SWAPPED = {22: 23, 23: 22}  # the csv's 22 is car, the index's is none
_KEY = re.compile(r"(?P<ytid>.+)_(?P<ms>\d+)/frame-(?P<number>\d+)\.jpg")

INSTRUCTIONS = f"""\
YTBB-Robust in the manual dir:
  {ARCHIVES[0]} of https://modestyachts.github.io/natural-perturbations-website,
    as it is or extracted
    (imagenet_vid_ytbb_robust/ytbb-robust/ytbb_videos/<ytid>_<ms>/frame-<n>.jpg);
  {_ANCHORS}, {_PAIRS} and {_ORIGINAL} of the authors' testbed
    (modestyachts/imagenet-testbed, ytbb-robust_metadata), in a folder metadata.
Without {_PAIRS} only the config `all` can be built. Optional: YouTube-BB's
{_BOXES} gives the anchors' boxes."""


@dataclasses.dataclass(frozen=True)
class Anchor:
  """One anchor as annotated.

  Attributes:
    key: `<ytid>_<ms>/frame-<n>.jpg`.
    labels: class ids, sorted: those ticked and YouTube-BB's own.
    good: humans kept it.
  """

  key: str
  labels: tuple[int, ...]
  good: bool

  def neighbour(self, offset: int) -> str:
    """Path of the frame at an offset, at the video's own rate."""
    found = _parse(self.key)
    number = int(found["number"]) + offset
    return f"{found['ytid']}_{found['ms']}/frame-{number}.jpg"


def anchors(
  annotated: Mapping[str, Any], original: Iterable[Sequence[str]]
) -> list[Anchor]:
  """The anchors in the order of their annotation.

  Args:
    annotated: `anchor_labels.json`.
    original: rows (ytid, ms, class id) of YouTube-BB's own labels.

  Raises:
    ValueError: a key of another form, an unknown label name or class id.
  """
  known = [c["name"] for c in classes()]
  own = {}
  for ytid, ms, label in original:
    index = int(label)
    if not 0 <= index < len(known):
      raise ValueError(f"{ytid}, {ms} ms: unknown label {label}.")
    own[ytid, int(ms)] = _SWAPPED.get(index, index)
  out = {}
  for entry in annotated["annotations"]:
    key = "/".join(entry["key"].split("/")[-2:])
    found = _parse(key)
    ticked = {annotated["labels"][i] for i in entry["labels"]}
    marks = ticked & {"good", "bad", "unsure"}
    strange = ticked - marks - set(known)
    if strange:
      raise ValueError(f"{key}: unknown label {sorted(strange)[0]!r}.")
    labels = {known.index(name) for name in ticked - marks}
    origin = own.get((found["ytid"], int(found["ms"])))
    labels |= set() if origin is None else {origin}
    out[key] = Anchor(key, tuple(sorted(labels)), marks == {"good"})
  return list(out.values())


def reviewed_offsets(
  listed: Sequence[Anchor], pairs: Mapping[str, Any]
) -> dict[str, list[int]]:
  """Kept anchor's key -> offsets of its reviewed similar frames.

  Args:
    listed: all anchors.
    pairs: `pmk_labels.json`, keyed `anchor,frame`; keys are compared as they
      are, so one with an absolute path never fits (as in the authors' code).

  Returns:
    Good anchors that no pair calls a bad anchor; offsets may be none.
  """
  names = pairs["labels"]
  verdict = {
    e["key"]: {names[i] for i in e["labels"]} for e in pairs["annotations"]
  }
  out: dict[str, list[int]] = {}
  for anchor in listed:
    if not anchor.good:
      continue
    said = {
      o: verdict.get(f"{anchor.key},{anchor.neighbour(o)}", set())
      for o in range(-frame_sets.K, frame_sets.K + 1)
      if o
    }
    if any("bad-anchor" in s for s in said.values()):
      continue
    out[anchor.key] = [
      o
      for o, s in said.items()
      if "similar" in s and not s.intersection(_BAD_PAIR)
    ]
  return out


def reviewed(files: source_folders.SourceFolders) -> list[frame_sets.Frame]:
  """The reviewed sets without pixels: the metadata is all that is needed.

  Raises:
    FileNotFoundError: no metadata.
    ValueError: as `anchors`.
  """
  listed, kept = _annotated(files, optional=False)
  return [
    frame_sets.Frame(
      example_id=anchor.neighbour(o),
      group_id=anchor.key,
      frame=o,
      labels=anchor.labels,
      read=frame_sets.no_pixels,
    )
    for anchor in listed
    if anchor.key in kept
    for o in sorted({0, *kept[anchor.key]})
  ]


def _annotated(
  files: source_folders.SourceFolders, optional: bool
) -> tuple[list[Anchor], dict[str, list[int]]]:
  """All anchors, and the offsets of the kept ones; none without pairs."""
  listed = anchors(
    json.loads(files.text(_ANCHORS, _METADATA)), _rows(files, _ORIGINAL)[1:]
  )
  pairs = files.text(_PAIRS, _METADATA, optional=optional)
  return listed, reviewed_offsets(listed, json.loads(pairs)) if pairs else {}


def load(
  files: source_folders.SourceFolders, everything: bool
) -> list[frame_sets.Frame]:
  """Frames with their files, and the anchors' boxes where the csv is there.

  Raises:
    FileNotFoundError: no metadata, no frames, or some frames missing.
    ValueError: as `anchors`.
  """
  listed, kept = _annotated(files, optional=everything)
  pictures = files.folder(_FRAMES)
  boxes = _boxes(_rows(files, _BOXES, optional=True))
  out = []
  for anchor in listed:
    if everything or anchor.key in kept:
      out += _set(anchor, kept, pictures, boxes, everything)
  frame_sets.check_files([pictures / f.example_id for f in out], INSTRUCTIONS)
  return out


def _set(anchor, kept, pictures, boxes, everything) -> list[frame_sets.Frame]:
  offsets = set(kept.get(anchor.key, ()))
  if everything:
    offsets |= {*frame_sets.candidates(anchor.neighbour, pictures)}
  found = _parse(anchor.key)
  own = boxes.get((found["ytid"], int(found["ms"])), ())
  return [
    frame_sets.Frame(
      example_id=anchor.neighbour(o),
      group_id=anchor.key,
      frame=o,
      labels=anchor.labels,
      read=functools.partial(
        frame_sets.read_file, str(pictures / anchor.neighbour(o))
      ),
      read_anchor=functools.partial(
        frame_sets.read_file, str(pictures / anchor.key)
      ),
      reviewed=anchor.key in kept and (o == 0 or o in kept[anchor.key]),
      boxes=own if o == 0 else (),
    )
    for o in sorted({0, *offsets})
  ]


def _boxes(rows: Iterable[Sequence[str]]) -> dict[tuple[str, int], tuple]:
  """(ytid, ms) -> boxes; the csv has xmin, xmax, ymin, ymax and no header."""
  index = {c["name"]: i for i, c in enumerate(classes())}
  out: dict = {}
  for row in rows:
    ytid, ms, name, presence = row[0], int(row[1]), row[3], row[5]
    if presence != "present":
      continue
    xmin, xmax, ymin, ymax = (min(max(float(v), 0.0), 1.0) for v in row[6:10])
    if xmax > xmin and ymax > ymin and name in index:
      box = frame_sets.Box(index[name], ymin, xmin, ymax, xmax)
      out[ytid, ms] = (*out.get((ytid, ms), ()), box)
  return out


@functools.cache
def classes() -> list[dict]:
  """The 24 classes in the order of their ids: `name`, `members`."""
  path = pathlib.Path(__file__).with_name("label_map.json")
  return json.loads(path.read_text("utf-8"))["classes"]


def _parse(key: str) -> re.Match:
  found = _KEY.fullmatch(key)
  if not found:
    raise ValueError(f"{key!r} is not of the form <ytid>_<ms>/frame-<n>.jpg.")
  return found


def _rows(files, name: str, optional: bool = False) -> list[list[str]]:
  text = files.text(name, _METADATA, optional=optional)
  return list(csv.reader(io.StringIO(text)))

"""Anchors, labels and reviewed pairs of YTBB-Robust.

Facts: docs/evidence/specs/video.md section 4. `anchor_labels.json` says which anchors
humans found good and what they show, `pmk_labels.json` which pairs they found
similar; the last annotation of a key counts. A frame's labels are its ANCHOR's.
"""

import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etils import epath
from typing_extensions import TypedDict

from robust_tfds import errors, reading
from robust_tfds.building import frames
from robust_tfds.building.sources import anchor_sets, folders

ARCHIVES = (f"{anchor_sets.ARCHIVE}.tar.gz", f"{anchor_sets.ARCHIVE}.tar")
_FRAMES = (
  f"{anchor_sets.ARCHIVE}/ytbb-robust/ytbb_videos",
  "ytbb-robust/ytbb_videos",
  "ytbb_videos",
)
_METADATA = (
  f"{anchor_sets.ARCHIVE}/ytbb-robust/metadata",
  f"{anchor_sets.ARCHIVE}/ytbb-robust",
  "ytbb-robust/metadata",
  "ytbb-robust",
  "metadata",
  ".",
)
_ANCHORS = "anchor_labels.json"
_PAIRS = "pmk_labels.json"
_ORIGINAL = "ytbb_robustness_test_anchors_full.csv"
_BOXES = "yt_bb_detection_validation.csv"
_COLUMNS = ("ytid", "time_ms", "label")
_BOX_COLUMNS = 10
_PRESENCES = ("present", "absent", "uncertain")
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
SWAPPED = {22: 23, 23: 22}  # the csv's 22 is car, the index's is none
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


class Annotation(TypedDict):
  """The labels that reviewers ticked for an anchor or a pair."""

  key: str
  labels: list[int]


class Annotations(TypedDict):
  """`anchor_labels.json` or `pmk_labels.json`."""

  labels: list[str]
  annotations: list[Annotation]


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
    """Return the path of the frame at an offset, at the video's own rate."""
    parts = _parse(self.key)
    number = int(parts["number"]) + offset
    return f"{parts['ytid']}_{parts['ms']}/frame-{number}.jpg"

  @property
  def moment(self) -> tuple[str, int]:
    """(YouTube's id, milliseconds) of the anchor."""
    parts = _parse(self.key)
    return parts["ytid"], int(parts["ms"])


def anchors(
  annotated: Annotations, original: Iterable[Sequence[str]]
) -> list[Anchor]:
  """List the anchors in the order of their annotation.

  Args:
    annotated: `anchor_labels.json`.
    original: rows (ytid, ms, class id) of YouTube-BB's own labels.

  Raises:
    UserError: a key of another form, an unknown label name or class id, a label
      that the list of labels does not have.
  """
  known = [c["name"] for c in classes()]
  labels_at = _original_labels(original, len(known))
  out = {}
  for entry in annotated["annotations"]:
    key = "/".join(entry["key"].split("/")[-2:])
    _parse(key)
    ticked = _ticked(annotated, entry)
    verdict = ticked & {"good", "bad", "unsure"}
    unknown = ticked - verdict - set(known)
    if unknown:
      raise errors.UserError(f"{key}: unknown label {sorted(unknown)[0]!r}.")
    labels = {known.index(name) for name in ticked - verdict}
    anchor = Anchor(key, (), verdict == {"good"})
    labels |= labels_at.get(anchor.moment, set())
    out[key] = dataclasses.replace(anchor, labels=tuple(sorted(labels)))
  return list(out.values())


def _ticked(annotated: Annotations, entry: Annotation) -> set[str]:
  """Return the class names that an annotation ticks by their index."""
  names = annotated["labels"]
  for index in entry["labels"]:
    if not 0 <= index < len(names):
      raise errors.UserError(
        f"{entry['key']}: label {index} of {len(names)}; they are numbered"
        f" 0..{len(names) - 1}."
      )
  return {names[index] for index in entry["labels"]}


def _original_labels(
  rows: Iterable[Sequence[str]], num_classes: int
) -> dict[tuple[str, int], set[int]]:
  """Return (ytid, ms) -> YouTube-BB's own label."""
  labels = {}
  for ytid, ms, label in rows:
    moment = _integer(ms, f"{ytid}: time_ms")
    index = _integer(label, f"{ytid}, {ms} ms: label")
    if not 0 <= index < num_classes:
      raise errors.UserError(f"{ytid}, {ms} ms: unknown label {label}.")
    labels[ytid, moment] = {SWAPPED.get(index, index)}
  return labels


def _integer(text: str, what: str) -> int:
  if not (text.isascii() and text.isdigit()):
    raise errors.UserError(f"{what}: a whole number expected, got {text!r}.")
  return int(text)


def reviewed_offsets(
  anchors: Sequence[Anchor], pairs: Annotations
) -> dict[str, list[int]]:
  """Return the key of a kept anchor -> offsets of its reviewed similar frames.

  Args:
    anchors: all anchors.
    pairs: `pmk_labels.json`, keyed `anchor,frame`; keys are compared as they
      are, so one with an absolute path never fits (as in the authors' code).

  Returns:
    Good anchors that no pair calls a bad anchor; offsets may be none.
  """
  verdict = {e["key"]: _ticked(pairs, e) for e in pairs["annotations"]}
  out: dict[str, list[int]] = {}
  for anchor in anchors:
    if not anchor.good:
      continue
    verdicts = {
      o: verdict.get(f"{anchor.key},{anchor.neighbour(o)}", set())
      for o in range(-frames.K, frames.K + 1)
      if o
    }
    if any("bad-anchor" in s for s in verdicts.values()):
      continue
    out[anchor.key] = [
      o
      for o, s in verdicts.items()
      if "similar" in s and not s.intersection(_BAD_PAIR)
    ]
  return out


def reviewed(files: folders.SourceFolders) -> list[frames.Frame]:
  """List the reviewed sets without pixels: the metadata is all that is needed.

  Raises:
    FileNotFoundError: no metadata.
    UserError: as `anchors`.
  """
  listed, offsets = _annotated(files, optional=False)
  return [
    frame
    for anchor in listed
    if anchor.key in offsets
    for frame in _frames(anchor, offsets)
  ]


def _frames(
  anchor: Anchor,
  offsets: Mapping[str, Sequence[int]],
  pictures: epath.Path | None = None,
) -> list[frames.Frame]:
  """List an anchor's frames, each with the anchor's labels."""
  near = {0, *offsets[anchor.key]} if anchor.key in offsets else set()
  anchor_set = anchor_sets.Anchor(anchor.key, anchor.neighbour, near)
  return anchor_set.members(lambda path: anchor.labels, pictures)


def _annotated(
  files: folders.SourceFolders, optional: bool
) -> tuple[list[Anchor], dict[str, list[int]]]:
  """Return all anchors, and `reviewed_offsets`, which are none without pairs."""
  original = files.file(_ORIGINAL, _METADATA)
  rows = _rows(original, len(_COLUMNS))
  if not rows or tuple(rows[0]) != _COLUMNS:
    raise errors.UserError(
      f"{original}: line 1: the header {','.join(_COLUMNS)} expected, got"
      f" {','.join(rows[0]) if rows else 'nothing'}."
    )
  path = files.file(_ANCHORS, _METADATA)
  labels = _json(path)
  listed = anchor_sets.named(
    f"{path} or {original.name}", anchors, labels, rows[1:]
  )
  find = files.optional_file if optional else files.file
  pairs = find(_PAIRS, _METADATA)
  if pairs is None:
    return listed, {}
  return listed, anchor_sets.named(
    str(pairs), reviewed_offsets, listed, _json(pairs)
  )


def _json(path: epath.Path) -> Annotations:
  content = reading.json_text(folders.text(path), str(path))
  annotated = reading.records(content, Annotations, str(path))
  names = annotated["labels"]
  twice = sorted({name for name in names if names.count(name) > 1})
  if twice:
    raise errors.UserError(f"{path}: labels: {twice[0]!r} is there twice.")
  return annotated


def load(
  files: folders.SourceFolders, include_unreviewed: bool
) -> list[frames.Frame]:
  """List the frames with their files, and the anchors' boxes if the csv is there.

  Raises:
    FileNotFoundError: no metadata, no frames, or some frames missing.
    UserError: as `anchors`.
  """
  listed, offsets = _annotated(files, optional=include_unreviewed)
  pictures = files.folder(_FRAMES)
  table = files.optional_file(_BOXES, _METADATA)
  boxes = _boxes(table) if table else {}
  out = []
  for anchor in listed:
    if include_unreviewed or anchor.key in offsets:
      at_anchor = boxes.get(anchor.moment, ())
      out += [
        anchor_sets.add_pixels(
          frame, pictures, boxes=at_anchor if frame.is_anchor else ()
        )
        for frame in _frames(
          anchor, offsets, pictures if include_unreviewed else None
        )
      ]
  anchor_sets.check_files([pictures / f.example_id for f in out], INSTRUCTIONS)
  return out


def _boxes(
  path: epath.Path,
) -> dict[tuple[str, int], tuple[frames.Box, ...]]:
  """Read (ytid, ms) -> boxes; the csv has xmin, xmax, ymin, ymax and no header."""
  index = {c["name"]: i for i, c in enumerate(classes())}
  out: dict[tuple[str, int], tuple[frames.Box, ...]] = {}
  for line, row in enumerate(_rows(path, _BOX_COLUMNS), 1):
    where = f"{path}, line {line}"
    ytid, ms = row[0], _integer(row[1], f"{where}: timestamp_ms")
    name, presence = row[3], row[5]
    if presence not in _PRESENCES:
      raise errors.UserError(
        f"{where}: object_presence: one of {', '.join(_PRESENCES)} expected, got"
        f" {presence!r}."
      )
    if presence != _PRESENCES[0]:
      continue
    xmin, xmax, ymin, ymax = (_side(text, where) for text in row[6:10])
    if xmax > xmin and ymax > ymin and name in index:
      box = frames.Box(index[name], ymin, xmin, ymax, xmax)
      out[ytid, ms] = (*out.get((ytid, ms), ()), box)
  return out


def _side(text: str, where: str) -> float:
  """Parse a coordinate, a fraction, and clip it to the frame."""
  value = anchor_sets.finite(text, f"{where}: a coordinate")
  return min(max(value, 0.0), 1.0)


@functools.cache
def classes() -> list[dict[str, Any]]:
  """Return the 24 classes in the order of their ids: `name`, `members`."""
  return anchor_sets.classes(pathlib.Path(__file__).with_name("label_map.json"))


def _parse(key: str) -> re.Match[str]:
  parts = _KEY.fullmatch(key)
  if not parts:
    raise errors.UserError(
      f"{key!r} is not of the form <ytid>_<ms>/frame-<n>.jpg."
    )
  return parts


def _rows(path: epath.Path, columns: int) -> list[list[str]]:
  """Read the rows of a table; refuse another number of columns."""
  rows = []
  for line, row in reading.csv_text(folders.text(path), str(path)):
    if len(row) != columns:
      raise errors.UserError(
        f"{path}, line {line}: {columns} columns expected, got {len(row)}."
      )
    rows.append(row)
  return rows

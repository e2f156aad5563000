"""Kinetics-400, Something-Something v2, UCF101-DS: tables that name videos."""

from __future__ import annotations

import csv
import functools
import json
import os
import pathlib
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from robust_tfds import errors
from robust_tfds.datasets import videos
from robust_tfds.datasets.sources import split_lists
from robust_tfds.datasets.sources import video_lists

_KINETICS = ("kinetics400/val", "val", "validate")
_KINETICS_LISTS = ("kinetics400/validate.csv", "validate.csv", "val.csv")
_KINETICS_COLUMNS = ("label", "youtube_id", "time_start", "time_end")
KINETICS400_INSTRUCTIONS = f"""\
Kinetics-400 in the manual dir: its list as one of
{", ".join(_KINETICS_LISTS)} (columns
{", ".join(_KINETICS_COLUMNS)}, split), and its videos in one of
{", ".join(_KINETICS)}, as
<youtube_id>_<start, six digits>_<end, six digits>.mp4, flat or in folders by label.
Videos that are no longer to be had may be missing; at least one must be there."""

_SSV2 = "20bn-something-something-v2"
_SSV2_LABELS = ("something-something-v2-labels.json", "labels/labels.json")
_SSV2_LISTS = (
  "something-something-v2-validation.json",
  "labels/validation.json",
)
_BRACKETS = {ord("["): None, ord("]"): None}
SSV2_INSTRUCTIONS = f"""\
Something-Something v2 (Qualcomm; registration) in the manual dir: the videos as
{_SSV2}/<id>.webm, the labels as {" or ".join(_SSV2_LABELS)}, the validation list as
{" or ".join(_SSV2_LISTS)}."""

_UCF101_DS, _UCF101_DS_LIST = "UCF101-DS", "ucf101-DS_eval.csv"
_UCF101_DS_COLUMNS = ("label", "filename", "shift", "category")
_EXTENSIONS = (".mp4", ".avi", ".mkv", ".mov", ".webm")
# Labels spelt otherwise than in UCF101's classInd.txt (docs/specs/video.md
# section 3).
_SPELLINGS = {
  "BilliardsShot": "Billiards",
  "BasketballShooting": "Basketball",
  "CleanandJerk": "CleanAndJerk",
  "Breaststroke": "BreastStroke",
}
UCF101_DS_INSTRUCTIONS = f"""\
UCF101-DS (https://www.crcv.ucf.edu/research/projects/ucf101-ds) in the manual dir:
the clips as {_UCF101_DS}/<label>/<file>, the annotation as {_UCF101_DS_LIST}
there or beside it (columns label, filename, video_id, shift, category), and UCF101's
ucfTrainTestlist/classInd.txt, whose labels the classes follow."""


def kinetics400(manual_dir: os.PathLike | str) -> list[videos.Source]:
  """The listed validation videos that are there, in the list's order.

  Labels follow the alphabetical order of the list's class names.

  Raises:
    FileNotFoundError: no list, or none of its videos.
    UserError: a list without the columns, or a broken row.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  return video_lists.sources(
    _kinetics400(root), KINETICS400_INSTRUCTIONS, partial=True
  )


def ssv2(manual_dir: os.PathLike | str) -> list[videos.Source]:
  """The validation videos, in the list's order.

  A video's class is its template without the square brackets.

  Raises:
    FileNotFoundError: a file or a listed video is not there.
    UserError: a broken list, or a template that is no class.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  return video_lists.sources(_ssv2(root), SSV2_INSTRUCTIONS)


def ucf101_ds(manual_dir: os.PathLike | str) -> list[videos.Source]:
  """The annotated clips, in the annotation's order.

  Raises:
    FileNotFoundError: the annotation, classInd.txt or a listed clip is absent.
    UserError: a missing column, an unknown class or kind of file, a clip listed
      twice, or a shift of another category than the paper's.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  return video_lists.sources(_ucf101_ds(root), UCF101_DS_INSTRUCTIONS)


@functools.cache
def category_of() -> dict[str, str]:
  """Shift of UCF101-DS -> category: Table 8 of the paper."""
  path = pathlib.Path(__file__).with_name("ucf101_ds_categories.json")
  table = json.loads(path.read_text("utf-8"))["categories"]
  return {shift: name for name, shifts in table.items() for shift in shifts}


def _kinetics400(root: pathlib.Path) -> Iterator[video_lists.Entry]:
  path = video_lists.first_file(root, _KINETICS_LISTS, KINETICS400_INSTRUCTIONS)
  rows = [
    (where, row)
    for where, row in _rows(path, _KINETICS_COLUMNS)
    if (row.get("split") or "val") in ("val", "validate")
  ]
  for where, row in rows:
    _check_kinetics400(where, row)
  names = sorted({row["label"] for _, row in rows})
  label_of = {name: label for label, name in enumerate(names)}
  for where, row in rows:
    file = (
      f"{row['youtube_id']}_{int(row['time_start']):06d}"
      f"_{int(row['time_end']):06d}.mp4"
    )
    places = [
      place
      for folder in _KINETICS
      for place in (root / folder / file, root / folder / row["label"] / file)
    ]
    yield video_lists.Entry(where, file, label_of[row["label"]], places)


def _check_kinetics400(where: str, row: dict[str, str]) -> None:
  if not (row["time_start"].isdigit() and row["time_end"].isdigit()):
    raise errors.UserError(
      f"{where}: whole seconds expected, got {row['time_start']!r} and"
      f" {row['time_end']!r}."
    )
  if not row["label"] or "/" in row["youtube_id"] + row["label"]:
    raise errors.UserError(f"{where}: no label, or a broken id.")


def _ssv2(root: pathlib.Path) -> Iterator[video_lists.Entry]:
  labels = _json(root, _SSV2_LABELS, dict)
  for number, row in enumerate(_json(root, _SSV2_LISTS, list)):
    template = str(row.get("template", "")).translate(_BRACKETS)
    where = f"Entry {number} of the validation list"
    if template not in labels or not str(row.get("id", "")).isdigit():
      raise errors.UserError(
        f"{where}: a numeric id and a template of the labels expected, got"
        f" {row!r}."
      )
    file = f"{row['id']}.webm"
    place = root / _SSV2 / file
    yield video_lists.Entry(where, file, int(labels[template]), [place])


def _ucf101_ds(root: pathlib.Path) -> Iterator[video_lists.Entry]:
  labels = split_lists.ucf101_classes(root)
  places = (_UCF101_DS_LIST, f"{_UCF101_DS}/{_UCF101_DS_LIST}")
  path = video_lists.first_file(root, places, UCF101_DS_INSTRUCTIONS)
  for where, row in _rows(path, _UCF101_DS_COLUMNS):
    name = _SPELLINGS.get(row["label"], row["label"])
    file = pathlib.PurePath(row["filename"]).name
    if name not in labels:
      raise errors.UserError(
        f"{where}: {row['label']!r} is no class of UCF101."
      )
    if not file.lower().endswith(_EXTENSIONS):
      raise errors.UserError(
        f"{where}: {row['filename']!r} is none of {', '.join(_EXTENSIONS)}."
      )
    yield video_lists.Entry(
      where,
      f"{row['label']}/{file}",
      labels[name],
      [root / _UCF101_DS / row["label"] / file],
      {"shift": row["shift"], "category": _category(where, row)},
    )


def _category(where: str, row: dict[str, str]) -> str:
  category = category_of().get(row["shift"], row["category"])
  if row["category"] and row["category"].lower() != category.lower():
    raise errors.UserError(
      f"{where}: shift {row['shift']!r} is of category {category!r} in the"
      f" paper's Table 8, not {row['category']!r}."
    )
  return category


def _rows(
  path: pathlib.Path, columns: Sequence[str]
) -> list[tuple[str, dict[str, str]]]:
  """(place for errors, row) of a csv that has at least these columns."""
  with path.open(newline="", encoding="utf-8") as f:
    reader = csv.DictReader(f)
    missing = [c for c in columns if c not in (reader.fieldnames or ())]
    if missing:
      raise errors.UserError(
        f"{path} lacks the columns {', '.join(missing)}; it has"
        f" {reader.fieldnames}."
      )
    return [
      (f"{path.name}, line {number}", row)
      for number, row in enumerate(reader, 2)
    ]


def _json(root: pathlib.Path, names: Sequence[str], kind: type) -> Any:
  path = video_lists.first_file(root, names, SSV2_INSTRUCTIONS)
  try:
    content = json.loads(path.read_text("utf-8"))
  except json.JSONDecodeError as e:
    raise errors.UserError(f"{path} is no JSON text ({e}).") from e
  if not isinstance(content, kind):
    raise errors.UserError(f"{path}: a {kind.__name__} expected.")
  return content

"""Kinetics-400, Something-Something v2, UCF101-DS: tables that name videos."""

import functools
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from etils import epath
from typing_extensions import TypedDict

from robust_tfds import errors, reading
from robust_tfds.building import videos
from robust_tfds.building.sources import class_lists, split_lists, video_lists
from robust_tfds.reading import videos as video_files
from robust_tfds.storage import paths

VALIDATION, TRAIN = "validation", "train"
# Part -> folders of videos, lists, and what lists call it.
_KINETICS = {
  VALIDATION: (
    ("kinetics400/val", "val", "validate"),
    ("kinetics400/validate.csv", "validate.csv", "val.csv"),
    ("val", "validate"),
  ),
  TRAIN: (
    ("kinetics400/train", "train"),
    ("kinetics400/train.csv", "train.csv"),
    ("train",),
  ),
}
_KINETICS_COLUMNS = ("label", "youtube_id", "time_start", "time_end")
_KINETICS_LAYOUT = f"""\
Kinetics-400 in the manual dir: its list as one of
{{lists}} (columns
{", ".join(_KINETICS_COLUMNS)}, split), and its videos in one of
{{folders}}, as
<youtube_id>_<start, six digits>_<end, six digits>.mp4, flat or in folders by label.
Videos that are no longer to be had may be missing; at least one must be there."""
KINETICS400_INSTRUCTIONS, KINETICS400_TRAIN_INSTRUCTIONS = (
  _KINETICS_LAYOUT.format(lists=", ".join(lists), folders=", ".join(places))
  for places, lists, _ in _KINETICS.values()
)

_SSV2 = "20bn-something-something-v2"
_SSV2_LABELS = ("something-something-v2-labels.json", "labels/labels.json")
_SSV2_CLASSES = 174
_BRACKETS = {ord("["): None, ord("]"): None}
_SSV2_LAYOUT = f"""\
Something-Something v2 (Qualcomm; registration) in the manual dir: the videos as
{_SSV2}/<id>.webm, the labels as {" or ".join(_SSV2_LABELS)}, the {{part}} list as
something-something-v2-{{part}}.json or labels/{{part}}.json."""
SSV2_INSTRUCTIONS = _SSV2_LAYOUT.format(part=VALIDATION)
SSV2_TRAIN_INSTRUCTIONS = _SSV2_LAYOUT.format(part=TRAIN)

_UCF101_DS, _UCF101_DS_LIST = "UCF101-DS", "ucf101-DS_eval.csv"
_UCF101_DS_COLUMNS = ("label", "filename", "video_id", "shift", "category")
# Labels spelt otherwise than in UCF101's classInd.txt (docs/evidence/specs/video.md
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


def kinetics400(
  manual_dir: os.PathLike | str, part: str = VALIDATION
) -> list[videos.Source]:
  """Return the listed videos of a part that are present, in the list's order.

  Labels follow the alphabetical order of all 400 classes, whichever are listed.

  Raises:
    FileNotFoundError: no list, or none of its videos.
    UserError: a list without the columns, a broken row, or a class that
      Kinetics-400 does not have.
  """
  root = paths.parse(manual_dir)
  return video_lists.sources(
    _kinetics400(root, part), _kinetics400_layout(part), partial=True
  )


def ssv2(
  manual_dir: os.PathLike | str, part: str = VALIDATION
) -> list[videos.Source]:
  """Return the videos of a part, in the list's order.

  A video's class is its template without the square brackets.

  Raises:
    FileNotFoundError: a file or a listed video is missing.
    UserError: a broken list, labels that are not the 174 classes, or a template
      that is no class.
  """
  root = paths.parse(manual_dir)
  layout = _SSV2_LAYOUT.format(part=part)
  return video_lists.sources(_ssv2(root, part), layout)


def ucf101_ds(manual_dir: os.PathLike | str) -> list[videos.Source]:
  """Return the annotated clips, in the annotation's order.

  Raises:
    FileNotFoundError: the annotation, classInd.txt or a listed clip is missing.
    UserError: a missing column, an unknown class or kind of file, a clip listed
      twice, or a shift whose category differs from the paper's.
  """
  root = paths.parse(manual_dir)
  return video_lists.sources(_ucf101_ds(root), UCF101_DS_INSTRUCTIONS)


@functools.cache
def category_of() -> dict[str, str]:
  """Return the category of each shift of UCF101-DS (Table 8 of the paper)."""
  path = pathlib.Path(__file__).with_name("ucf101_ds_categories.json")
  table = reading.json_file(path)["categories"]
  return {shift: name for name, shifts in table.items() for shift in shifts}


def _kinetics400_layout(part: str) -> str:
  if part == TRAIN:
    return KINETICS400_TRAIN_INSTRUCTIONS
  return KINETICS400_INSTRUCTIONS


def _kinetics400(root: epath.Path, part: str) -> Iterator[video_lists.Entry]:
  folders, lists, called = _KINETICS[part]
  path = video_lists.first_file(root, lists, _kinetics400_layout(part))
  label_of = class_lists.packaged(class_lists.KINETICS400)
  for where, row in _rows(path, _KINETICS_COLUMNS):
    if (row.get("split") or called[0]) not in called:
      continue
    _check_kinetics400(where, row)
    if row["label"] not in label_of:
      raise errors.unknown_error(
        f"class of Kinetics-400 ({where})", row["label"], label_of
      )
    file = (
      f"{row['youtube_id']}_{int(row['time_start']):06d}"
      f"_{int(row['time_end']):06d}.mp4"
    )
    places = [
      place
      for folder in folders
      for place in (root / folder / file, root / folder / row["label"] / file)
    ]
    yield video_lists.Entry(where, file, label_of[row["label"]], places)


def _check_kinetics400(where: str, row: dict[str, str]) -> None:
  times = row["time_start"] + row["time_end"]
  if not (
    times.isascii()
    and row["time_start"].isdigit()
    and row["time_end"].isdigit()
  ):
    raise errors.UserError(
      f"{where}: whole seconds expected, got {row['time_start']!r} and"
      f" {row['time_end']!r}."
    )
  if not row["youtube_id"] or "/" in row["youtube_id"]:
    raise errors.UserError(
      f"{where}: a YouTube id expected, got {row['youtube_id']!r}."
    )


class _Row(TypedDict):
  """The used fields of an entry of Something-Something's list."""

  id: str
  template: str


def _ssv2(root: epath.Path, part: str) -> Iterator[video_lists.Entry]:
  label_of = _ssv2_labels(root)
  lists = (f"something-something-v2-{part}.json", f"labels/{part}.json")
  layout = _SSV2_LAYOUT.format(part=part)
  path = video_lists.first_file(root, lists, layout)
  rows = reading.records(reading.json_file(path), list[_Row], str(path))
  for number, row in enumerate(rows):
    template = row["template"].translate(_BRACKETS)
    where = f"{path}: entry {number}"
    if template not in label_of:
      raise errors.UserError(
        f"{where}: template: {row['template']!r} is none of the"
        f" {len(label_of)} classes."
      )
    if not (row["id"].isascii() and row["id"].isdigit()):
      raise errors.UserError(
        f"{where}: id: a number expected, got {row['id']!r}."
      )
    file = f"{row['id']}.webm"
    place = root / _SSV2 / file
    yield video_lists.Entry(where, file, label_of[template], [place])


def _ssv2_labels(root: epath.Path) -> dict[str, int]:
  """Return template without brackets -> label."""
  path = video_lists.first_file(root, _SSV2_LABELS, SSV2_INSTRUCTIONS)
  table = reading.records(reading.json_file(path), dict[str, Any], str(path))
  entries = []
  for name, index in table.items():
    text = str(index)
    if not (text.isascii() and text.isdigit()):
      raise errors.UserError(
        f"{path}: {name}: the number of a class expected, got {index!r}."
      )
    entries.append(class_lists.Entry(f"{path}: {name}", name, int(text)))
  return class_lists.labels(entries, str(path), _SSV2_CLASSES)


def _ucf101_ds(root: epath.Path) -> Iterator[video_lists.Entry]:
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
    if pathlib.PurePath(file).suffix.lower() not in video_files.EXTENSIONS:
      raise errors.UserError(
        f"{where}: {row['filename']!r} is none of"
        f" {', '.join(sorted(video_files.EXTENSIONS))}."
      )
    yield video_lists.Entry(
      where,
      f"{row['label']}/{file}",
      labels[name],
      [root / _UCF101_DS / row["label"] / file],
      {"shift": row["shift"], "category": _category(where, row)},
      # Whether ids are of a label's videos or of all: both are told apart so.
      group_id=f"{row['label']}/{row['video_id']}" if row["video_id"] else "",
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
  path: epath.Path, columns: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
  """Yield (place for errors, row) of a CSV file that has at least these
  columns.
  """
  for number, row in reading.csv_file(path, columns):
    yield f"{path}, line {number}", row

"""Where UCF101-DS's clips and their annotation lie."""

from __future__ import annotations

import csv
import functools
import json
import os
import pathlib

from robust_tfds.datasets import perturbed_videos
from robust_tfds.datasets.ucf101_p import sources as ucf101

_VIDEOS, _LIST = "UCF101-DS", "ucf101-DS_eval.csv"
_COLUMNS = ("label", "filename", "shift", "category")
_EXTENSIONS = (".mp4", ".avi", ".mkv", ".mov", ".webm")
# Labels spelt otherwise than in UCF101's classInd.txt (docs/specs/video.md
# section 3).
_SPELLINGS = {
  "BilliardsShot": "Billiards",
  "BasketballShooting": "Basketball",
  "CleanandJerk": "CleanAndJerk",
  "Breaststroke": "BreastStroke",
}
INSTRUCTIONS = f"""\
UCF101-DS (https://www.crcv.ucf.edu/research/projects/ucf101-ds) in the manual dir:
the clips as {_VIDEOS}/<label>/<file>, the annotation as {_LIST} there or beside it
(columns label, filename, video_id, shift, category), and UCF101's
ucfTrainTestlist/classInd.txt, whose labels the classes follow."""


@functools.cache
def category_of() -> dict[str, str]:
  """Shift -> category: Table 8 of the paper."""
  path = pathlib.Path(__file__).with_name("categories.json")
  table = json.loads(path.read_text("utf-8"))["categories"]
  return {shift: name for name, shifts in table.items() for shift in shifts}


def videos(manual_dir: os.PathLike | str) -> list[perturbed_videos.Source]:
  """The annotated clips, in the annotation's order.

  Raises:
    FileNotFoundError: the annotation, classInd.txt or a listed clip is absent.
    ValueError: a missing column, an unknown class or kind of file, a clip listed
      twice, or a shift of another category than the paper's.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  labels = ucf101.classes(root)
  listed: dict[str, pathlib.Path] = {}
  found = []
  for number, row in enumerate(_rows(root), 2):
    name = _SPELLINGS.get(row["label"], row["label"])
    file = pathlib.PurePath(row["filename"]).name
    where = f"{_LIST}, line {number}"
    if name not in labels:
      raise ValueError(f"{where}: {row['label']!r} is no class of UCF101.")
    if not file.lower().endswith(_EXTENSIONS):
      raise ValueError(
        f"{where}: {row['filename']!r} is none of {', '.join(_EXTENSIONS)}."
      )
    category = category_of().get(row["shift"], row["category"])
    if row["category"] and row["category"].lower() != category.lower():
      raise ValueError(
        f"{where}: shift {row['shift']!r} is of category {category!r} in the"
        f" paper's Table 8, not {row['category']!r}."
      )
    example_id = f"{row['label']}/{file}"
    if example_id in listed:
      raise ValueError(f"{where}: {example_id!r} is listed twice.")
    listed[example_id] = root / _VIDEOS / row["label"] / file
    found.append(
      perturbed_videos.of_file(
        listed[example_id],
        example_id,
        labels[name],
        shift=row["shift"],
        category=category,
      )
    )
  perturbed_videos.check_present(listed, INSTRUCTIONS)
  return found


def _rows(root: pathlib.Path) -> list[dict[str, str]]:
  places = (root / _LIST, root / _VIDEOS / _LIST)
  path = next((p for p in places if p.exists()), None)
  if path is None:
    raise FileNotFoundError(f"No {_LIST} in {root}.\n{INSTRUCTIONS}")
  with path.open(newline="", encoding="utf-8") as f:
    reader = csv.DictReader(f)
    missing = [c for c in _COLUMNS if c not in (reader.fieldnames or ())]
    if missing:
      raise ValueError(f"{path} lacks the columns {', '.join(missing)}.")
    return list(reader)

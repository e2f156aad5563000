"""Where Kinetics-400's validation videos and their list lie."""

from __future__ import annotations

import csv
import os
import pathlib

from robust_tfds.datasets import perturbed_videos

_LISTS = ("kinetics400/validate.csv", "validate.csv", "val.csv")
_FOLDERS = ("kinetics400/val", "val", "validate")
_COLUMNS = ("label", "youtube_id", "time_start", "time_end")
INSTRUCTIONS = f"""\
Kinetics-400 in the manual dir: its list as one of {", ".join(_LISTS)} (columns
{", ".join(_COLUMNS)}, split), and its videos in one of {", ".join(_FOLDERS)}, as
<youtube_id>_<start, six digits>_<end, six digits>.mp4, flat or in folders by label.
Videos that are no longer to be had may be missing; at least one must be there."""


def videos(manual_dir: os.PathLike | str) -> list[perturbed_videos.Source]:
  """The listed validation videos that are there, in the list's order.

  Labels follow the alphabetical order of the list's class names.

  Raises:
    FileNotFoundError: no list, or none of its videos.
    ValueError: a list without the columns, or a broken row.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  path = next((root / p for p in _LISTS if (root / p).exists()), None)
  if path is None:
    raise FileNotFoundError(f"No list of videos in {root}.\n{INSTRUCTIONS}")
  rows = _rows(path)
  label_of = {n: i for i, n in enumerate(sorted({r["label"] for r in rows}))}
  found = []
  for row in rows:
    name = (
      f"{row['youtube_id']}_{int(row['time_start']):06d}"
      f"_{int(row['time_end']):06d}.mp4"
    )
    for folder in _FOLDERS:
      for place in (root / folder / name, root / folder / row["label"] / name):
        if place.is_file():
          found.append(
            perturbed_videos.of_file(place, name, label_of[row["label"]])
          )
          break
  if not found:
    raise FileNotFoundError(
      f"None of the {len(rows)} videos of {path} is in {root}.\n{INSTRUCTIONS}"
    )
  return found


def _rows(path: pathlib.Path) -> list[dict[str, str]]:
  with path.open(newline="", encoding="utf-8") as f:
    reader = csv.DictReader(f)
    missing = [c for c in _COLUMNS if c not in (reader.fieldnames or ())]
    if missing:
      raise ValueError(
        f"{path} lacks the columns {', '.join(missing)}; it has"
        f" {reader.fieldnames}."
      )
    rows = [
      r for r in reader if r.get("split", "val") in ("val", "validate", "")
    ]
  for number, row in enumerate(rows, 2):
    if not (row["time_start"].isdigit() and row["time_end"].isdigit()):
      raise ValueError(
        f"{path}, line {number}: whole seconds expected, got"
        f" {row['time_start']!r} and {row['time_end']!r}."
      )
    if not row["label"] or "/" in row["youtube_id"] + row["label"]:
      raise ValueError(f"{path}, line {number}: no label, or a broken id.")
  return rows

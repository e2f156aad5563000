"""Where Something-Something v2's validation videos and their labels lie."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from robust_tfds.datasets import perturbed_videos

_VIDEOS = "20bn-something-something-v2"
_LABELS = ("something-something-v2-labels.json", "labels/labels.json")
_LISTS = ("something-something-v2-validation.json", "labels/validation.json")
INSTRUCTIONS = f"""\
Something-Something v2 (Qualcomm; registration) in the manual dir: the videos as
{_VIDEOS}/<id>.webm, the labels as {" or ".join(_LABELS)}, the validation list as
{" or ".join(_LISTS)}."""


def videos(manual_dir: os.PathLike | str) -> list[perturbed_videos.Source]:
  """The validation videos, in the list's order.

  A video's class is its template without the square brackets.

  Raises:
    FileNotFoundError: a file or a listed video is not there.
    ValueError: a broken list, or a template that is no class.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  labels = _read(root, _LABELS, dict)
  listed: dict[str, pathlib.Path] = {}
  found = []
  for number, entry in enumerate(_read(root, _LISTS, list)):
    template = str(entry.get("template", "")).translate(_BRACKETS)
    if template not in labels or not str(entry.get("id", "")).isdigit():
      raise ValueError(
        f"Entry {number} of the validation list: a numeric id and a template of"
        f" the labels expected, got {entry!r}."
      )
    name = f"{entry['id']}.webm"
    listed[name] = root / _VIDEOS / name
    found.append(
      perturbed_videos.of_file(listed[name], name, int(labels[template]))
    )
  perturbed_videos.check_present(listed, INSTRUCTIONS)
  return found


_BRACKETS = {ord("["): None, ord("]"): None}


def _read(root: pathlib.Path, names: tuple[str, ...], kind: type) -> Any:
  path = next((root / n for n in names if (root / n).exists()), None)
  if path is None:
    raise FileNotFoundError(
      f"None of {', '.join(names)} is in {root}.\n{INSTRUCTIONS}"
    )
  try:
    found = json.loads(path.read_text("utf-8"))
  except json.JSONDecodeError as e:
    raise ValueError(f"{path} is no JSON text ({e}).") from e
  if not isinstance(found, kind):
    raise ValueError(f"{path}: a {kind.__name__} expected.")
  return found

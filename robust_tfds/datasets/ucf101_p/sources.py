"""Where UCF101's videos and its split lie."""

from __future__ import annotations

import os
import pathlib

from robust_tfds.datasets import perturbed_videos

_VIDEOS, _LISTS = "UCF-101", "ucfTrainTestlist"
INSTRUCTIONS = f"""\
UCF101 from https://www.crcv.ucf.edu/data/UCF101.php in the manual dir: UCF101.rar
extracted to {_VIDEOS}/<Class>/v_*.avi, and UCF101TrainTestSplits-RecognitionTask.zip
extracted to {_LISTS}/classInd.txt and {_LISTS}/testlist01.txt."""


def videos(
  manual_dir: os.PathLike | str, split: int = 1
) -> list[perturbed_videos.Source]:
  """The test videos of a split, in its order.

  Raises:
    FileNotFoundError: a list or a listed video is not there.
    ValueError: a broken line, or a class that classInd.txt does not have.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  labels = classes(root)
  listed: dict[str, pathlib.Path] = {}
  found = []
  for number, line in enumerate(_lines(root, f"testlist0{split}.txt"), 1):
    folder, _, name = line.partition("/")
    if folder not in labels or pathlib.PurePath(name).name != name or not name:
      raise ValueError(
        f"testlist0{split}.txt, line {number}: <Class>/<file>.avi with a class of"
        f" classInd.txt expected, got {line!r}."
      )
    # Folder HandstandPushups holds files v_HandStandPushups_*: names as listed.
    listed[name] = root / _VIDEOS / folder / name
    found.append(perturbed_videos.of_file(listed[name], name, labels[folder]))
  perturbed_videos.check_present(listed, INSTRUCTIONS)
  return found


def classes(root: pathlib.Path) -> dict[str, int]:
  """Class -> label; the file counts from 1."""
  out = {}
  for number, line in enumerate(_lines(root, "classInd.txt"), 1):
    index, _, name = line.partition(" ")
    if not index.isdigit() or not name:
      raise ValueError(
        f"classInd.txt, line {number}: <number> <Class> expected, got {line!r}."
      )
    out[name] = int(index) - 1
  return out


def _lines(root: pathlib.Path, name: str) -> list[str]:
  path = root / _LISTS / name
  if not path.exists():
    raise FileNotFoundError(f"No {path}.\n{INSTRUCTIONS}")
  lines = path.read_text("utf-8").splitlines()
  return [line.strip() for line in lines if line.strip()]

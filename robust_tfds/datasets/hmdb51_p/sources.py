"""Where HMDB51's videos and its splits lie."""

from __future__ import annotations

import os
import pathlib

from robust_tfds.datasets import perturbed_videos

_VIDEOS, _LISTS = "hmdb51_org", "testTrainMulti_7030_splits"
_TEST, _KINDS = "2", ("0", "1", "2")  # unused, train, test
INSTRUCTIONS = f"""\
HMDB51 from https://serre-lab.clps.brown.edu in the manual dir: hmdb51_org.rar and the
51 archives in it extracted to {_VIDEOS}/<class>/*.avi, and test_train_splits.rar
extracted to {_LISTS}/<class>_test_split1.txt."""


def videos(
  manual_dir: os.PathLike | str, split: int = 1
) -> list[perturbed_videos.Source]:
  """The test videos of a split, class after class in alphabetical order.

  Raises:
    FileNotFoundError: the lists or a listed video are not there.
    ValueError: a broken line, or two videos of one name.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  suffix = f"_test_split{split}.txt"
  lists = sorted((root / _LISTS).glob(f"*{suffix}"))
  if not lists:
    raise FileNotFoundError(f"No {root / _LISTS}/*{suffix}.\n{INSTRUCTIONS}")
  listed: dict[str, pathlib.Path] = {}
  found = []
  for label, path in enumerate(lists):
    folder = path.name.removesuffix(suffix)
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
      if not line.strip():
        continue
      # Names hold # ; [ ( & and the like, but the kind is the last word.
      name, _, kind = line.strip().rpartition(" ")
      if kind not in _KINDS or pathlib.PurePath(name).name != name or not name:
        raise ValueError(
          f"{path.name}, line {number}: <file>.avi <0|1|2> expected, got"
          f" {line!r}."
        )
      if kind != _TEST:
        continue
      example_id = f"{folder}/{name}"
      if example_id in listed:
        raise ValueError(f"{path.name}: {name!r} is listed twice.")
      listed[example_id] = root / _VIDEOS / folder / name
      found.append(
        perturbed_videos.of_file(listed[example_id], example_id, label)
      )
  perturbed_videos.check_present(listed, INSTRUCTIONS)
  return found

"""HMDB51 and UCF101: text files that name a split's videos, one per line."""

import os
import re
from collections.abc import Callable, Iterator, Sequence

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import videos
from robust_tfds.building.sources import class_lists, video_lists
from robust_tfds.storage import paths

_UCF101, _UCF101_LISTS = "UCF-101", "ucfTrainTestlist"
_HMDB51, _HMDB51_LISTS = "hmdb51_org", "testTrainMulti_7030_splits"
_UCF101_CLASSES = 101
TEST, TRAIN = "test", "train"
_KIND_OF = {TRAIN: "1", TEST: "2"}
_KINDS = ("0", *_KIND_OF.values())  # 0: unused
# v_<Class>_g<group>_c<clip>.avi: clips of a group are of one video, 25 groups a
# class (Soomro et al. 2012, section 3; docs/evidence/specs/video.md section 3).
_UCF101_NAME = re.compile(r"(?P<group>v_.+_g\d+)_c\d+\.avi")
# What a list of training videos has behind the name: the class's number.
_NUMBER = re.compile(r"(?<=\.avi) \d+$")
# <source>_<class>_<visible>_<camera>_np<people>_<view>_<quality>_<clip>.avi, the
# source being the film or video (Kuehne et al. 2011, section 2).
_HMDB51_SPLIT = re.compile(r"_test_split\d+\.txt$")
_HMDB51_NAME = re.compile(
  r"(?P<source>.+)_[fulh]_(?:nm|cm)_np\d+_(?:fr|ba|le|ri)_(?:goo|med|bad)"
  r"_\d+\.avi"
)

UCF101_INSTRUCTIONS = f"""\
UCF101 from https://www.crcv.ucf.edu/data/UCF101.php in the manual dir: UCF101.rar
extracted to {_UCF101}/<Class>/v_*.avi, and UCF101TrainTestSplits-RecognitionTask.zip
extracted to {_UCF101_LISTS}/classInd.txt and {_UCF101_LISTS}/testlist01.txt (split
`test`), testlist02.txt (`test_2`), testlist03.txt (`test_3`); one of them is enough."""

HMDB51_INSTRUCTIONS = f"""\
HMDB51 from https://serre-lab.clps.brown.edu in the manual dir: hmdb51_org.rar and the
51 archives in it extracted to {_HMDB51}/<class>/*.avi, and test_train_splits.rar
extracted to {_HMDB51_LISTS}/<class>_test_split1.txt (split `test`), _split2.txt
(`test_2`), _split3.txt (`test_3`); one of them is enough."""


UCF101_TRAIN_INSTRUCTIONS = UCF101_INSTRUCTIONS.replace(
  "testlist", "trainlist"
).replace("`test", "`train")
HMDB51_TRAIN_INSTRUCTIONS = HMDB51_INSTRUCTIONS.replace("`test", "`train")


class NoListError(FileNotFoundError):
  """An error for a missing list."""


def present_splits(
  find: Callable[[int], list[videos.Source]], splits: Sequence[str]
) -> dict[str, list[videos.Source]]:
  """Return each split's videos, for the splits whose lists are present.

  Args:
    find: number of a split, from 1 -> its videos, like `ucf101`, `hmdb51`.
    splits: their names, in the order of their numbers.

  Raises:
    NoListError: there is no list; the message names what the first split is
      missing.
  """
  there, absent = {}, []
  for number, split in enumerate(splits, 1):
    try:
      there[split] = find(number)
    except NoListError as e:
      absent.append(e)
  if not there:
    raise absent[0]
  return there


def ucf101(
  manual_dir: os.PathLike | str, split: int = 1, kind: str = TEST
) -> list[videos.Source]:
  """Return the test or training videos of a split, in its order.

  Raises:
    NoListError: a list is missing.
    FileNotFoundError: a listed video is missing.
    UserError: a broken line, or a class that classInd.txt does not have.
  """
  root = paths.parse(manual_dir)
  entries = _ucf101(root, f"{kind}list0{split}.txt", ucf101_classes(root))
  return video_lists.sources(entries, UCF101_INSTRUCTIONS)


def ucf101_classes(root: epath.Path) -> dict[str, int]:
  """Return class -> label from classInd.txt, which counts from 1.

  Raises:
    FileNotFoundError: the file is missing.
    UserError: it does not list the 101 classes once, numbered from 1 to 101.
  """
  path = root / _UCF101_LISTS / "classInd.txt"
  entries = []
  for where, line in _lines(path, UCF101_INSTRUCTIONS):
    index, _, name = line.partition(" ")
    if not (index.isascii() and index.isdigit() and name):
      raise errors.UserError(
        f"{where}: <number> <Class> expected, got {line!r}."
      )
    entries.append(class_lists.Entry(where, name, int(index)))
  return class_lists.labels(entries, str(path), _UCF101_CLASSES, first=1)


def hmdb51(
  manual_dir: os.PathLike | str, split: int = 1, kind: str = TEST
) -> list[videos.Source]:
  """Return the test or training videos of a split, class after class.

  Classes are in alphabetical order.

  Labels are numbered by all 51 classes, whichever lists are present.

  Raises:
    NoListError: the lists are missing.
    FileNotFoundError: a listed video is missing.
    UserError: a broken line, a list of a class that HMDB51 does not have or that
      only this split is missing, or two videos of one name.
  """
  root = paths.parse(manual_dir)
  entries = _hmdb51(root, f"_test_split{split}.txt", _KIND_OF[kind])
  return video_lists.sources(entries, HMDB51_INSTRUCTIONS)


def _ucf101(
  root: epath.Path, name: str, labels: dict[str, int]
) -> Iterator[video_lists.Entry]:
  for where, line in _lines(root / _UCF101_LISTS / name, UCF101_INSTRUCTIONS):
    listed = _NUMBER.sub("", line) if name.startswith(TRAIN) else line
    folder, _, file = listed.partition("/")
    if folder not in labels or not video_lists.plain(file):
      raise errors.UserError(
        f"{where}: <Class>/<file>.avi with a class of classInd.txt expected, got"
        f" {line!r}."
      )
    # Folder HandstandPushups holds files v_HandStandPushups_*: names as listed.
    place = root / _UCF101 / folder / file
    yield video_lists.Entry(
      where, file, labels[folder], [place], group_id=ucf101_group(file)
    )


def _hmdb51(
  root: epath.Path, suffix: str, number: str
) -> Iterator[video_lists.Entry]:
  folder_of_lists = root / _HMDB51_LISTS
  names = paths.names(folder_of_lists)
  lists = [folder_of_lists / name for name in names if name.endswith(suffix)]
  if not lists:
    raise NoListError(
      f"No {root / _HMDB51_LISTS}/*{suffix}.\n{HMDB51_INSTRUCTIONS}"
    )
  classes = {_HMDB51_SPLIT.sub("", n) for n in names if _HMDB51_SPLIT.search(n)}
  absent = sorted({c + suffix for c in classes} - {p.name for p in lists})
  if absent:
    raise errors.UserError(
      f"{folder_of_lists}: {absent[0]} is not there ({len(absent)} lists of this"
      f" split), though other splits have that class.\n{HMDB51_INSTRUCTIONS}"
    )
  label_of = class_lists.packaged(class_lists.HMDB51)
  for path in lists:
    folder = path.name.removesuffix(suffix)
    if folder not in label_of:
      raise errors.unknown_error(
        f"class of HMDB51 (the list {path})", folder, label_of
      )
    for where, line in _lines(path, HMDB51_INSTRUCTIONS):
      # Names hold # ; [ ( & and the like, but the kind is the last word.
      file, _, kind = line.rpartition(" ")
      if kind not in _KINDS or not video_lists.plain(file):
        raise errors.UserError(
          f"{where}: <file>.avi <0|1|2> expected, got {line!r}."
        )
      if kind == number:
        place = root / _HMDB51 / folder / file
        name = f"{folder}/{file}"
        yield video_lists.Entry(
          where, name, label_of[folder], [place], group_id=hmdb51_film(name)
        )


def ucf101_group(example_id: str) -> str:
  """Return the source video of a UCF101 clip; '' if its name has another form.

  >>> ucf101_group("v_Archery_g01_c06.avi")
  'v_Archery_g01'
  """
  match = _UCF101_NAME.fullmatch(example_id)
  return match["group"] if match else ""


def hmdb51_film(example_id: str) -> str:
  """Return the film of an HMDB51 clip; '' if its name has another form.

  Clips of other classes may be from the same film.

  >>> hmdb51_film("brush_hair/April_09_brush_hair_u_nm_np1_ba_goo_0.avi")
  'April_09'
  """
  folder, _, file = example_id.partition("/")
  match = _HMDB51_NAME.fullmatch(file)
  return match["source"].removesuffix(f"_{folder}") if match else ""


def _lines(path: epath.Path, instructions: str) -> Iterator[tuple[str, str]]:
  """Yield (place for errors, line) of the lines that are not empty."""
  if not path.exists():
    raise NoListError(f"No {path}.\n{instructions}")
  for number, line in enumerate(reading.line_list(path), 1):
    if line.strip():
      yield f"{path}, line {number}", line.strip()

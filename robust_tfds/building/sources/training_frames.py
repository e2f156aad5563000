"""The pictures that networks are fine-tuned on (Shankar et al. 2019, 3.1).

ILSVRC VID: all frames of the training videos of its 30 classes, which the lists
ImageSets/VID/train_<1..30>.txt name. If several lists name a video, each of its
frames has the class of its largest box, and is left out without a box.
YouTube-BB: the training anchors of Gu et al., with a picture and a row each.
ILSVRC-30: ImageNet's training pictures of the classes that the testbed maps to
VID's 30. Detectors get the boxes of all frames of VID, none for frames without
objects [U]. The paper states neither how frames of several classes were
labelled nor how anchors were stored: both are our choice.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import objects, pictures, source
from robust_tfds.building.sources import imagenet
from robust_tfds.storage import paths

_ROOTS = ("ILSVRC", "ILSVRC2017_VID/ILSVRC", "ILSVRC2015", ".")
_LISTS = "ImageSets/VID"
_FRAMES, _BOXES = "Data/VID/train", "Annotations/VID/train"
_TABLE, _ANCHORS = "ytbb_robustness_train_anchors_full.csv", "ytbb_train"
_MAX_OBJECTS = 1000  # in a frame: ids are made of its number
_COLUMNS = ("ytid", "time_ms", "label")
VID_INSTRUCTIONS = f"""\
ILSVRC VID 2015 or 2017 from https://image-net.org (registration) unpacked in the
manual dir:
  ILSVRC/{_LISTS}/train_1.txt ... train_30.txt
  ILSVRC/{_FRAMES}/<part>/<video>/<frame>.JPEG
  ILSVRC/{_BOXES}/<part>/<video>/<frame>.xml"""
_TRAIN_FOLDERS = ("ILSVRC/Data/CLS-LOC/train", "ILSVRC2012_img_train", "train")
ILSVRC30_INSTRUCTIONS = f"""\
ImageNet's training pictures from https://image-net.org (registration, research use)
unpacked in the manual dir, a folder for each class:
  {_TRAIN_FOLDERS[0]}/<wnid>/<name>.JPEG, or in {" or ".join(_TRAIN_FOLDERS[1:])}"""
YTBB_INSTRUCTIONS = f"""\
The training anchors of YouTube-BB (Gu et al. 2019) in the manual dir:
  {_TABLE}: columns {", ".join(_COLUMNS)}, labels as in the table of test anchors
  {_ANCHORS}/<ytid>_<time_ms>.jpg"""


def imagenet_vid(
  manual_dir: os.PathLike | str, wnids: Sequence[str]
) -> list[pictures.Source]:
  """Return all frames of the training videos, by video.

  Args:
    wnids: the 30 classes in label order, which is that of the lists.

  Raises:
    FileNotFoundError: a list, or a listed video, is missing.
    UserError: a broken line or annotation.
  """
  root = _root(manual_dir)
  labels = _labels_of_videos(root, len(wnids))
  label_of = {wnid: label for label, wnid in enumerate(wnids)}
  return [
    frame
    for video in sorted(labels)
    for frame in _frames(root, video, labels[video], label_of)
  ]


def imagenet_vid_boxes(
  manual_dir: os.PathLike | str, wnids: Sequence[str]
) -> list[objects.Source]:
  """Return the frames of `imagenet_vid` with their boxes, by video."""
  root = _root(manual_dir)
  out: list[objects.Source] = []
  for video in sorted(_labels_of_videos(root, len(wnids))):
    for name, path in _pictures(root, video):
      boxes = root / _BOXES / video / f"{name.removesuffix('.JPEG')}.xml"
      out.append(
        objects.Source(
          f"{video}/{name}",
          image_id=len(out) + 1,
          picture=source.Picture(source.File("", str(path))),
          annotation=Boxes(str(boxes), tuple(wnids), len(out) + 1),
          group_id=video,
        )
      )
  return out


@dataclasses.dataclass(frozen=True)
class Boxes:
  """An XML file of VID, whose boxes are of the 30 classes.

  Attributes:
    path: the file.
    wnids: the classes in label order.
    image_id: number of the frame.
  """

  path: str
  wnids: Sequence[str]
  image_id: int

  def objects_in(self, size: tuple[int, int]) -> list[objects.Object]:
    """Return the annotated objects."""
    del size
    label_of = {wnid: label for label, wnid in enumerate(self.wnids)}
    out = []
    for i, (label, sides) in enumerate(_annotated(self.path, label_of)):
      x0, x1, y0, y1 = map(float, sides)
      box = (x0, y0, x1 - x0, y1 - y0)
      number = self.image_id * _MAX_OBJECTS + i
      out.append(objects.Object(number, label, box, box[2] * box[3]))
    return out


def _root(manual_dir: os.PathLike | str) -> epath.Path:
  """Return the folder of VID's lists and frames."""
  places = [paths.parse(manual_dir) / root for root in _ROOTS]
  root = next((p for p in places if (p / _LISTS).is_dir()), None)
  if root is None:
    raise FileNotFoundError(f"No {_LISTS} in {manual_dir}.\n{VID_INSTRUCTIONS}")
  return root


def _labels_of_videos(root: epath.Path, classes: int) -> dict[str, list[int]]:
  """Return the classes whose lists name each video."""
  out: dict[str, list[int]] = {}
  for label in range(classes):
    path = root / _LISTS / f"train_{label + 1}.txt"
    if not path.exists():
      raise FileNotFoundError(f"No {path}.\n{VID_INSTRUCTIONS}")
    for number, line in enumerate(reading.line_list(path), 1):
      video, _, flag = line.strip().partition(" ")
      if video and (flag not in ("", "1") or ".." in video.split("/")):
        raise errors.UserError(
          f"{path}, line {number}: <part>/<video> 1 expected, got {line!r}."
        )
      if video:
        out.setdefault(video, []).append(label)
  return out


def _frames(
  root: epath.Path,
  video: str,
  labels: Sequence[int],
  label_of: Mapping[str, int],
) -> Iterator[pictures.Source]:
  for name, path in _pictures(root, video):
    label: int | None = labels[0]
    if len(labels) > 1:
      stem = name.removesuffix(".JPEG")
      label = _largest(root / _BOXES / video / f"{stem}.xml", label_of)
    if label is not None:
      picture = source.Picture(source.File("", str(path)))
      yield pictures.Source(f"{video}/{name}", label, picture, group_id=video)


def _pictures(root: epath.Path, video: str) -> Iterator[tuple[str, epath.Path]]:
  """Yield names and paths of a video's frames, in order."""
  folder = root / _FRAMES / video
  names = [n for n in paths.names(folder) if n.endswith(".JPEG")]
  if not names:
    raise FileNotFoundError(f"No frame in {folder}.\n{VID_INSTRUCTIONS}")
  for name in sorted(names):
    yield name, folder / name


def _largest(path: epath.Path, label_of: Mapping[str, int]) -> int | None:
  """Return the class of a frame's largest box; None if it has none."""
  areas = [
    ((x1 - x0) * (y1 - y0), -label)
    for label, (x0, x1, y0, y1) in _annotated(path, label_of)
  ]
  return -max(areas)[1] if areas else None


def _annotated(
  path: os.PathLike | str, label_of: Mapping[str, int]
) -> Iterator[tuple[int, list[int]]]:
  """Yield label and (xmin, xmax, ymin, ymax) of every box of a frame."""
  tree = reading.xml_text(paths.read_bytes(path), str(path))
  for entry in tree.findall("object"):
    wnid = (entry.findtext("name") or "").strip()
    if wnid not in label_of:
      raise errors.UserError(f"{path}: {wnid!r} is not one of the 30 wnids.")
    yield (
      label_of[wnid],
      [
        _integer(entry.findtext(f"bndbox/{s}"), f"{path}: bndbox/{s}")
        for s in ("xmin", "xmax", "ymin", "ymax")
      ],
    )


def ilsvrc30(
  manual_dir: os.PathLike | str, members: Sequence[Sequence[int]]
) -> list[pictures.Source]:
  """Return ImageNet's training pictures of some classes, labelled by their
  group.

  Args:
    members: for each group, the labels among ImageNet's 1,000.

  Raises:
    FileNotFoundError: no such folder, or a class folder without pictures.
  """
  places = [paths.parse(manual_dir) / folder for folder in _TRAIN_FOLDERS]
  root = next((p for p in places if p.is_dir()), None)
  if root is None:
    raise FileNotFoundError(
      f"No training pictures in {manual_dir}.\n{ILSVRC30_INSTRUCTIONS}"
    )
  return [
    each
    for label, group in enumerate(members)
    for member in group
    for each in _class_pictures(root, imagenet.wnids()[member], label)
  ]


def _class_pictures(
  root: epath.Path, wnid: str, label: int
) -> Iterator[pictures.Source]:
  folder = root / wnid
  there = paths.names(folder) if folder.is_dir() else []
  names = sorted(filter(imagenet.is_picture, there))
  if not names:
    raise FileNotFoundError(f"No picture in {folder}.\n{ILSVRC30_INSTRUCTIONS}")
  for name in names:
    picture = source.Picture(source.File("", str(folder / name)))
    yield pictures.Source(f"{wnid}/{name}", label, picture)


def ytbb(
  manual_dir: os.PathLike | str, classes: int, swapped: Mapping[int, int]
) -> list[pictures.Source]:
  """Return the training anchors, in the table's order.

  Args:
    swapped: numbers in the table -> labels, where they differ.

  Raises:
    FileNotFoundError: the table or a picture is missing.
    UserError: a broken row.
  """
  root = paths.parse(manual_dir)
  table = root / _TABLE
  if not table.exists():
    raise FileNotFoundError(f"No {table}.\n{YTBB_INSTRUCTIONS}")
  out = []
  for number, row in reading.csv_file(table, _COLUMNS):
    where = f"{table}, line {number}"
    label = _integer(row["label"], f"{where}: label")
    ms = _integer(row["time_ms"], f"{where}: time_ms")
    if label >= classes or "/" in row["ytid"]:
      raise errors.UserError(
        f"{where}: a YouTube id and a label from 0 to {classes - 1} expected,"
        f" got {row['ytid']!r}, {label}."
      )
    name = f"{row['ytid']}_{ms}.jpg"
    picture = source.Picture(source.File("", str(root / _ANCHORS / name)))
    label = swapped.get(label, label)
    out.append(pictures.Source(name, label, picture, group_id=row["ytid"]))
  there = paths.exist([root / _ANCHORS / s.example_id for s in out])
  absent = [s.example_id for s, is_there in zip(out, there) if not is_there]
  if absent:
    raise FileNotFoundError(
      f"{len(absent)} of {len(out)} anchors are absent, e.g."
      f" {root / _ANCHORS / absent[0]}.\n{YTBB_INSTRUCTIONS}"
    )
  return out


def _integer(text: str | None, what: str) -> int:
  text = (text or "").strip()
  if not (text.isascii() and text.isdigit()):
    raise errors.UserError(f"{what}: a whole number expected, got {text!r}.")
  return int(text)

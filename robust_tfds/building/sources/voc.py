"""The VOC2007 test set: its pictures, and its XML annotations as objects.

VOC counts pixels from 1 and includes the last one; boxes become 0-based
(x, y, width, height), so that a box around one pixel has width 1
(docs/specs/detection.md section 3.1).
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from robust_tfds import errors, reading
from robust_tfds.building import objects, source
from robust_tfds.building.sources import folders

if TYPE_CHECKING:
  from xml.etree.ElementTree import Element

CLASSES = (
  "aeroplane",
  "bicycle",
  "bird",
  "boat",
  "bottle",
  "bus",
  "car",
  "cat",
  "chair",
  "cow",
  "diningtable",
  "dog",
  "horse",
  "motorbike",
  "person",
  "pottedplant",
  "sheep",
  "sofa",
  "train",
  "tvmonitor",
)
_MOST_OBJECTS = 1000  # an id is image number * this + place
_SIDES = ("xmin", "ymin", "xmax", "ymax")
# Elements that an object has one of.
_ONCE = ("name", "difficult", "bndbox", *(f"bndbox/{side}" for side in _SIDES))
_FOLDER = "VOCdevkit/VOC2007"
_ARCHIVES = ("VOCtest_06-Nov-2007.tar",)
_LIST = "ImageSets/Main/test.txt"
_ID = re.compile(r"[0-9]{6}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}([.][0-9]*)?")
INSTRUCTIONS = f"""\
The VOC2007 test set from http://host.robots.ox.ac.uk/pascal/VOC/voc2007 in the
manual dir: {_ARCHIVES[0]} as it is, or unpacked:
  {_FOLDER}/{_LIST} (4,952 ids)
  {_FOLDER}/JPEGImages/000001.jpg ...
  {_FOLDER}/Annotations/000001.xml ..."""


@dataclasses.dataclass(frozen=True)
class Annotation(source.Part):
  """An XML file of objects.

  Attributes:
    file: its place.
    image_id: number of the image.
  """

  file: source.File
  image_id: int

  def objects_in(self, size: tuple[int, int]) -> list[objects.Object]:
    """See `objects_of`."""
    return objects_of(self.file.data(), self.image_id, self.file.name, size)


def sources(manual_dir: os.PathLike | str) -> list[objects.Source]:
  """All test pictures with their objects, by id.

  Raises:
    FileNotFoundError: the set, a picture or an annotation is not there.
    UserError: a list of other ids, or one that names an image twice.
  """
  files = folders.find(
    manual_dir, _FOLDER, _ARCHIVES, instructions=INSTRUCTIONS, marker=_LIST
  )
  return [_source(name, files) for name in _ids(files[_LIST].data())]


def objects_of(
  data: bytes, image_id: int, where: str, size: tuple[int, int] | None = None
) -> list[objects.Object]:
  """The objects of one XML file, in its order.

  Args:
    data: the file's bytes.
    image_id: number of the image; ids are made of it.
    where: the file's name, for errors.
    size: (height, width) of the decoded picture; None where it is not known.

  Raises:
    UserError: broken XML or another kind of XML, a missing field, an unknown
      class, a box whose ends are swapped, objects inside each other, a picture
      of another size.
  """
  root = reading.xml_text(data, where)
  if root.tag != "annotation":
    raise errors.UserError(
      f"{where}: the first element is <{root.tag}>, expected VOC's <annotation>."
      " Unpack the archive again."
    )
  _check_size(root, size, where)
  # Direct children only: a person's parts have names and boxes of their own.
  nodes = root.findall("object")
  if len(nodes) < sum(1 for _ in root.iter("object")):
    raise errors.UserError(
      f"{where}: an <object> lies inside another element; VOC's lie side by side"
      " in <annotation>."
    )
  if len(nodes) >= _MOST_OBJECTS:
    raise errors.UserError(
      f"{where}: {len(nodes)} objects, at most {_MOST_OBJECTS - 1} have an id."
    )
  return [
    _object(node, image_id * _MOST_OBJECTS + i, f"{where}, object {i}")
    for i, node in enumerate(nodes, start=1)
  ]


def _check_size(
  root: Element, size: tuple[int, int] | None, where: str
) -> None:
  """Refuses another size than the picture's; some tools write none, or 0 x 0."""
  texts = [root.findtext(f"size/{side}") for side in ("height", "width")]
  if size is None or None in texts:
    return
  said = tuple(_number(text, f"{where}: size") for text in texts)
  if any(said) and said != tuple(size):
    raise errors.UserError(
      f"{where}: size: {said[1]} x {said[0]} px, the picture has {size[1]} x"
      f" {size[0]}; boxes are in px of the original. Unpack the archive again."
    )


def _ids(data: bytes) -> list[str]:
  names = reading.decode(data, _LIST).split()
  for name in names:
    if not _ID.fullmatch(name):
      raise errors.UserError(f"{_LIST}: {name!r} is not an id of six digits.")
  if not names or len(set(names)) < len(names):
    twice = sorted({n for n in names if names.count(n) > 1})
    raise errors.UserError(
      f"{_LIST} must name every image once; "
      + (f"twice: {', '.join(twice[:5])}." if names else "it is empty.")
    )
  return sorted(names)


def _source(name: str, files: Mapping[str, source.File]) -> objects.Source:
  picture, xml = f"JPEGImages/{name}.jpg", f"Annotations/{name}.xml"
  for needed in (picture, xml):
    if needed not in files:
      raise FileNotFoundError(
        f"{_LIST} names {name}, but there is no {needed} in {_FOLDER}. Unpack"
        f" {_ARCHIVES[0]} whole."
      )
  return objects.Source(
    f"{name}.jpg",
    image_id=int(name),
    picture=source.Picture(files[picture]),
    annotation=Annotation(files[xml], int(name)),
  )


def _object(node: Element, number: int, what: str) -> objects.Object:
  for tag in _ONCE:
    if len(node.findall(tag)) > 1:
      raise errors.UserError(
        f"{what}: {tag} is there {len(node.findall(tag))} times, expected once."
      )
  name = (node.findtext("name") or "").strip()
  if name not in CLASSES:
    raise errors.UserError(
      f"{what}: class {name!r} is not one of VOC's 20: {', '.join(CLASSES)}."
    )
  left, top, right, bottom = (
    _number(node.findtext(f"bndbox/{side}"), f"{what}: {side}")
    for side in _SIDES
  )
  if right < left or bottom < top:
    raise errors.UserError(
      f"{what}: xmin, ymin, xmax, ymax are {left}, {top}, {right}, {bottom};"
      " expected xmin <= xmax and ymin <= ymax."
    )
  box = (left - 1, top - 1, right - left + 1, bottom - top + 1)
  difficult = _number(node.findtext("difficult", "0"), f"{what}: difficult")
  if difficult not in (0, 1):
    raise errors.UserError(f"{what}: difficult is 0 or 1, got {difficult}.")
  return objects.Object(
    id=number,
    label=CLASSES.index(name),
    box=(float(box[0]), float(box[1]), float(box[2]), float(box[3])),
    area=float(max(box[2], 0) * max(box[3], 0)),
    is_difficult=bool(difficult),
  )


def _number(text: str | None, what: str) -> int:
  if not _NUMBER.fullmatch((text or "").strip()):
    raise errors.UserError(f"{what} must be a number, got {text!r}.")
  return int(float(text or ""))  # some tools write 48.0

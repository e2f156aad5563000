"""VOC's test and training sets: their pictures, and XML annotations as objects.

VOC counts pixels from 1 and includes the last one; boxes become 0-based
(x, y, width, height), so that a box around one pixel has width 1
(docs/evidence/specs/detection.md section 3.1).
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
_MAX_OBJECTS = 1000  # an id is image number * this + place
_SIDES = ("xmin", "ymin", "xmax", "ymax")
# Elements that an object has one of.
_ONCE = ("name", "difficult", "bndbox", *(f"bndbox/{side}" for side in _SIDES))
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}([.][0-9]*)?")


class Part(NamedTuple):
  """A list of pictures, and their places.

  Attributes:
    folder: folder of a year.
    archive: the archive that holds it.
    ids: the list, below the folder.
    form: the pattern of an id.
    form_words: the pattern in words.
  """

  folder: str
  archive: str
  ids: str
  form: re.Pattern[str]
  form_words: str


_SIX = (re.compile(r"[0-9]{6}"), "six digits")
TEST = Part(
  "VOCdevkit/VOC2007",
  "VOCtest_06-Nov-2007.tar",
  "ImageSets/Main/test.txt",
  *_SIX,
)
# The training data of Faster R-CNN (Ren et al. 2015, section 4.1), by name 0712.
TRAIN_0712 = (
  TEST._replace(
    archive="VOCtrainval_06-Nov-2007.tar", ids="ImageSets/Main/trainval.txt"
  ),
  Part(
    "VOCdevkit/VOC2012",
    "VOCtrainval_11-May-2012.tar",
    "ImageSets/Main/trainval.txt",
    re.compile(r"20[0-9]{2}_[0-9]{6}"),
    "2008_000002's form",
  ),
)
INSTRUCTIONS = f"""\
The VOC2007 test set from http://host.robots.ox.ac.uk/pascal/VOC/voc2007 in the
manual dir: {TEST.archive} as it is, or unpacked:
  {TEST.folder}/{TEST.ids} (4,952 ids)
  {TEST.folder}/JPEGImages/000001.jpg ...
  {TEST.folder}/Annotations/000001.xml ..."""
TRAIN_INSTRUCTIONS = f"""\
VOC's training sets of 2007 and 2012 from http://host.robots.ox.ac.uk/pascal/VOC in
the manual dir: {" and ".join(part.archive for part in TRAIN_0712)} as
they are, or unpacked:
  {TRAIN_0712[0].folder}/{TRAIN_0712[0].ids} (5,011 ids)
  {TRAIN_0712[1].folder}/{TRAIN_0712[1].ids} (11,540 ids)
  and JPEGImages, Annotations of both."""


@dataclasses.dataclass(frozen=True)
class Annotation(source.Part):
  """An XML file of objects.

  Attributes:
    file: the file.
    image_id: number of the image.
  """

  file: source.File
  image_id: int

  def objects_in(self, size: tuple[int, int]) -> list[objects.Object]:
    """Return the objects of the file, see `objects_of`."""
    return objects_of(self.file.data(), self.image_id, self.file.name, size)


def sources(
  manual_dir: os.PathLike | str, parts: Sequence[Part] = (TEST,)
) -> list[objects.Source]:
  """Return all pictures of some lists with their objects, by id.

  Args:
    parts: `(TEST,)` or `TRAIN_0712`.

  Raises:
    FileNotFoundError: the set, a picture or an annotation is missing.
    UserError: a list of other ids, or one that names an image twice.
  """
  instructions = INSTRUCTIONS if parts == (TEST,) else TRAIN_INSTRUCTIONS
  out = []
  for part in parts:
    files = folders.find(
      manual_dir,
      part.folder,
      (part.archive,),
      instructions=instructions,
      marker=part.ids,
    )
    names = listed(files[part.ids].data(), part)
    out += [_source(name, files, part) for name in names]
  return out


def objects_of(
  data: bytes, image_id: int, where: str, size: tuple[int, int] | None = None
) -> list[objects.Object]:
  """Return the objects of one XML file, in its order.

  Args:
    data: the file's bytes.
    image_id: number of the image, part of the ids.
    where: the file's name, for errors.
    size: (height, width) of the decoded picture; None if unknown.

  Raises:
    UserError: broken XML or another kind of XML, a missing field, an unknown
      class, a box whose ends are swapped, nested objects, a picture of another
      size.
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
  if len(nodes) >= _MAX_OBJECTS:
    raise errors.UserError(
      f"{where}: {len(nodes)} objects, at most {_MAX_OBJECTS - 1} have an id."
    )
  return [
    _object(node, image_id * _MAX_OBJECTS + i, f"{where}, object {i}")
    for i, node in enumerate(nodes, start=1)
  ]


def _check_size(
  root: Element, size: tuple[int, int] | None, where: str
) -> None:
  """Refuse a size other than the picture's; some tools write none, or 0 x 0."""
  texts = [root.findtext(f"size/{side}") for side in ("height", "width")]
  if size is None or None in texts:
    return
  stated = tuple(_number(text, f"{where}: size") for text in texts)
  if any(stated) and stated != tuple(size):
    raise errors.UserError(
      f"{where}: size: {stated[1]} x {stated[0]} px, the picture has {size[1]} x"
      f" {size[0]}; boxes are in px of the original. Unpack the archive again."
    )


def listed(data: bytes, part: Part) -> list[str]:
  """Return the ids of a list, sorted.

  Raises:
    UserError: an id of another form, one twice, or none.
  """
  names = reading.decode(data, part.ids).split()
  for name in names:
    if not part.form.fullmatch(name):
      raise errors.UserError(
        f"{part.ids}: {name!r} is not an id of {part.form_words}."
      )
  if not names or len(set(names)) < len(names):
    twice = sorted({n for n in names if names.count(n) > 1})
    raise errors.UserError(
      f"{part.ids} must name every image once; "
      + (f"twice: {', '.join(twice[:5])}." if names else "it is empty.")
    )
  return sorted(names)


def _source(
  name: str, files: Mapping[str, source.File], part: Part
) -> objects.Source:
  picture, xml = f"JPEGImages/{name}.jpg", f"Annotations/{name}.xml"
  for needed in (picture, xml):
    if needed not in files:
      raise FileNotFoundError(
        f"{part.ids} names {name}, but there is no {needed} in {part.folder}."
        f" Unpack {part.archive} whole."
      )
  number = int(name.replace("_", ""))  # those of 2012 begin with their year
  return objects.Source(
    f"{name}.jpg",
    image_id=number,
    picture=source.Picture(files[picture]),
    annotation=Annotation(files[xml], number),
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

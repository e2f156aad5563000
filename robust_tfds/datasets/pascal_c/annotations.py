"""PASCAL VOC's XML annotations as objects.

VOC counts pixels from 1 and includes the last one; boxes become 0-based
(x, y, width, height), so that a box around one pixel has width 1
(docs/specs/detection.md section 3.1).
"""

from __future__ import annotations

from xml.etree import ElementTree

from robust_tfds.datasets import detection

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


def objects(data: bytes, image_id: int, where: str) -> list[detection.Object]:
  """The objects of one XML file, in its order.

  Args:
    data: the file's bytes.
    image_id: number of the image; ids are made of it.
    where: the file's name, for errors.

  Raises:
    ValueError: broken XML, a missing field, an unknown class.
  """
  try:
    root = ElementTree.fromstring(data)
  except ElementTree.ParseError as e:
    raise ValueError(
      f"{where} is not valid XML ({e}); unpack the archive again."
    ) from e
  # Direct children only: a person's parts have names and boxes of their own.
  return [
    _object(node, image_id * _MOST_OBJECTS + i, f"{where}, object {i}")
    for i, node in enumerate(root.findall("object"), start=1)
  ]


def _object(
  node: ElementTree.Element, number: int, what: str
) -> detection.Object:
  name = (node.findtext("name") or "").strip()
  if name not in CLASSES:
    raise ValueError(
      f"{what}: class {name!r} is not one of VOC's 20: {', '.join(CLASSES)}."
    )
  left, top, right, bottom = (
    _number(node.findtext(f"bndbox/{side}"), f"{what}: {side}")
    for side in _SIDES
  )
  box = (left - 1, top - 1, right - left + 1, bottom - top + 1)
  difficult = _number(node.findtext("difficult", "0"), f"{what}: difficult")
  return detection.Object(
    id=number,
    label=CLASSES.index(name),
    box=(float(box[0]), float(box[1]), float(box[2]), float(box[3])),
    area=float(max(box[2], 0) * max(box[3], 0)),
    is_difficult=bool(difficult),
  )


def _number(text: str | None, what: str) -> int:
  try:
    return int(float(text or ""))  # some tools write 48.0
  except (ValueError, OverflowError) as e:
    raise ValueError(f"{what} must be a number, got {text!r}.") from e

"""Cityscapes' instance maps as objects with masks.

A pixel of an instance map is a label's id, or 1000 times the id plus a number
if the object is a single instance. A label that has instances, without such a
number, marks a group: a crowd. Masks are the visible parts, boxes are tight, as
mmdetection's converter makes them (docs/evidence/specs/detection.md section
3.3). Maps are read from `*_instanceIds.png`; where a set has polygons only they
are drawn in their order as cityscapesscripts draws them, by Pillow.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pydantic

from robust_tfds import errors, reading
from robust_tfds.building import objects
from robust_tfds.coco import rle
from robust_tfds.reading import limits, pictures

# The 8 evaluated classes with instances, by label id (docs/evidence/specs/detection.md
# section 4).
CLASSES = {
  24: "person",
  25: "rider",
  26: "car",
  27: "truck",
  28: "bus",
  31: "train",
  32: "motorcycle",
  33: "bicycle",
}
_FIRST_INSTANCE = 1000
_LABELS = {  # cityscapesscripts 2.3.0, helpers/labels.py
  name: number
  for number, name in enumerate(
    (
      "unlabeled",
      "ego vehicle",
      "rectification border",
      "out of roi",
      "static",
      "dynamic",
      "ground",
      "road",
      "sidewalk",
      "parking",
      "rail track",
      "building",
      "wall",
      "fence",
      "guard rail",
      "bridge",
      "tunnel",
      "pole",
      "polegroup",
      "traffic light",
      "traffic sign",
      "vegetation",
      "terrain",
      "sky",
      "person",
      "rider",
      "car",
      "truck",
      "bus",
      "caravan",
      "trailer",
      "train",
      "motorcycle",
      "bicycle",
    )
  )
}
_NOT_DRAWN = "license plate"  # its id is -1
_WITH_INSTANCES = frozenset(range(24, 34))
_IDS_PER_IMAGE = 100_000  # an id is image number * this + the map's value


_FARTHEST_PX = 100_000
_Number = Annotated[float, pydantic.Field(allow_inf_nan=False)]
_Side = Annotated[int, pydantic.Field(ge=1, le=65_535)]  # px


class _Object(pydantic.BaseModel):
  """An entry of a polygons file's `objects`."""

  label: str
  polygon: Annotated[
    list[Annotated[list[_Number], pydantic.Field(min_length=2, max_length=2)]],
    pydantic.Field(min_length=2),
  ]
  deleted: bool | Literal[0, 1] = False


class _Polygons(pydantic.BaseModel):
  """A polygons file; its other fields are ignored."""

  imgWidth: _Side  # noqa: N815, the file's own name
  imgHeight: _Side  # noqa: N815
  objects: list[_Object]


def objects_of(
  instance_map: np.ndarray, image_id: int, *, drop_groups: bool, where: str
) -> list[objects.Object]:
  """Return the objects of an instance map, by its values.

  Args:
    instance_map: integer `[H, W]`, from `read` or `draw`.
    image_id: number of the image, part of the ids.
    drop_groups: whether groups are left out; else they are crowds.
    where: the map's name, for errors.

  Raises:
    UserError: a value that belongs to no label.
  """
  labels = {number: i for i, number in enumerate(CLASSES)}
  out = []
  for value in np.unique(instance_map).tolist():
    alone = value >= _FIRST_INSTANCE
    number = value // _FIRST_INSTANCE if alone else value
    if not 0 <= number < len(_LABELS):
      raise errors.UserError(
        f"{where}: value {value} is no Cityscapes label (0..33) or instance"
        " (24000..33999). Take the gtFine archive's own *_instanceIds.png."
      )
    if number not in labels or (drop_groups and not alone):
      continue
    mask = rle.encode(instance_map == value)
    x, y, width, height = rle.box(mask)
    out.append(
      objects.Object(
        id=image_id * _IDS_PER_IMAGE + value,
        label=labels[number],
        box=(float(x), float(y), float(width), float(height)),
        area=float(rle.area(mask)),
        is_crowd=not alone,
        mask=mask,
      )
    )
  return out


def read(data: bytes, where: str) -> np.ndarray:
  """Read an `*_instanceIds.png`: int64 `[H, W]`.

  Raises:
    UserError: broken, or not a 16-bit grey PNG.
  """
  with pictures.opened(data, where) as picture:
    mode = picture.mode
    values = np.asarray(picture)
  if not mode.startswith("I"):  # I;16, or I of older Pillows
    raise errors.UserError(
      f"{where} has mode {mode} (8 bits a value), which cannot hold instance ids"
      " such as 26001. Expected a 16-bit grey PNG: take the gtFine archive's own"
      " file, not a converted one."
    )
  return values.astype(np.int64)


def draw(data: bytes, where: str) -> np.ndarray:
  """Draw the map of a `*_polygons.json`: int64 `[H, W]`; later covers earlier.

  Raises:
    UserError: broken JSON, missing fields or fields of another type, an
      unknown label, a point that is not finite or far outside the picture.
  """
  from PIL import Image, ImageDraw

  content = reading.records(reading.json_text(data, where), _Polygons, where)
  size = content.imgWidth, content.imgHeight
  limits.check(size[0] * size[1], limits.PICTURE_PIXELS, where, "pixels")
  picture = Image.new("I", size, _LABELS["unlabeled"])
  pen = ImageDraw.Draw(picture)
  counts = dict.fromkeys(_WITH_INSTANCES, 0)
  for place, entry in enumerate(content.objects):
    source = f"{where}: objects.{place}"
    value = _value(entry, counts, source)
    if value is not None:
      _check_near(entry.polygon, source)
      pen.polygon([(x, y) for x, y in entry.polygon], fill=value)
  return np.asarray(picture).astype(np.int64)


def _value(entry: _Object, counts: dict[int, int], source: str) -> int | None:
  """Return the value that fills a polygon; None if it is not drawn."""
  name = entry.label
  if entry.deleted or name == _NOT_DRAWN:
    return None
  group = name not in _LABELS and name.endswith("group")
  name = name.removesuffix("group") if group else name
  if name not in _LABELS:
    raise errors.UserError(
      f"{source}: label {entry.label!r} is not Cityscapes'. Take the gtFine"
      " archive's own file."
    )
  number = _LABELS[name]
  if group or number not in counts:
    return number
  if counts[number] == _FIRST_INSTANCE:
    raise errors.UserError(
      f"{source}: more than {_FIRST_INSTANCE} objects of label {name!r}; instance"
      " maps cannot number them."
    )
  counts[number] += 1
  return number * _FIRST_INSTANCE + counts[number] - 1


def _check_near(polygon: Sequence[Sequence[float]], source: str) -> None:
  """Refuse points far outside the picture; annotators leave it by a few pixels."""
  for x, y in polygon:
    if max(abs(x), abs(y)) > _FARTHEST_PX:
      raise errors.UserError(
        f"{source}.polygon: the point {x:g}, {y:g} lies more than"
        f" {_FARTHEST_PX} px away."
      )

"""The base of detection datasets: objects, features, whole pictures.

The protocol of the Robust Detection Benchmark (Michaelis et al. 2019, section
2): pictures are corrupted at full resolution straight after decoding, in RGB,
with the edition `any`; boxes and masks stay as they are. Pictures keep their own
sizes; each is corrupted on its canvas (`corruptions/canvas.py`), so the pixels
equal those of `corruptions.corrupt` and of any batch of canvases.

An example is

  image      uint8 `[H, W, 3]`
  size       int32 (H, W), available without decoding the image
  image_id   int64, its id in COCO-style result files
  example_id, group_id, frame
  objects    a sequence of
    id            int64, unique in the split, never 0 (pycocotools takes a match
                  with annotation 0 for none)
    bbox          float32 (ymin, xmin, ymax, xmax) in [0, 1], clipped to the image
    bbox_px       float64 (x, y, width, height) as annotated, 0-based px
    label         class id
    is_crowd      a group: matched by many detections, neither hit nor miss
    area          float64 px, used by COCO's size ranges
    is_difficult  VOC only
    mask          counts (COCO's compressed string) and size (height, width);
                  not VOC
"""

from __future__ import annotations

import dataclasses
import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions, errors
from robust_tfds.building import base, jpeg_feature, pictures, scratch
from robust_tfds.building import source as source_lib
from robust_tfds.building.sources import frost
from robust_tfds.coco import rle

# px. Annotators' boxes may end a little outside: rounded coordinates, VOC's
# 1-based ones. They are taken as they are, as pycocotools takes them.
OUTSIDE_PX = 2.0


@dataclasses.dataclass(frozen=True)
class Object:
  """One annotated object.

  Attributes:
    id: unique in the split, not 0.
    label: class id.
    box: (x, y, width, height) in px, 0-based, as annotated.
    area: area of the object in px; the mask's if there is one.
    is_crowd: a group of objects.
    is_difficult: VOC's flag.
    mask: its mask; None if the dataset has none.
  """

  id: int
  label: int
  box: tuple[float, float, float, float]
  area: float
  is_crowd: bool = False
  is_difficult: bool = False
  mask: rle.Mask | None = None


class Annotation(Protocol):
  """A picklable reference to a picture's objects, which are read on demand."""

  def objects_in(self, size: tuple[int, int]) -> Sequence[Object]:
    """Return the objects.

    Args:
      size: (height, width) of the decoded picture.
    """


@dataclasses.dataclass(frozen=True)
class KnownObjects:
  """Objects that are in memory."""

  known: Sequence[Object]

  def objects_in(self, size: tuple[int, int]) -> Sequence[Object]:
    """Return all of the objects."""
    del size
    return self.known


@dataclasses.dataclass(frozen=True)
class Source(source_lib.Part):
  """A clean example before decoding.

  Attributes:
    example_id: unique and stable: the file's name.
    image_id: unique integer of the image.
    picture: a picture of any size.
    annotation: its objects.
    group_id: the sequence; the example itself if there is none.
    frame: number in the sequence.
  """

  example_id: str
  image_id: int
  picture: pictures.Picture
  annotation: Annotation
  group_id: str = ""
  frame: int = 0

  def decoded(self, folder: str) -> Source:
    """Return the example with pixels in a scratch folder and objects in memory."""
    image = self.picture.read()
    given = KnownObjects(tuple(self.annotation.objects_in(image.shape[:2])))
    pixels = scratch.keep_picture(folder, image)
    return dataclasses.replace(self, picture=pixels, annotation=given)


class Builder(
  base.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the detection datasets.

  Attributes:
    CATEGORY_IDS: the category ids of COCO-style result files, in label order;
      empty: label + 1.
    MASKS: objects have masks.
    DIFFICULT: objects have `is_difficult`.
  """

  KIND = "objects"
  FAMILY: ClassVar[conditions.Family | None] = conditions.PICTURES
  EDITION = "any"
  CODECS: ClassVar[tuple[str, ...]] = (pictures.RAW, pictures.JPEG85)
  CHUNK = 8
  MANUAL_DOWNLOAD_INSTRUCTIONS = frost.INSTRUCTIONS
  CATEGORY_IDS: ClassVar[tuple[int, ...]] = ()
  MASKS: ClassVar[bool] = True
  DIFFICULT: ClassVar[bool] = False

  def example_features(self) -> dict[str, Any]:
    """Return the features of a picture and its objects, see the module."""
    lossless = self.config.codec in ("", pictures.RAW)
    return {
      "image": jpeg_feature.picture((None, None, 3), lossless=lossless),
      "size": tfds.features.Tensor(shape=(2,), dtype=np.int32),
      "image_id": np.int64,
      "objects": tfds.features.Sequence(self._object_features()),
    }

  def _object_features(self) -> dict[str, Any]:
    # TFDS would round float64 to float32 without the encoding.
    exact = functools.partial(
      tfds.features.Tensor, dtype=np.float64, encoding="bytes"
    )
    features = {
      "id": np.int64,
      "bbox": tfds.features.BBoxFeature(),
      "bbox_px": exact(shape=(4,)),
      "label": self.label_feature(),
      "is_crowd": np.bool_,
      "area": exact(shape=()),
    }
    if self.DIFFICULT:
      features["is_difficult"] = np.bool_
    if self.MASKS:
      features["mask"] = {
        "counts": tfds.features.Text(),
        "size": tfds.features.Tensor(shape=(2,), dtype=np.int32),
      }
    return features

  def _sources(self, dl_manager: Any) -> Sequence[Source]:
    """Return the clean examples; implemented by each dataset."""
    raise NotImplementedError

  def _encoder(self) -> Callable[[Sequence[Source]], list[Row]]:
    return functools.partial(encode_chunk, recipe=self._recipe())

  def _to_example(self) -> Callable[[Row], tuple[str, dict[str, Any]]]:
    return functools.partial(
      example, masks=self.MASKS, difficult=self.DIFFICULT
    )


# (image id, example keys, encoded picture, (height, width), objects)
Row = tuple[int, Mapping[str, Any], bytes, tuple[int, int], Sequence[Object]]


def encode_chunk(
  sources: Sequence[Source], *, recipe: base.Recipe
) -> list[Row]:
  """Return the rows of some sources under one condition; this runs in workers
  too.

  Raises:
    UserError: a broken picture or annotation; the message names it.
  """
  recipe.set_up()
  rows: list[Row] = []
  for source in sources:
    image = source.picture.read()
    size = image.shape[:2]
    known = source.annotation.objects_in(size)
    objects = validated(known, size, source.example_id)
    if not recipe.condition.clean:
      image = pictures.corrupt_one(image, source.example_id, recipe)
    data = pictures.encode(image, recipe.config.codec or pictures.RAW)
    keys = base.example_keys(source.example_id, source.group_id, source.frame)
    rows.append((source.image_id, keys, data, size, objects))
  return rows


def example(
  row: Row, *, masks: bool, difficult: bool
) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it."""
  image_id, keys, data, size, objects = row
  return keys["example_id"], {
    "image": io.BytesIO(data),
    "size": size,
    "image_id": image_id,
    "objects": [_object(o, size, masks, difficult) for o in objects],
    **keys,
  }


def _object(
  obj: Object, size: tuple[int, int], masks: bool, difficult: bool
) -> dict[str, Any]:
  features = {
    "id": obj.id,
    "bbox": normalised(obj.box, size),
    "bbox_px": np.array(obj.box, np.float64),
    "label": obj.label,
    "is_crowd": obj.is_crowd,
    "area": np.float64(obj.area),
  }
  if difficult:
    features["is_difficult"] = obj.is_difficult
  if masks:
    assert obj.mask is not None  # `validated` saw to it
    features["mask"] = {"counts": obj.mask.counts, "size": obj.mask.size}
  return features


def normalised(
  box: tuple[float, float, float, float], size: tuple[int, int]
) -> tfds.features.BBox:
  """Convert (x, y, width, height) in px to (ymin, xmin, ymax, xmax) in [0, 1]."""
  x, y, width, height = box
  rows, columns = size

  def fraction(value: float, length: int) -> float:
    return float(min(max(value / length, 0.0), 1.0))

  return tfds.features.BBox(
    ymin=fraction(y, rows),
    xmin=fraction(x, columns),
    ymax=fraction(y + height, rows),
    xmax=fraction(x + width, columns),
  )


def validated(
  objects: Sequence[Object], size: tuple[int, int], where: str
) -> Sequence[Object]:
  """Return the objects if all of them are valid.

  Args:
    size: (height, width) of the decoded image.
    where: the image's name, for errors.

  Raises:
    UserError: a box of zero area, not finite or outside the image, a mask of
      another size, an id of 0 or a duplicate id; the message names image and
      object.
  """
  height, width = size
  seen = set()
  for obj in objects:
    what = f"{where}, object {obj.id}"
    x, y, w, h = obj.box
    if not all(math.isfinite(v) for v in (*obj.box, obj.area)):
      raise errors.UserError(
        f"{what}: box {obj.box}, area {obj.area} is not finite."
      )
    if w <= 0 or h <= 0 or obj.area <= 0:
      raise errors.UserError(
        f"{what}: zero area: box (x, y, width, height) = {obj.box}, area"
        f" {obj.area}. Remove the object from the annotations."
      )
    if (
      min(x, y) < -OUTSIDE_PX
      or x + w > width + OUTSIDE_PX
      or y + h > height + OUTSIDE_PX
    ):
      raise errors.UserError(
        f"{what}: box (x, y, width, height) = {obj.box} lies outside the image"
        f" of {width} x {height} px. Is it another image's annotation, or"
        " (x1, y1, x2, y2)?"
      )
    if obj.mask is not None and obj.mask.size != size:
      raise errors.UserError(
        f"{what}: the mask is {obj.mask.size[1]} x {obj.mask.size[0]} px, the"
        f" image {width} x {height}."
      )
    if obj.id == 0 or obj.id in seen:
      raise errors.UserError(f"{what}: ids must be unique and not 0.")
    seen.add(obj.id)
  return objects

"""What the detection datasets share: objects, features, corrupted builders.

The protocol of the Robust Detection Benchmark (Michaelis et al. 2019, section
2): pictures are corrupted at full resolution straight after decoding, in RGB,
with the edition `any`; boxes and masks stay as they are. Pictures keep their own
sizes; each is corrupted in its canvas (`corruptions/canvas.py`), so the pixels
are those of `corruptions.corrupt` and of any batch of canvases.

An example is

  image      uint8 `[H, W, 3]`
  size       int32 (H, W), there without decoding the image
  image_id   int64, what COCO-style result files call it
  example_id, group_id, frame
  objects    a sequence of
    id            int64, unique in the split, never 0 (pycocotools takes a match
                  with annotation 0 for none)
    bbox          float32 (ymin, xmin, ymax, xmax) in [0, 1], clipped to the image
    bbox_px       float64 (x, y, width, height) as annotated, 0-based px
    label         class id
    is_crowd      a group: matched by many detections, neither hit nor miss
    area          float64 px, what COCO's size ranges are made of
    is_difficult  VOC only
    mask          counts (COCO's compressed string) and size (height, width);
                  not VOC
"""

from __future__ import annotations

import dataclasses
import functools
import io
import math
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds.datasets import chunks
from robust_tfds.datasets import corrupted
from robust_tfds.datasets import rle

# px. Annotators' boxes may end a pixel outside: rounded coordinates, or VOC's
# 1-based ones.
_OUTSIDE_PX = 1.0
_CHUNK = 8  # pictures a worker takes at once


@dataclasses.dataclass(frozen=True)
class Object:
  """One annotated object.

  Attributes:
    id: unique in the split, not 0.
    label: class id.
    box: (x, y, width, height) in px, 0-based, as annotated.
    area: of the object in px; the mask's where there is one.
    is_crowd: a group of objects.
    is_difficult: VOC's flag.
    mask: None where the dataset has none.
  """

  id: int
  label: int
  box: tuple[float, float, float, float]
  area: float
  is_crowd: bool = False
  is_difficult: bool = False
  mask: rle.Mask | None = None


@dataclasses.dataclass(frozen=True)
class Source:
  """A clean example before decoding; both callables are picklable.

  Attributes:
    example_id: unique and stable: the file's name.
    image_id: unique integer of the image.
    read: returns the picture, uint8 `[H, W, 3]`.
    objects: (height, width) of the picture -> its objects.
    group_id: the sequence; the example itself where there is none.
    frame: number in the sequence.
  """

  example_id: str
  image_id: int
  read: Callable[[], np.ndarray]
  objects: Callable[[tuple[int, int]], Sequence[Object]]
  group_id: str = ""
  frame: int = 0


def features(
  label: Any, *, encoding: str = "png", masks: bool, difficult: bool
) -> tfds.features.FeaturesDict:
  """The features of a detection dataset, see the header.

  Args:
    label: a ClassLabel.
    encoding: `png` or `jpeg`.
    masks: objects have masks.
    difficult: objects have `is_difficult`.
  """
  # TFDS would round float64 to float32 without the encoding.
  one = {
    "id": np.int64,
    "bbox": tfds.features.BBoxFeature(),
    "bbox_px": tfds.features.Tensor(
      shape=(4,), dtype=np.float64, encoding="bytes"
    ),
    "label": label,
    "is_crowd": np.bool_,
    "area": tfds.features.Tensor(shape=(), dtype=np.float64, encoding="bytes"),
  }
  if difficult:
    one["is_difficult"] = np.bool_
  if masks:
    one["mask"] = {
      "counts": tfds.features.Text(),
      "size": tfds.features.Tensor(shape=(2,), dtype=np.int32),
    }
  return tfds.features.FeaturesDict(
    {
      "image": tfds.features.Image(
        shape=(None, None, 3), encoding_format=encoding
      ),
      "size": tfds.features.Tensor(shape=(2,), dtype=np.int32),
      "image_id": np.int64,
      "example_id": tfds.features.Text(),
      "group_id": tfds.features.Text(),
      "frame": np.int32,
      "objects": tfds.features.Sequence(one),
    }
  )


class DetectionBuilder(
  corrupted.CorruptedBuilder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Base of the corrupted detection datasets.

  `CATEGORY_IDS`: by label, what COCO-style result files call the classes; empty:
  label + 1.
  """

  EDITION = "any"
  CATEGORY_IDS: tuple[int, ...] = ()
  OTHER_CODECS = ("jpeg85",)
  MASKS = True
  DIFFICULT = False

  def detection_features(self, names: Sequence[str]) -> Any:
    """Features under the config's codec, for these class names in order."""
    return features(
      tfds.features.ClassLabel(names=list(names)),
      encoding="png" if self.builder_config.codec == "raw" else "jpeg",
      masks=self.MASKS,
      difficult=self.DIFFICULT,
    )

  def _generate_examples(self, sources: Sequence[Source]) -> Any:
    config = self.builder_config
    work = functools.partial(
      encode_chunk,
      dataset=self.name,
      corruption=config.corruption,
      severity=config.severity,
      codec=config.codec,
      seed=config.seed,
      frost_dir=self._frost_dir,
    )
    return chunks.examples(
      work,
      chunks.split(sources, _CHUNK),
      functools.partial(example, masks=self.MASKS, difficult=self.DIFFICULT),
      workers=self.workers,
      beam=self.beam,
    )


Row = tuple[Source, bytes, tuple[int, int], Sequence[Object]]


def encode_chunk(
  sources: Sequence[Source],
  *,
  dataset: str,
  corruption: str,
  severity: int,
  codec: str,
  seed: int,
  frost_dir: str | None = None,
) -> list[Row]:
  """(source, encoded bytes, (height, width), objects) under one condition.

  Runs in worker processes too: all it needs comes as arguments.

  Raises:
    ValueError: a broken picture or annotation; names it.
  """
  if frost_dir:
    from robust_tfds.corruptions import frost_pictures

    frost_pictures.use_folder(frost_dir)
  rows = []
  for source in sources:
    image = source.read()
    size = image.shape[:2]
    objects = checked(source.objects(size), size, source.example_id)
    if corruption:
      image = corrupt(
        image, source.example_id, dataset, corruption, severity, seed
      )
    # Without the callables: the annotations need not travel back.
    light = dataclasses.replace(source, read=_gone, objects=_gone)
    rows.append((light, corrupted.encode(image, codec), size, objects))
  return rows


def corrupt(
  image: np.ndarray,
  example_id: str,
  dataset: str,
  corruption: str,
  severity: int,
  seed: int = 0,
) -> np.ndarray:
  """One picture of any size under one condition: uint8 `[H, W, 3]`."""
  from robust_tfds import corruptions

  key = corruptions.example_key(seed, dataset, corruption, severity, example_id)
  return np.asarray(
    corruptions.corrupt(image, corruption, severity, edition="any", key=key)
  )


def example(
  row: Row, *, masks: bool, difficult: bool
) -> tuple[str, dict[str, Any]]:
  """(key, example) as TFDS takes it."""
  source, data, size, objects = row
  return source.example_id, {
    "image": io.BytesIO(data),
    "size": size,
    "image_id": source.image_id,
    "example_id": source.example_id,
    "group_id": source.group_id or source.example_id,
    "frame": source.frame,
    "objects": [_object(o, size, masks, difficult) for o in objects],
  }


def _object(
  one: Object, size: tuple[int, int], masks: bool, difficult: bool
) -> dict[str, Any]:
  out = {
    "id": one.id,
    "bbox": normalised(one.box, size),
    "bbox_px": np.array(one.box, np.float64),
    "label": one.label,
    "is_crowd": one.is_crowd,
    "area": np.float64(one.area),
  }
  if difficult:
    out["is_difficult"] = one.is_difficult
  if masks:
    assert one.mask is not None  # `checked` saw to it
    out["mask"] = {"counts": one.mask.counts, "size": one.mask.size}
  return out


def normalised(
  box: tuple[float, float, float, float], size: tuple[int, int]
) -> tfds.features.BBox:
  """(x, y, width, height) in px as (ymin, xmin, ymax, xmax) in [0, 1]."""
  x, y, width, height = box
  rows, columns = size

  def part(value: float, whole: int) -> float:
    return float(min(max(value / whole, 0.0), 1.0))

  return tfds.features.BBox(
    ymin=part(y, rows),
    xmin=part(x, columns),
    ymax=part(y + height, rows),
    xmax=part(x + width, columns),
  )


def checked(
  objects: Sequence[Object], size: tuple[int, int], where: str
) -> Sequence[Object]:
  """The objects, if all of them are sound.

  Args:
    objects: of one image.
    size: (height, width) of the decoded image.
    where: the image's name, for errors.

  Raises:
    ValueError: a box of zero area, not finite or outside the image, a mask of
      another size, an id of 0 or one used twice; names image and object.
  """
  height, width = size
  seen = set()
  for one in objects:
    what = f"{where}, object {one.id}"
    x, y, w, h = one.box
    if not all(math.isfinite(v) for v in (*one.box, one.area)):
      raise ValueError(f"{what}: box {one.box}, area {one.area} is not finite.")
    if w <= 0 or h <= 0 or one.area <= 0:
      raise ValueError(
        f"{what}: zero area: box (x, y, width, height) = {one.box}, area"
        f" {one.area}. Remove the object from the annotations."
      )
    if (
      min(x, y) < -_OUTSIDE_PX
      or x + w > width + _OUTSIDE_PX
      or y + h > height + _OUTSIDE_PX
    ):
      raise ValueError(
        f"{what}: box (x, y, width, height) = {one.box} lies outside the image"
        f" of {width} x {height} px. Is it another image's annotation?"
      )
    if one.mask is not None and one.mask.size != size:
      raise ValueError(
        f"{what}: the mask is {one.mask.size[1]} x {one.mask.size[0]} px, the"
        f" image {width} x {height}."
      )
    if one.id == 0 or one.id in seen:
      raise ValueError(f"{what}: ids must be unique and not 0.")
    seen.add(one.id)
  return objects


def _gone(*_: Any) -> Any:
  raise RuntimeError("The source was used already.")

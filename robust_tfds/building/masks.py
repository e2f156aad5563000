"""The base of segmentation datasets: pictures of any size and their class maps.

Pictures are corrupted at full resolution straight after decoding, in RGB, with the
edition `any`, as of detection (`objects.py`). Masks are those of the clean
pictures: no protocol warps them where a corruption moves pixels
(docs/evidence/specs/segmentation.md, section 3).

An example is

  image      uint8 `[H, W, 3]`
  mask       uint8 `[H, W, 1]`, class ids; 255 does not count
  classes    the ids that are in the mask
  example_id, group_id (the picture), frame
  city       Cityscapes only
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions, errors
from robust_tfds.building import base, jpeg_feature, pictures, scratch
from robust_tfds.building import source as source_lib
from robust_tfds.building.sources import frost


class Labels(Protocol):
  """A picklable reference to a picture's classes, which are read on demand."""

  def labels(self) -> np.ndarray:
    """Return class ids, uint8 `[H, W]`; 255 does not count."""


@dataclasses.dataclass(frozen=True)
class _KeptLabels:
  """Classes in a scratch folder."""

  pixels: scratch.Pixels

  def labels(self) -> np.ndarray:
    """Return class ids, uint8 `[H, W]`."""
    return self.pixels.read()


@dataclasses.dataclass(frozen=True)
class Source(source_lib.Part):
  """A clean example before decoding.

  Attributes:
    example_id: unique and stable: the file's name.
    picture: a picture of any size.
    mask: its classes.
    city: of Cityscapes.
  """

  example_id: str
  picture: pictures.Picture
  mask: Labels
  city: str = ""

  def read(self) -> tuple[np.ndarray, np.ndarray]:
    """Return the picture, uint8 `[H, W, 3]`, and its classes, uint8 `[H, W]`.

    Raises:
      UserError: a broken file, or two sizes.
    """
    image, mask = self.picture.read(), self.mask.labels()
    if mask.shape != image.shape[:2]:
      raise errors.UserError(
        f"{self.example_id}: the mask is {mask.shape[1]} x {mask.shape[0]} px, the"
        f" picture {image.shape[1]} x {image.shape[0]}. A mask has a class for"
        " every pixel of its picture: do not resize it."
      )
    return image, mask

  def decoded(self, folder: str) -> Source:
    """Return the example with pixels and classes in a scratch folder."""
    image, mask = self.read()
    return dataclasses.replace(
      self,
      picture=scratch.keep_picture(folder, image),
      mask=_KeptLabels(scratch.keep_picture(folder, mask)),
    )


class Builder(
  base.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the segmentation datasets.

  Attributes:
    CITIES: examples have a `city`.
  """

  KIND = "masks"
  FAMILY: ClassVar[conditions.Family | None] = conditions.PICTURES
  EDITION = "any"
  CODECS: ClassVar[tuple[str, ...]] = (pictures.RAW,)
  CHUNK = 8
  MANUAL_DOWNLOAD_INSTRUCTIONS = frost.INSTRUCTIONS
  CITIES: ClassVar[bool] = False

  def example_features(self) -> dict[str, Any]:
    """Return the features of a picture and its classes, see the module."""
    return {
      "image": jpeg_feature.picture((None, None, 3), lossless=True),
      "mask": tfds.features.Image(shape=(None, None, 1), encoding_format="png"),
      "classes": tfds.features.Sequence(self.label_feature()),
      **({"city": tfds.features.Text()} if self.CITIES else {}),
    }

  def _sources(self, dl_manager: Any) -> Sequence[Source]:
    """Return the clean examples; implemented by each dataset."""
    raise NotImplementedError

  def _encoder(self) -> Callable[[Sequence[Source]], list[Row]]:
    return functools.partial(encode_chunk, recipe=self._recipe())

  def _to_example(self) -> Callable[[Row], tuple[str, dict[str, Any]]]:
    return functools.partial(example, cities=self.CITIES)


# (example keys, picture's file, mask's file, classes that are there, city)
Row = tuple[Mapping[str, Any], bytes, bytes, Sequence[int], str]


def encode_chunk(
  sources: Sequence[Source], *, recipe: base.Recipe
) -> list[Row]:
  """Return the rows of some sources under one condition; this runs in workers
  too.

  Raises:
    UserError: a broken picture or mask; the message names it.
  """
  recipe.set_up()
  rows: list[Row] = []
  for source in sources:
    image, mask = source.read()
    if not recipe.condition.clean:
      image = pictures.corrupt_one(image, source.example_id, recipe)
    files = pictures.encode(image, pictures.RAW), encode(mask)
    there = [i for i in np.unique(mask).tolist() if i != 255]
    keys = base.example_keys(source.example_id)
    rows.append((keys, *files, there, source.city))
  return rows


def encode(mask: np.ndarray) -> bytes:
  """Return class ids, uint8 `[H, W]`, as a PNG of 8-bit grey."""
  return pictures.encode(mask, pictures.RAW)


def example(row: Row, *, cities: bool) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it."""
  keys, image, mask, there, city = row
  return keys["example_id"], {
    "image": io.BytesIO(image),
    "mask": io.BytesIO(mask),
    "classes": there,
    **({"city": city} if cities else {}),
    **keys,
  }

"""COCO val2017: its pictures, and its instances JSON as objects with RLE masks."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from robust_tfds import errors
from robust_tfds.datasets import objects
from robust_tfds.datasets import rle
from robust_tfds.datasets.sources import archives

_IMAGES = ("val2017", ("val2017.zip",))
_ANNOTATIONS = ("annotations", ("annotations_trainval2017.zip",))
_JSON = "instances_val2017.json"
INSTRUCTIONS = """\
COCO 2017 from https://cocodataset.org in the manual dir, as downloaded
(val2017.zip, annotations_trainval2017.zip) or unpacked:
  val2017/000000000139.jpg ... (5,000 pictures)
  annotations/instances_val2017.json
Polygons need pycocotools: pip install 'robust_tfds[detection]'."""


@dataclasses.dataclass(frozen=True)
class Image:
  """One entry of `images` with its annotations.

  Attributes:
    id: COCO's image id.
    file_name: of the picture.
    size: (height, width).
    annotations: entries of `annotations`, as parsed.
  """

  id: int
  file_name: str
  size: tuple[int, int]
  annotations: tuple[Mapping[str, Any], ...]


@functools.cache
def categories() -> dict[int, str]:
  """COCO's 80 categories: id -> name; the rank of the id is the label."""
  path = pathlib.Path(__file__).with_name("coco_categories.txt")
  lines = path.read_text("utf-8").splitlines()
  pairs = (line.split(" ", 1) for line in lines)
  return {int(number): name for number, name in pairs}


@functools.cache
def labels() -> dict[int, int]:
  """Category id -> label 0..79."""
  return {number: i for i, number in enumerate(sorted(categories()))}


def sources(manual_dir: os.PathLike | str) -> list[objects.Source]:
  """All pictures with their objects, by id.

  Raises:
    FileNotFoundError: the pictures or annotations are not there.
    UserError: as `parse`.
  """
  find = functools.partial(archives.find, manual_dir, instructions=INSTRUCTIONS)
  annotations = find(*_ANNOTATIONS, marker=_JSON)[_JSON]
  pictures = find(*_IMAGES)
  return [_source(i, pictures) for i in parse(annotations.data(), _JSON)]


def parse(data: bytes, where: str) -> list[Image]:
  """Reads the JSON and checks that it is whole.

  Args:
    data: the file's bytes.
    where: its name, for errors.

  Returns:
    The images by id.

  Raises:
    UserError: broken JSON, missing fields, an id or file name used twice,
      annotations of images or categories that are not there, categories that
      are not COCO's.
  """
  try:
    content = json.loads(data)
  except ValueError as e:
    raise errors.UserError(
      f"{where} is not valid JSON ({e}); unpack or download it again."
    ) from e
  try:
    for entry in content["categories"]:
      _check_category(entry, where)
    images = _unique(content["images"], "id", where, "image")
    _unique(content["images"], "file_name", where, "image")
    rows = _unique(content["annotations"], "id", where, "annotation")
    of_image: dict[int, list] = {number: [] for number in images}
    for row in rows.values():
      if row["image_id"] not in of_image:
        raise errors.UserError(
          f"{where}: annotation {row['id']} belongs to image"
          f" {row['image_id']}, which is not among its images."
        )
      of_image[row["image_id"]].append(row)
    return [
      Image(
        number,
        str(images[number]["file_name"]),
        (int(images[number]["height"]), int(images[number]["width"])),
        tuple(of_image[number]),
      )
      for number in sorted(images)
    ]
  except (KeyError, TypeError, AttributeError) as e:
    raise errors.UserError(
      f"{where} is not a COCO instances file: {type(e).__name__} {e}. Expected"
      " images, annotations and categories, as in instances_val2017.json."
    ) from e


def objects_of(image: Image, size: tuple[int, int]) -> list[objects.Object]:
  """The objects of an image, by id.

  Args:
    image: from `parse`.
    size: (height, width) of the decoded picture.

  Raises:
    UserError: a picture or mask of another size than the JSON says, an unknown
      category, a broken mask or box.
  """
  where = image.file_name
  if tuple(size) != image.size:
    raise errors.UserError(
      f"{where} is {size[1]} x {size[0]} px, the annotations say"
      f" {image.size[1]} x {image.size[0]}. Replace the picture by the original."
    )
  rows = sorted(image.annotations, key=lambda row: row["id"])
  return [_object(row, image.size, where) for row in rows]


def _source(
  image: Image, pictures: Mapping[str, archives.File]
) -> objects.Source:
  if image.file_name not in pictures:
    raise FileNotFoundError(
      f"{_JSON} has image {image.id}, {image.file_name!r}, with"
      f" {len(image.annotations)} annotations; there is no such file in"
      f" {_IMAGES[0]} ({len(pictures)} files)."
    )
  return objects.Source(
    image.file_name,
    image_id=image.id,
    read=functools.partial(archives.picture, pictures[image.file_name]),
    objects=functools.partial(objects_of, image),
  )


def _object(
  row: Mapping[str, Any], size: tuple[int, int], where: str
) -> objects.Object:
  what = f"{where}, annotation {row['id']}"
  if row.get("category_id") not in labels():
    raise errors.UserError(
      f"{what}: category {row.get('category_id')!r} is not one of COCO's 80."
    )
  try:
    x, y, width, height = (float(v) for v in row["bbox"])
    return objects.Object(
      id=int(row["id"]),
      label=labels()[row["category_id"]],
      box=(x, y, width, height),
      area=float(row["area"]),
      is_crowd=bool(row.get("iscrowd", 0)),
      mask=_mask(row["segmentation"], size),
    )
  except errors.MissingPackageError:
    raise
  except errors.UserError as e:
    raise errors.UserError(f"{what}: {e}") from e
  except (KeyError, TypeError, ValueError) as e:
    raise errors.UserError(f"{what}: {type(e).__name__}: {e}") from e


def _mask(segmentation: Any, size: tuple[int, int]) -> rle.Mask:
  """Polygons, runs or the compressed string as a compressed mask."""
  if isinstance(segmentation, Sequence):
    return rle.from_polygons(segmentation, size)
  stated = tuple(int(v) for v in segmentation["size"])
  if stated != size:
    raise errors.UserError(
      f"the mask's size (height, width) is {stated}, the image's {size}."
    )
  runs = segmentation["counts"]
  if isinstance(runs, str):
    mask = rle.Mask(runs, size)
    rle.counts(mask)  # refuses a broken string
    return mask
  return rle.from_counts(runs, size)


def _check_category(entry: Mapping[str, Any], where: str) -> None:
  number, name = entry["id"], entry["name"]
  if categories().get(number) != name:
    raise errors.UserError(
      f"{where}: category {number} is {name!r}; COCO's is"
      f" {categories().get(number)!r}."
    )


def _unique(
  entries: Sequence[Mapping[str, Any]], key: str, where: str, kind: str
) -> dict[Any, Mapping[str, Any]]:
  by_key: dict[Any, Mapping[str, Any]] = {}
  for entry in entries:
    if entry[key] in by_key:
      raise errors.UserError(f"{where}: two {kind}s have {key} {entry[key]!r}.")
    by_key[entry[key]] = entry
  return by_key

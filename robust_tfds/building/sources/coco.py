"""COCO 2017: its pictures, and its instances JSON as objects with RLE masks."""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from robust_tfds import errors, reading
from robust_tfds.building import objects, source
from robust_tfds.building.sources import folders
from robust_tfds.coco import rle
from robust_tfds.coco import rows as coco_rows

VALIDATION, TRAIN = "val2017", "train2017"
_ANNOTATIONS = ("annotations", ("annotations_trainval2017.zip",))
_INSTRUCTIONS = """\
COCO 2017 from https://cocodataset.org in the manual dir, as downloaded
({part}.zip, annotations_trainval2017.zip) or unpacked:
  {part}/{first:012d}.jpg ... ({count:,} pictures)
  annotations/instances_{part}.json
Polygons need pycocotools: pip install 'robust_tfds[detection]'."""
INSTRUCTIONS = _INSTRUCTIONS.format(part=VALIDATION, first=139, count=5_000)
TRAIN_INSTRUCTIONS = _INSTRUCTIONS.format(part=TRAIN, first=9, count=118_287)


@dataclasses.dataclass(frozen=True)
class Image(source.Part):
  """One entry of `images` with its annotations.

  Attributes:
    id: COCO's image id.
    file_name: the picture's file name.
    size: (height, width).
    annotations: entries of `annotations`, as parsed.
    json: the file that contains them.
  """

  json: ClassVar[str] = f"instances_{VALIDATION}.json"
  id: int
  file_name: str
  size: tuple[int, int]
  annotations: tuple[Mapping[str, Any], ...]

  def objects_in(self, size: tuple[int, int]) -> list[objects.Object]:
    """Return the objects, by id.

    Args:
      size: (height, width) of the decoded picture.

    Raises:
      UserError: a picture or mask of another size than the JSON says, an unknown
        category, a broken mask or box.
    """
    where = self.file_name
    if tuple(size) != self.size:
      raise errors.UserError(
        f"{where} is {size[1]} x {size[0]} px, the annotations say"
        f" {self.size[1]} x {self.size[0]}. Replace the picture by the original."
      )
    rows = sorted(self.annotations, key=lambda row: row["id"])
    try:
      return add_masks(objects_of(rows, labels()), rows, self.size)
    except errors.MissingPackageError:
      raise
    except errors.UserError as e:
      raise errors.UserError(f"{self.json}: {where}, {e}") from e


class _TrainImage(Image):
  """An entry of the training pictures."""

  json = f"instances_{TRAIN}.json"


@functools.cache
def categories() -> dict[int, str]:
  """Return COCO's 80 categories, id -> name; the rank of the id is the label."""
  path = pathlib.Path(__file__).with_name("coco_categories.txt")
  lines = path.read_text("utf-8").splitlines()
  pairs = (line.split(" ", 1) for line in lines)
  return {int(number): name for number, name in pairs}


@functools.cache
def labels() -> dict[int, int]:
  """Return category id -> label 0..79."""
  return {number: i for i, number in enumerate(sorted(categories()))}


def sources(
  manual_dir: os.PathLike | str, part: str = VALIDATION
) -> list[objects.Source]:
  """Return all pictures of a part with their objects, by id.

  Args:
    part: `VALIDATION` or `TRAIN`.

  Raises:
    FileNotFoundError: the pictures or annotations are missing.
    UserError: see `parse`.
  """
  instructions = TRAIN_INSTRUCTIONS if part == TRAIN else INSTRUCTIONS
  find = functools.partial(folders.find, manual_dir, instructions=instructions)
  name = f"instances_{part}.json"
  annotations = find(*_ANNOTATIONS, marker=name)[name]
  pictures = find(part, (f"{part}.zip",))
  kind = _TrainImage if part == TRAIN else Image
  images = [kind(**vars(each)) for each in parse(annotations.data(), name)]
  return [_source(image, pictures, part) for image in images]


def parse(data: bytes, where: str) -> list[Image]:
  """Read and check the JSON.

  Returns:
    The images by id.

  Raises:
    UserError: broken JSON, missing fields, ids that are no whole numbers, a
      duplicate id or file name, annotations of missing images, categories that
      are not COCO's, images without a size.
  """
  content = reading.json_text(data, where)
  try:
    _check_categories(category_rows(content))
    return images_of(content)
  except errors.UserError as e:
    raise errors.UserError(f"{where}: {e}") from e


def category_rows(content: Any) -> coco_rows.Rows:
  """Return the categories of a parsed JSON.

  Raises:
    UserError: it is not a COCO instances file.
  """
  parts = ("images", "annotations", "categories")
  if not isinstance(content, Mapping) or not all(p in content for p in parts):
    raise errors.UserError(
      "not a COCO instances file. Expected images, annotations and categories,"
      " as in instances_val2017.json."
    )
  return coco_rows.Rows.from_list(
    content["categories"], "Category", field="categories"
  )


def images_of(content: Mapping[str, Any]) -> list[Image]:
  """Return the images of a parsed JSON with their annotations, by id.

  Raises:
    UserError: see `parse`, without its checks of categories.
  """
  images = coco_rows.Rows.from_list(content["images"], "Image", "id", "images")
  if not images.rows:
    raise errors.UserError("images: the list is empty, expected images.")
  ids = images.unique("id")
  names = images.names("file_name")
  sizes = images.sizes(needed=True)
  rows = coco_rows.Rows.from_list(
    content["annotations"], "Annotation", "id", "annotations"
  )
  rows.unique("id")
  of_image: dict[int, list] = {number: [] for number in ids}
  for row, image_id in zip(
    rows.rows, rows.known_ids("image_id", "image", of_image)
  ):
    of_image[image_id].append(row)
  return sorted(
    (
      Image(number, name, size, tuple(of_image[number]))
      for number, name, size in zip(ids, names, sizes, strict=True)
    ),
    key=lambda image: image.id,
  )


def _source(
  image: Image, pictures: Mapping[str, source.File], part: str
) -> objects.Source:
  if image.file_name not in pictures:
    raise FileNotFoundError(
      f"instances_{part}.json has image {image.id}, {image.file_name!r}, with"
      f" {len(image.annotations)} annotations; there is no such file in"
      f" {part} ({len(pictures)} files)."
    )
  return objects.Source(
    image.file_name,
    image_id=image.id,
    picture=source.Picture(pictures[image.file_name]),
    annotation=image,
  )


def objects_of(
  annotations: Sequence[Mapping[str, Any]],
  labels: Mapping[int, int],
  *,
  areas_may_lack: bool = False,
) -> list[objects.Object]:
  """Return an image's objects, without their masks.

  Args:
    annotations: entries of `annotations`, as parsed.
    labels: category id -> label.
    areas_may_lack: whether a missing area is replaced by that of the box.

  Raises:
    UserError: an unknown category, or an invalid field.
  """
  rows = coco_rows.Rows.from_list(annotations, "annotation", "id")
  ids = rows.ids("id")
  category_ids = rows.ids("category_id")
  for i, number in enumerate(category_ids):
    if number not in labels:
      raise errors.UserError(
        f"{rows.name(i)}: category {number} is not one of the {len(labels)}"
        " categories."
      )
  boxes = rows.boxes()
  areas = (
    rows.areas(boxes)
    if areas_may_lack
    else rows.numbers("area", "a finite number expected")
  )
  crowd = rows.flags("iscrowd")
  return [
    objects.Object(
      id=ids[i],
      label=labels[category_ids[i]],
      box=tuple(boxes[i].tolist()),
      area=float(areas[i]),
      is_crowd=crowd[i],
    )
    for i in range(len(ids))
  ]


def add_masks(
  box_objects: Sequence[objects.Object],
  annotations: Sequence[Mapping[str, Any]],
  size: tuple[int, int],
) -> list[objects.Object]:
  """Return the objects of an image of some (height, width) with their masks.

  Raises:
    UserError: see `Rows.masks`.
  """
  rows = coco_rows.Rows.from_list(annotations, "annotation", "id")
  masks = rows.masks([size] * len(annotations), polygons=rle.from_polygons)
  return [
    dataclasses.replace(each, mask=_mask(mask))
    for each, mask in zip(box_objects, masks, strict=True)
  ]


def _mask(mask: Any) -> rle.Mask:
  if isinstance(mask, rle.Mask):
    return mask
  height, width = mask["size"]
  return rle.Mask(mask["counts"], (height, width))


def _check_categories(rows: coco_rows.Rows) -> None:
  pairs = zip(rows.unique("id"), rows.names("name"), strict=True)
  for number, name in pairs:
    if categories().get(number) != name:
      raise errors.UserError(
        f"category {number} is {name!r}; COCO's is {categories().get(number)!r}."
      )

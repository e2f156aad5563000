"""`coco:FILE.json`: pictures with boxes, and perhaps masks, in COCO's format.

Categories may have any ids and names; in the order of their ids they are the
classes 0, 1, ... `file_name` is a path below the folder `images`, by default the
folder of the file; in Unicode's NFC it is also the example's id. Annotations need
`id`, `image_id`, `category_id` and `bbox`. Without `area`, the area of the box is
used; unless all have a `segmentation`, only boxes are evaluated.
"""

import collections
import dataclasses
import functools
import json
import os
import posixpath
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from etils import epath

from robust_tfds import errors, reading
from robust_tfds.building import base, objects, own_set, source
from robust_tfds.building.sources import coco
from robust_tfds.reading import picture_folders, pictures
from robust_tfds.storage import paths
from robust_tfds.user_data import folder, labelled

_JSON_FOLDER = "annotations"  # in COCO's layout; it names no set
_LISTED = 10  # categories that are printed
_OPTIONAL = ("area", "iscrowd", "segmentation")  # of an annotation
_TURNED = 5  # EXIF orientations from here on swap height and width
_ROUNDED_PX = 0.01  # outside by no more: decimals of coordinates


class Coco(own_set.OwnSet):
  """The pictures of a COCO instances file.

  Attributes:
    category_ids: the category ids, by label.
    has_masks: whether every annotation has a mask.
    sources: the examples.
  """

  kind = "coco"
  sources: Sequence[Any]

  def __init__(
    self, file: epath.Path, images: epath.Path, name: str, where: str
  ):
    """Read the file and list the pictures.

    Raises:
      UserError: a file that is none, or names pictures that are not there.
    """
    content = reading.json_file(file)
    with errors.prefixed(where):
      rows = coco.category_rows(content)
      names = dict(zip(rows.unique("id"), rows.names("name"), strict=True))
      self.category_ids = tuple(sorted(names))
      listed = [_without_null(image) for image in coco.images_of(content)]
      notes, self.has_masks = _annotation_notes([i.annotations for i in listed])
      classes = [names[i] for i in self.category_ids]
      super().__init__(name, where, classes, notes=notes)
      there, _ = folder.files(images, f"images={images}: the pictures")
      files = _files(listed, there, images)
      known = self._objects(listed)
      boxes = [(i.size, o) for i, each in zip(listed, known) for o in each]
      self.notes = [*self.notes, *self._box_notes(boxes)]
    self.sources = [
      self._source(*parts) for parts in zip(listed, files, known, strict=True)
    ]
    self._stated_sizes = {f.name: i.size for f, i in zip(files, listed)}

  def files(self) -> Sequence[source.File]:
    """Return the files of the pictures."""
    return [each.picture.file for each in self.sources]

  def decode(self, file: source.File) -> None:
    """Decode a picture; refuse another size than its annotations state."""
    self._pictures[file.name].read()

  @functools.cached_property
  def _pictures(self) -> dict[str, Any]:
    return {each.picture.file.name: each.picture for each in self.sources}

  def described(self) -> Sequence[str]:
    """Return the classes, and each picture's annotations."""
    lines: list[Any] = [self.classes]
    for each in self.sources:
      rows = each.annotation.rows
      facts = [
        (o.label, o.box, o.area, o.is_crowd) for o in each.annotation.found
      ]
      masks = [row["segmentation"] for row in rows]
      lines.append([each.image_id, each.example_id, facts, masks])
    return [json.dumps(line) for line in lines]

  def file_notes(self, file: source.File) -> Sequence[str]:
    """Return a note if EXIF data ask to turn the picture."""
    where = picture_folders.printable(file.path)
    turn, stored = pictures.turn_mark(file.path, where)
    if turn == 1:
      return ()
    upright = _is_upright(where, turn, stored, self._stated_sizes[file.name])
    taken = "turned upright" if upright else "as stored"
    return [
      f"pictures with an EXIF rotation, used {taken} as the sizes in the file"
      " require"
    ]

  def _objects(
    self, images: Sequence[coco.Image]
  ) -> list[tuple[objects.Object, ...]]:
    """Return each picture's objects by id; an id of 0, which COCO forbids, is
    replaced by a free one.
    """
    labels = {number: i for i, number in enumerate(self.category_ids)}
    free = 1 + max(int(row["id"]) for i in images for row in i.annotations)
    out = []
    for image in images:
      where = f"image {image.id} ({image.file_name})"
      try:
        found = coco.objects_of(_rows(image), labels, areas_may_lack=True)
      except errors.UserError as e:
        raise errors.UserError(f"{where}, {e}") from e
      found = [dataclasses.replace(o, id=o.id or free) for o in found]
      out.append(tuple(objects.validated(found, image.size, where)))
    return out

  def _box_notes(self, boxes: Sequence[tuple[Any, objects.Object]]) -> Any:
    """Return notes about the boxes of pictures of a size; set `annotated`.

    Raises:
      UserError: the boxes are fractions of their pictures.
    """
    height, width = np.array([size for size, _ in boxes]).T
    x, y, wide, high = np.array([o.box for _, o in boxes]).T
    if max(x + wide) <= 1 and max(y + high) <= 1:
      raise errors.UserError(
        f"bbox: all {len(boxes):,} boxes lie within 1 px. Expected (x, y, width,"
        " height) in px: multiply fractions by the picture's width and height."
      )
    labels = {o.label for _, o in boxes}
    without = [n for i, n in enumerate(self.classes) if i not in labels]
    if without:
      self.annotated = [self.classes[i] for i in sorted(labels)]
    far = np.max([-x, -y, x + wide - width, y + high - height], axis=0)
    outside = f"boxes up to {objects.OUTSIDE_PX:g} px outside of their pictures"
    counts = {
      f"categories without boxes ({', '.join(without[:_LISTED])})": len(
        without
      ),
      f"{outside}, taken as they are": int((far > _ROUNDED_PX).sum()),
    }
    return own_set.counted(counts)

  def _source(
    self, image: coco.Image, file: source.File, box_objects: Any
  ) -> objects.Source:
    rows = tuple(_rows(image)) if self.has_masks else ()
    return objects.Source(
      file.name,
      image_id=image.id,
      picture=StatedPicture(file, size=image.size),
      annotation=_Annotation(box_objects, file.name, rows),
    )


@dataclasses.dataclass(frozen=True)
class StatedPicture(source.Picture):
  """A picture whose (height, width) is stated by its annotations.

  Attributes:
    size: the stated size.
    stated: who states it, in words.
  """

  size: tuple[int, int] = (0, 0)
  stated: str = "its annotations state"

  def read(self) -> np.ndarray:
    """Read uint8 `[H, W, 3]`, as stored or upright, whichever has the size.

    Raises:
      UserError: broken, of another size, or with an EXIF rotation of which the
        size does not tell whether the boxes have it too.
    """
    where = self.file.where
    with pictures.opened(self.file.data(), where) as image:
      turn, stored = pictures.orientation(image), image.size[::-1]
      if turn > 1 and _is_upright(where, turn, stored, self.size):
        image, stored = pictures.upright(image, turn), stored[::-1]
      if self.size != stored:
        raise errors.UserError(
          f"{where} is {_words(stored)}, {self.stated}"
          f" {_words(self.size)}. Replace it by the picture that was annotated."
        )
      return np.asarray(pictures.rgb(image, where))


@dataclasses.dataclass(frozen=True)
class _Annotation(source.Part):
  """A picture's objects, with the masks of `rows` if there are any."""

  found: tuple[objects.Object, ...]
  where: str
  rows: tuple[Mapping[str, Any], ...] = ()

  def objects_in(self, size: tuple[int, int]) -> Sequence[objects.Object]:
    """Return the objects, by id."""
    if not self.rows:
      return self.found
    try:
      return coco.add_masks(self.found, self.rows, size)
    except errors.MissingPackageError:
      raise
    except errors.UserError as e:
      raise errors.UserError(f"{self.where}: {e}") from e


class _Boxes(
  objects.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The builder of pictures that are corrupted whole; detectors resize them."""

  OWN: ClassVar[Coco]

  def _sources(self, dl_manager: object) -> Sequence[objects.Source]:
    del dl_manager
    return self.OWN.sources


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """Return the builder of a COCO file's pictures; see `Coco`."""
  file = paths.parse(place, "coco")
  parent = os.path.dirname(place) or os.curdir
  images = paths.parse(options.images or parent, "images")
  if not images.is_dir():
    raise errors.UserError(
      f"images={images}: no such folder. Expected the folder in which the paths"
      f" under file_name in {place} begin."
    )
  name = options.name or picture_folders.name_of(parent)
  if name == _JSON_FOLDER:
    name = picture_folders.name_of(os.path.join(parent, os.pardir))
  own = Coco(file, paths.resolved(images), name, f"coco:{place}")
  if options.skip_errors:
    whole = {each.name for each in own.without_broken(own.files())}
    own.sources = [s for s in own.sources if s.example_id in whole]
  made: Any = labelled.subclass(_Boxes, own, "coco_own_c")
  made.CATEGORY_IDS, made.MASKS = own.category_ids, own.has_masks
  return made  # type: ignore[no-any-return]


def _without_null(image: coco.Image) -> coco.Image:
  """Return the image without optional fields that are null."""
  rows = [
    {k: v for k, v in row.items() if v is not None or k not in _OPTIONAL}
    for row in image.annotations
  ]
  return dataclasses.replace(image, annotations=tuple(rows))


def _is_upright(
  where: str, turn: int, stored: tuple[int, int], size: tuple[int, int]
) -> bool:
  """Return whether the boxes belong to the picture after its EXIF rotation.

  Raises:
    UserError: its size is the same with and without the rotation.
  """
  upright = stored[::-1] if turn >= _TURNED else stored
  if upright == stored:
    raise errors.UserError(
      f"{where}: its EXIF data ask viewers to turn it (orientation {turn}), and"
      f" the size in the annotations, {_words(size)}, does not tell whether the"
      " boxes are turned too. Save it turned, or remove the EXIF orientation,"
      " whichever was annotated."
    )
  return size == upright


def _annotation_notes(
  annotations: Sequence[Sequence[Mapping[str, Any]]],
) -> tuple[list[str], bool]:
  """Return notes about each image's annotations, and whether all have masks."""
  rows = [row for each in annotations for row in each]
  if not rows:
    raise errors.UserError("annotations: expected boxes, got an empty list.")
  without = sum(not row.get("segmentation") for row in rows)
  counts = {
    "pictures without annotations": sum(not each for each in annotations),
    "annotations without a mask, so only boxes are evaluated": without,
    "annotations without an area, so their box's area is used": sum(
      "area" not in row for row in rows
    ),
    "annotations with keypoints, which are not evaluated": sum(
      bool(row.get("keypoints")) for row in rows
    ),
  }
  notes = own_set.counted(counts)
  return [
    "outputs are the categories in the order of their ids",
    *notes,
  ], not without


def _files(
  entries: Sequence[coco.Image], there: Mapping[str, str], images: epath.Path
) -> list[source.File]:
  """Return each image's file, by path below the folder `images`."""
  ids = [_below(entry.file_name) for entry in entries]
  (twice, count), *_ = collections.Counter(ids).most_common(1)
  if count > 1:
    raise errors.UserError(
      f"{count} 'images' entries have the file_name {twice!r}; expected one each."
    )
  absent = [i for i in ids if i not in there]
  if absent:
    raise errors.UserError(
      f"{images} has no picture {absent[0]!r} ({len(absent):,} of {len(ids):,} are"
      " missing). Name the folder in which the paths under file_name begin:"
      " images= of evaluate, --config.data.images, --images of robust-tfds build."
      + " Separate folders in them by /."
      * ("\\" in absent[0])
    )
  return [source.File(i, there[i]) for i in ids]


def _below(file_name: str) -> str:
  """Return a picture's path below the folder, in Unicode's NFC."""
  path = posixpath.normpath(file_name)
  if path.startswith(("/", "..")) or ":" in path:
    raise errors.UserError(
      f"file_name {file_name!r}: expected a path relative to the folder of"
      " pictures, without '..'."
    )
  return unicodedata.normalize("NFC", path)


def _rows(image: coco.Image) -> list[Mapping[str, Any]]:
  return sorted(image.annotations, key=lambda row: row["id"])


def _words(size: tuple[int, int]) -> str:
  return f"{size[1]} x {size[0]} px"

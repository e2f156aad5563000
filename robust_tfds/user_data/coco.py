"""`coco:FILE.json`: pictures with boxes, and perhaps masks, in COCO's format.

Categories have any ids and names; by their ids they are the classes 0, 1, ...
Pictures lie below `images`, else below the file's own folder, where `file_name`
says. An example's id is `file_name`, in Unicode's NFC. Annotations need `id`,
`image_id`, `category_id` and `bbox`: `area` is the box's where it lacks, and
without a `segmentation` of each the numbers are of boxes alone.
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
_MAY_LACK = ("area", "iscrowd", "segmentation")  # of an annotation
_TURNED = 5  # EXIF orientations from here on swap height and width
_ROUNDED_PX = 0.01  # outside by no more: decimals of coordinates


class Coco(own_set.OwnSet):
  """The pictures of a COCO instances file.

  Attributes:
    category_ids: by label.
    has_masks: of every annotation.
    sources: the examples.
  """

  kind = "coco"
  sources: Sequence[Any]

  def __init__(
    self, file: epath.Path, images: epath.Path, name: str, where: str
  ):
    """Reads the file and lists the pictures, once.

    Raises:
      UserError: a file that is none, or names pictures that are not there.
    """
    content = reading.json_file(file)
    with errors.begun(where):
      rows = coco.category_rows(content)
      names = dict(zip(rows.unique("id"), rows.names("name"), strict=True))
      self.category_ids = tuple(sorted(names))
      listed = [_without_null(image) for image in coco.images_of(content)]
      notes, self.has_masks = _noted([i.annotations for i in listed])
      classes = [names[i] for i in self.category_ids]
      super().__init__(name, where, classes, notes=notes)
      there, _ = folder.files(images, f"images={images}: the pictures")
      files = _files(listed, there, images)
      known = self._objects(listed)
      boxes = [(i.size, o) for i, each in zip(listed, known) for o in each]
      self.notes = [*self.notes, *self._noted_boxes(boxes)]
    self.sources = [
      self._source(*parts) for parts in zip(listed, files, known, strict=True)
    ]
    self._stated_sizes = {f.name: i.size for f, i in zip(files, listed)}

  def files(self) -> Sequence[source.File]:
    """The pictures."""
    return [each.picture.file for each in self.sources]

  def decode(self, file: source.File) -> None:
    """Decode a picture, which has the size of its annotations."""
    self._pictures[file.name].read()

  @functools.cached_property
  def _pictures(self) -> dict[str, Any]:
    return {each.picture.file.name: each.picture for each in self.sources}

  def described(self) -> Sequence[str]:
    """The classes, and of each picture what numbers depend on."""
    lines: list[Any] = [self.classes]
    for each in self.sources:
      known, rows = each.annotation.known, each.annotation.rows
      of = [(o.label, o.box, o.area, o.is_crowd) for o in known]
      masks = [row["segmentation"] for row in rows]
      lines.append([each.image_id, each.example_id, of, masks])
    return [json.dumps(line) for line in lines]

  def noted(self, file: source.File) -> Sequence[str]:
    """Return how boxes are taken of a picture that EXIF data ask to turn."""
    where = picture_folders.shown(file.path)
    turn, stored = pictures.turn_mark(file.path, where)
    if turn == 1:
      return ()
    upright = _is_upright(where, turn, stored, self._stated_sizes[file.name])
    taken = "turned upright" if upright else "as stored"
    return [
      f"pictures that EXIF data ask to turn, taken with their boxes {taken}, as"
      " the file's height and width say"
    ]

  def _objects(
    self, listed: Sequence[coco.Image]
  ) -> list[tuple[objects.Object, ...]]:
    """Of each picture, by their ids; a free id stands for 0, which is none."""
    labels = {number: i for i, number in enumerate(self.category_ids)}
    free = 1 + max(int(row["id"]) for i in listed for row in i.annotations)
    out = []
    for image in listed:
      where = f"image {image.id} ({image.file_name})"
      try:
        known = coco.objects_of(_rows(image), labels, areas_may_lack=True)
      except errors.UserError as e:
        raise errors.UserError(f"{where}, {e}") from e
      known = [dataclasses.replace(o, id=o.id or free) for o in known]
      out.append(tuple(objects.validated(known, image.size, where)))
    return out

  def _noted_boxes(self, known: Sequence[tuple[Any, objects.Object]]) -> Any:
    """Return what a run prints of boxes and their pictures' sizes; sets `annotated`.

    Raises:
      UserError: the boxes are shares of their pictures.
    """
    height, width = np.array([size for size, _ in known]).T
    x, y, wide, high = np.array([o.box for _, o in known]).T
    if max(x + wide) <= 1 and max(y + high) <= 1:
      raise errors.UserError(
        f"bbox: all {len(known):,} boxes lie within 1 px. Expected (x, y, width,"
        " height) in px: multiply shares of a picture by its width and height."
      )
    labels = {o.label for _, o in known}
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
    self, image: coco.Image, file: source.File, known: Any
  ) -> objects.Source:
    rows = tuple(_rows(image)) if self.has_masks else ()
    return objects.Source(
      file.name,
      image_id=image.id,
      picture=_Picture(file, size=image.size),
      annotation=_Objects(known, file.name, rows),
    )


@dataclasses.dataclass(frozen=True)
class _Picture(source.Picture):
  """A picture of the (height, width) that the annotations say."""

  size: tuple[int, int] = (0, 0)

  def read(self) -> np.ndarray:
    """uint8 `[H, W, 3]` as stored, or upright where the size says so.

    Raises:
      UserError: broken, of another size, or one that EXIF data ask to be turned
        where the size does not say which was annotated.
    """
    where = self.file.where
    with pictures.opened(self.file.data(), where) as image:
      turn, stored = pictures.orientation(image), image.size[::-1]
      if turn > 1 and _is_upright(where, turn, stored, self.size):
        image, stored = pictures.upright(image, turn), stored[::-1]
      if self.size != stored:
        raise errors.UserError(
          f"{where} is {_words(stored)}, the annotations say"
          f" {_words(self.size)}. Replace it by the picture that was annotated."
        )
      return np.asarray(pictures.rgb(image, where))


@dataclasses.dataclass(frozen=True)
class _Objects(source.Part):
  """A picture's objects; with `rows` their masks too, which are those rows'."""

  known: tuple[objects.Object, ...]
  where: str
  rows: tuple[Mapping[str, Any], ...] = ()

  def objects_in(self, size: tuple[int, int]) -> Sequence[objects.Object]:
    """The objects, by id."""
    if not self.rows:
      return self.known
    try:
      return coco.with_masks(self.known, self.rows, size)
    except errors.MissingPackageError:
      raise
    except errors.UserError as e:
      raise errors.UserError(f"{self.where}: {e}") from e


class _Boxes(
  objects.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Corrupted whole; detectors resize them."""

  OWN: ClassVar[Coco]

  def _sources(self, dl_manager: object) -> Sequence[objects.Source]:
    del dl_manager
    return self.OWN.sources


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """The builder of a COCO file's pictures; see `Coco`."""
  file = paths.of(place, "coco")
  parent = os.path.dirname(place) or os.curdir
  images = paths.of(options.images or parent, "images")
  if not images.is_dir():
    raise errors.UserError(
      f"images={images}: there is no such folder. Expected the one that the"
      f" file_name of {place} begins in."
    )
  name = options.name or picture_folders.name_of(parent)
  if name == _JSON_FOLDER:
    name = picture_folders.name_of(os.path.join(parent, os.pardir))
  own = Coco(file, paths.resolved(images), name, f"coco:{place}")
  if options.skip_errors:
    whole = {each.name for each in own.without_broken(own.files())}
    own.sources = [s for s in own.sources if s.example_id in whole]
  made: Any = labelled.of_kind(_Boxes, own, "coco_own_c")
  made.CATEGORY_IDS, made.MASKS = own.category_ids, own.has_masks
  return made  # type: ignore[no-any-return]


def _without_null(image: coco.Image) -> coco.Image:
  """The image; what an annotation may lack and says is null it lacks."""
  rows = [
    {k: v for k, v in row.items() if v is not None or k not in _MAY_LACK}
    for row in image.annotations
  ]
  return dataclasses.replace(image, annotations=tuple(rows))


def _is_upright(
  where: str, turn: int, stored: tuple[int, int], size: tuple[int, int]
) -> bool:
  """Return whether boxes are of the picture as EXIF's `turn` has it upright.

  Raises:
    UserError: neither its stored size nor the annotations' tells.
  """
  upright = stored[::-1] if turn >= _TURNED else stored
  if upright == stored:
    raise errors.UserError(
      f"{where}: its EXIF data ask viewers to turn it (orientation {turn}),"
      f" and the annotations' {_words(size)} do not say whether boxes are of the"
      " picture as stored. Save it turned, or without that mark, whichever was"
      " annotated."
    )
  return size == upright


def _noted(
  annotations: Sequence[Sequence[Mapping[str, Any]]],
) -> tuple[list[str], bool]:
  """What a run prints of the annotations of each image; whether all have masks."""
  rows = [row for each in annotations for row in each]
  if not rows:
    raise errors.UserError("annotations: the list is empty, expected boxes.")
  without = sum(not row.get("segmentation") for row in rows)
  counts = {
    "pictures without annotations": sum(not each for each in annotations),
    "annotations without a mask, so numbers are of boxes alone": without,
    "annotations without an area, which is their box's": sum(
      "area" not in row for row in rows
    ),
    "annotations with keypoints, which are not evaluated": sum(
      bool(row.get("keypoints")) for row in rows
    ),
  }
  notes = own_set.counted(counts)
  return ["outputs are the categories by their ids", *notes], not without


def _files(
  listed: Sequence[coco.Image], there: Mapping[str, str], images: epath.Path
) -> list[source.File]:
  """Each image's picture among those that are there."""
  ids = [_below(image.file_name) for image in listed]
  (twice, count), *_ = collections.Counter(ids).most_common(1)
  if count > 1:
    raise errors.UserError(f"{count} images are of the file {twice!r}.")
  absent = [i for i in ids if i not in there]
  if absent:
    raise errors.UserError(
      f"{images} has no picture {absent[0]!r} ({len(absent):,} of {len(ids):,} are"
      " not there). Name the folder that file_name begins in: images= of evaluate,"
      " --config.data.images, --images of robust-tfds build."
      + " Folders in it are parted by /."
      * ("\\" in absent[0])
    )
  return [source.File(i, there[i]) for i in ids]


def _below(file_name: str) -> str:
  """A picture's path below the folder, in Unicode's NFC."""
  path = posixpath.normpath(file_name)
  if path.startswith(("/", "..")) or ":" in path:
    raise errors.UserError(
      f"file_name {file_name!r}: expected a path that begins in the folder of"
      " pictures and stays below it."
    )
  return unicodedata.normalize("NFC", path)


def _rows(image: coco.Image) -> list[Mapping[str, Any]]:
  return sorted(image.annotations, key=lambda row: row["id"])


def _words(size: tuple[int, int]) -> str:
  return f"{size[1]} x {size[0]} px"

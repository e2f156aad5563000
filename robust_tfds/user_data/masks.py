"""`masks:PATH`: pictures of any sizes in `images/`, and masks in `masks/`.

A mask has the name of its picture, but for the extension, and holds one class id a
pixel: 8-bit grey PNG, or a palette's indices. The ids are the places of the names in
`classes=`; pixels of the id `ignore=` (default 255) do not count. An example's id
is the path below `images/`, with slashes and in Unicode's NFC. Pictures are
corrupted whole; masks stay as they are.
"""

import functools
import os
from collections.abc import Sequence
from typing import Any, ClassVar

from etils import epath

from robust_tfds import errors
from robust_tfds.building import base, masks, own_set, source
from robust_tfds.building.sources import mask_labels
from robust_tfds.reading import picture_folders
from robust_tfds.storage import paths
from robust_tfds.user_data import coco, folder, labelled

_IMAGES, _MASKS = "images", "masks"
_UNCOUNTED = "pictures of which no pixel counts"
_LISTED = 5  # pictures without a mask in a refusal


class Masks(own_set.OwnSet):
  """The pictures of a folder, with their masks."""

  kind = "masks"

  def __init__(
    self,
    root: epath.Path,
    name: str,
    where: str,
    classes: Sequence[str],
    ignore: int,
  ):
    """List both folders, once.

    Raises:
      UserError: pictures without a mask, or names of classes that none can be.
    """
    self.ignore = ignore
    super().__init__(name, where, checked_classes(classes, where))
    pictures, _ = folder.files(root / _IMAGES, f"{where}: the pictures")
    labels, _ = folder.files(root / _MASKS, f"{where}: the masks")
    mask_of: dict[str, str] = {}
    for i in labels:
      first = mask_of.setdefault(os.path.splitext(i)[0], i)
      if first != i:
        raise errors.UserError(
          f"{where}: two masks of one picture, {_MASKS}/{first} and {_MASKS}/{i}."
          " Keep one."
        )
    stems = {os.path.splitext(i)[0] for i in pictures}
    _check_pairs(where, pictures, mask_of)
    notes = {"masks without a picture left out": len({*mask_of} - stems)}
    self.notes = own_set.counted(notes)
    self._files = [source.File(i, path) for i, path in pictures.items()]
    self._masks = {
      i: mask_labels.Mask(
        source.File(mask, labels[mask]), len(self.classes), ignore=ignore
      )
      for i in pictures
      for mask in [mask_of[os.path.splitext(i)[0]]]
    }

  @property
  def sources(self) -> list[masks.Source]:
    """The examples, in the order of their ids."""
    return [self._source(file) for file in self._files]

  def _source(self, file: source.File) -> masks.Source:
    mask = self._masks[file.name]
    stated = f"its mask {mask.file.where} is"
    picture = coco.StatedPicture(file, size=mask.size, stated=stated)
    return masks.Source(file.name, picture, mask)

  def files(self) -> Sequence[source.File]:
    """Return the files of the pictures."""
    return self._files

  def leave_out_broken(self) -> None:
    """Leave out pictures that cannot be read, or whose masks cannot."""
    self._files = self.without_broken(self._files)

  def decode(self, file: source.File) -> None:
    """Decode a picture and its mask."""
    self._source(file).read()

  def file_notes(self, file: source.File) -> Sequence[str]:
    """Return a note if no pixel of a picture counts; decodes its mask."""
    ignored = (self._masks[file.name].labels() == mask_labels.IGNORE).all()
    return [_UNCOUNTED] * bool(ignored)

  @functools.cached_property
  def content(self) -> str:
    """Return what `OwnSet.content` is; refuse masks of which no pixel counts."""
    content = super().content
    if own_set.counted({_UNCOUNTED: len(self.files())})[0] in self.notes:
      raise errors.UserError(
        f"{self.where}: every pixel of every mask has the id {self.ignore}, which"
        " does not count. Expected ids of classes: check the masks and ignore=."
      )
    return content

  def described(self) -> Sequence[str]:
    """Return the classes, the ignored id, and each mask's content."""
    digests = [
      f"{i}\t{paths.sha256(mask.file.path)}" for i, mask in self._masks.items()
    ]
    return [*self.classes, f"ignore\t{self.ignore}", *sorted(digests)]


def checked_classes(classes: Sequence[str], where: str) -> Sequence[str]:
  """Return the names of a set's classes.

  Raises:
    UserError: too few or too many, or names that none can be.
  """
  if not 2 <= len(classes) <= mask_labels.MOST:
    raise errors.UserError(
      f"{where}: {len(classes)} names of classes, expected 2 to"
      f" {mask_labels.MOST}, those of the ids 0, 1, ... of the masks: classes= of"
      " evaluate, --config.data.classes=road,car,sky."
    )
  if len(set(classes)) < len(classes):
    twice = next(c for c in classes if list(classes).count(c) > 1)
    raise errors.UserError(
      f"{where}: classes= names one class twice: {twice!r}. Rename one."
    )
  own_set.check_distinct(classes, f"{where}: the classes")
  return classes


def _check_pairs(where: str, pictures: Any, mask_of: Any) -> None:
  without = [i for i in pictures if os.path.splitext(i)[0] not in mask_of]
  if not pictures or without:
    named = ", ".join(without[:_LISTED]) + ", ..." * (len(without) > _LISTED)
    what = (
      f"{len(without):,} of {len(pictures):,} pictures have no mask ({named})"
    )
    raise errors.UserError(
      f"{where}: {what if pictures else f'no pictures in {_IMAGES}/'}. Expected"
      f" {_IMAGES}/NAME.jpg and {_MASKS}/NAME.png of each picture."
    )
  stems = [os.path.splitext(i)[0] for i in pictures]
  if len(set(stems)) < len(stems):
    twice = next(s for s in stems if stems.count(s) > 1)
    raise errors.UserError(
      f"{where}: two pictures are called {twice!r}, and one mask. Rename one."
    )
  own_set.check_distinct(stems, f"{where}: the pictures")


class _Masks(
  masks.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The builder of pictures that are corrupted whole; models resize them."""

  OWN: ClassVar[Masks]

  def _sources(self, dl_manager: object) -> Sequence[masks.Source]:
    del dl_manager
    return self.OWN.sources


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """Return the builder of a folder's pictures and masks; see `Masks`."""
  root, where = paths.parse(place, "masks"), f"masks:{place}"
  for part in (_IMAGES, _MASKS):
    if not (root / part).is_dir():
      raise errors.UserError(
        f"{where}: there is no folder {root / part}. Expected {_IMAGES}/ and"
        f" {_MASKS}/ in {place}, with a mask of the same name for each picture."
      )
  name = options.name or picture_folders.name_of(place)
  ignore = mask_labels.IGNORE if options.ignore is None else options.ignore
  own = Masks(paths.resolved(root), name, where, options.classes, ignore)
  if options.skip_errors:
    own.leave_out_broken()
  return labelled.subclass(_Masks, own, "masks_own_c")

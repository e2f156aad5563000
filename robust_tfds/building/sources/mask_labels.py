"""Maps from the ids in masks of data sets to the classes that are scored."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from robust_tfds import errors
from robust_tfds.building import source
from robust_tfds.reading import mask_files

IGNORE = 255
MOST = 255  # classes; the last id of 8 bits is `IGNORE`
# cityscapesScripts' labels.py: the 19 classes that are evaluated, by id.
_CITYSCAPES = (
  *(7, 8, 11, 12, 13, 17, 19, 20, 21, 22),
  *(23, 24, 25, 26, 27, 28, 31, 32, 33),
)
_TRAIN_IDS = np.full(256, IGNORE, np.uint8)
_TRAIN_IDS[list(_CITYSCAPES)] = np.arange(len(_CITYSCAPES))


def cityscapes(ids: np.ndarray) -> np.ndarray:
  """Return the train ids of Cityscapes' label ids.

  Args:
    ids: `labelIds`, integers `[H, W]`; the licence plate is -1, or 255 in 8 bits.

  Returns:
    uint8 `[H, W]`, 0..18; all other ids are 255.
  """
  inside = (ids >= 0) & (ids < len(_TRAIN_IDS))
  return _TRAIN_IDS[np.where(inside, ids, IGNORE)]


def zero_ignored(ids: np.ndarray) -> np.ndarray:
  """Return classes from 0 of masks whose 0 is ignored, as ADE20K's.

  Args:
    ids: uint8 `[H, W]`: 0 and 255 are ignored, k is class k - 1.

  Returns:
    uint8 `[H, W]`.
  """
  counted = (ids != 0) & (ids != IGNORE)
  return np.where(counted, ids.astype(np.int64) - 1, IGNORE).astype(np.uint8)


def mark_ignored(ids: np.ndarray, ignore: int) -> np.ndarray:
  """Return integers `[H, W]` whose ignored id is 255, and 255 no class."""
  wide = ids.astype(np.int64)
  if ignore != IGNORE:  # an id 255 is wrong then
    wide[wide == IGNORE] = -1
  wide[wide == ignore] = IGNORE
  return wide


_RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
  "": lambda ids: ids,
  "cityscapes": cityscapes,
  "zero_ignored": zero_ignored,
}


@dataclasses.dataclass(frozen=True)
class Mask(source.Part):
  """A file of class ids.

  Attributes:
    file: the file.
    classes: number of classes.
    rule: the map from its ids: empty, `cityscapes` or `zero_ignored`.
    ignore: the id of pixels that do not count, in its ids.
  """

  file: source.File
  classes: int
  rule: str = ""
  ignore: int = IGNORE

  def labels(self) -> np.ndarray:
    """Return the classes, uint8 `[H, W]`; 255 does not count.

    Raises:
      UserError: no mask, or an id that is no class; begins with the file.
    """
    where = self.file.where
    given = mask_files.ids(self.file.data(), where)
    ids = _RULES[self.rule](mark_ignored(given, self.ignore))
    outside = (ids != IGNORE) & ((ids < 0) | (ids >= self.classes))
    if outside.any():
      wrong = int(given[outside][0])
      raise errors.UserError(
        f"{where}: holds the id {wrong}, expected 0 to {self.classes - 1}, or"
        f" {self.ignore} for pixels that do not count. Name all classes"
        " (classes=), or the id that is ignored (ignore=)."
      )
    return ids.astype(np.uint8)

  @functools.cached_property
  def size(self) -> tuple[int, int]:
    """The (height, width), from the header."""
    from robust_tfds.reading import pictures

    return pictures.size(
      self.file.data(), self.file.where, ignore_orientation=True
    )

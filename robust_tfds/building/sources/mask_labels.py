"""Maps from the ids in masks of data sets to the classes that are scored."""

import numpy as np

IGNORE = 255
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

"""Masks of class ids in picture files: a level or a palette's index a pixel.

Lossless formats alone: a JPEG changes ids. Colours are no ids: which colour is
which class, no file says.
"""

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import pictures

_IDS = ("L", "P", "1")  # Pillow's modes of one number of at most 8 bits a pixel
_LOSSY = ("JPEG", "MPO", "JPEG2000", "WEBP", "AVIF")


def ids(file: pictures.Source, source: str = "") -> np.ndarray:
  """Return the ids of a mask's file, integers `[H, W]` of up to 32 bits.

  Args:
    file: its path or its bytes.
    source: what a refusal begins with; the path where it is empty.

  Raises:
    UserError: no picture, a lossy format, or colours.
  """
  with pictures.opened(file, source) as image:
    if image.format in _LOSSY:
      raise errors.UserError(
        f"{source or file!s}: a mask as {image.format}, which changes ids."
        " Expected PNG, made from the labels and not from this file."
      )
    if image.mode in _IDS:
      return np.asarray(image).astype(np.uint8)
    if pictures.is_deep(image) and image.mode != "F":
      return np.asarray(image).astype(np.int32)
    raise errors.UserError(
      f"{source or file!s}: a mask of mode {image.mode}, expected one id a pixel:"
      " 8-bit grey, or a palette's indices. Colours are turned into ids by a table"
      " of your own: ids[(mask == colour).all(-1)] = id."
    )

"""`Overlay`: a box to draw into a picture, with its outline if there is a mask."""

import dataclasses
from typing import Literal

import numpy as np

Kind = Literal["hit", "missed", "wrong"]


@dataclasses.dataclass(frozen=True, eq=False)
class Overlay:
  """An object or a detection in a picture.

  Attributes:
    kind: a detection that hits an object, an object that none hits, a detection
      that hits none.
    box: x1, y1, x2, y2 in px.
    text: its label.
    mask: bool `[h, w]`, its pixels; None without a mask.
    corner: (x, y) of the mask's first pixel.
  """

  kind: Kind
  box: tuple[float, float, float, float]
  text: str
  mask: np.ndarray | None = None
  corner: tuple[int, int] = (0, 0)

"""Pictures embedded in a page."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  import numpy as np

SMALL = 64  # px of a side: up to here pixels are kept as they are, and seen


@dataclasses.dataclass(frozen=True)
class Shown:
  """A picture as the template writes it.

  Attributes:
    uri: its pixels.
    size: its width and height in px.
    words: two lines below it.
    alt: what it shows.
    small: whether single pixels should be visible.
    view: the visible part as SVG's viewBox; empty: all, without boxes.
    em: size of the letters of its boxes.
    boxes: (kind, x, y, width, height) of each.
    masks: (uri, x, y, width, height) of those that have one.
    labels: (kind, text, x, y) of each box.
  """

  uri: str
  size: tuple[int, int]
  words: tuple[str, str]
  alt: str
  small: bool
  view: str = ""
  em: float = 0.0
  boxes: Sequence[tuple[str, float, float, float, float]] = ()
  masks: Sequence[tuple[str, int, int, int, int]] = ()
  labels: Sequence[tuple[str, str, float, float]] = ()


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of pictures below its name.

  Attributes:
    name: its name.
    note: beside the name.
    pictures: from left to right.
  """

  name: str
  note: str
  pictures: Sequence[Shown]


def uri(pixels: np.ndarray) -> str:
  """Return pixels as a data URI: PNG for small pictures, else JPEG.

  Args:
    pixels: uint8 `[H, W, 3]`, or `[H, W, 4]` with their opacity.
  """
  from PIL import Image

  out = io.BytesIO()
  exact = max(pixels.shape[:2]) <= SMALL or pixels.shape[2] > 3
  kind = "png" if exact else "jpeg"
  options = {} if exact else {"quality": 90, "subsampling": 0}
  Image.fromarray(pixels).save(out, kind, **options)
  data = base64.b64encode(out.getvalue()).decode("ascii")
  return f"data:image/{kind};base64,{data}"

"""Pictures of a run on its page: each in the page itself, with what it shows."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from robust_tfds.eval.cells import overlay
from robust_tfds.eval.report.charts import box_labels, pictures

if TYPE_CHECKING:
  import numpy as np

_SMALL = 64  # px of a side: up to here pixels are kept as they are, and seen
_EM = 0.05  # size of the letters of boxes, of the longer side that is seen


@dataclasses.dataclass(frozen=True)
class Shown:
  """A picture as the template writes it.

  Attributes:
    uri: of its pixels.
    size: its width and height in px.
    words: below it, and a second line.
    alt: what it shows.
    small: whether its pixels are to be seen.
    view: the part of it that is seen, as SVG has it; empty: all, without boxes.
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
  boxes: Sequence[tuple[overlay.Kind, float, float, float, float]] = ()
  masks: Sequence[tuple[str, int, int, int, int]] = ()
  labels: Sequence[tuple[str, str, float, float]] = ()


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of pictures, under its name.

  Attributes:
    name: of it.
    note: beside its name.
    pictures: from left to right.
  """

  name: str
  note: str
  pictures: Sequence[Shown]


def lines(listed: Sequence[pictures.Line]) -> list[Line]:
  """Lines as the template writes them."""
  return [
    Line(line.name or line.head, line.note, [*_shown(line)]) for line in listed
  ]


def _shown(line: pictures.Line) -> list[Shown]:
  out = []
  for picture in line.pictures:
    pixels = picture.pixels
    if pixels is None:
      continue
    height, width = pixels.shape[:2]
    words = picture.title, picture.caption
    said = dict.fromkeys((line.name or line.head, *words))
    shown = Shown(
      uri(pixels),
      (width, height),
      words,
      picture.alt or ", ".join(filter(None, said)),
      max(height, width) <= _SMALL,
    )
    out.append(_with_boxes(shown, picture) if picture.view else shown)
  return out


def _with_boxes(shown: Shown, picture: pictures.Picture) -> Shown:
  """The part of a picture that is seen, and its boxes."""
  assert picture.view is not None
  x1, y1, x2, y2 = picture.view
  em = _EM * max(x2 - x1, y2 - y1)
  labels = box_labels.written(picture.boxes, picture.view, em)
  return dataclasses.replace(
    shown,
    view=" ".join(map(str, _sides(picture.view))),
    em=round(em, 2),
    boxes=[(b.kind, *_sides(b.box)) for b in picture.boxes],
    masks=[
      (uri(_tint(b.mask)), *b.corner, b.mask.shape[1], b.mask.shape[0])
      for b in picture.boxes
      if b.mask is not None and b.mask.any()
    ],
    labels=[
      (b.kind, text, round(x, 1), round(y, 1))
      for b, (text, x, y) in zip(picture.boxes, labels)
    ],
  )


def _sides(box: box_labels.Box) -> box_labels.Box:
  """Left, top, width, height."""
  x1, y1, x2, y2 = box
  return round(x1, 1), round(y1, 1), round(x2 - x1, 1), round(y2 - y1, 1)


def _tint(mask: np.ndarray) -> np.ndarray:
  """A veil over a mask's pixels: uint8 `[h, w, 4]`."""
  import numpy as np

  return mask[..., None] * np.array([255, 255, 255, 96], np.uint8)


def uri(pixels: np.ndarray) -> str:
  """Pixels as an address that holds them: PNG of small ones, else JPEG.

  Args:
    pixels: uint8 `[H, W, 3]`, or `[H, W, 4]` with their opacity.
  """
  from PIL import Image

  out = io.BytesIO()
  exact = max(pixels.shape[:2]) <= _SMALL or pixels.shape[2] > 3
  kind = "png" if exact else "jpeg"
  options = {} if exact else {"quality": 90, "subsampling": 0}
  Image.fromarray(pixels).save(out, kind, **options)
  return of_bytes(out.getvalue(), kind)


def of_bytes(data: bytes, kind: str = "png") -> str:
  """The same of a file."""
  return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"

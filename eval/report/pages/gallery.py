"""Pictures of a run, embedded in its page with their boxes and descriptions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eval.charts import box_labels, pictures
from robust_tfds.html_pages import pictures as shown_lib
from robust_tfds.html_pages.pictures import Line, Shown, uri

if TYPE_CHECKING:
  import numpy as np

_EM = 0.05  # size of the boxes' letters, as a share of the view's longer side


def embed(lines: Sequence[pictures.Line]) -> list[Line]:
  """Return lines of pictures as the template writes them."""
  return [
    Line(line.name or line.head, line.note, _embed(line)) for line in lines
  ]


def _embed(line: pictures.Line) -> list[Shown]:
  out = []
  for picture in line.pictures:
    pixels = picture.pixels
    if pixels is None:
      continue
    height, width = pixels.shape[:2]
    words = picture.title, picture.caption
    texts = dict.fromkeys((line.name or line.head, *words))
    shown = Shown(
      uri(pixels),
      (width, height),
      words,
      picture.alt or ", ".join(filter(None, texts)),
      max(height, width) <= shown_lib.SMALL,
    )
    out.append(_add_boxes(shown, picture) if picture.view else shown)
  return out


def _add_boxes(embedded: Shown, picture: pictures.Picture) -> Shown:
  """Return a picture restricted to its view, with its boxes."""
  assert picture.view is not None
  x1, y1, x2, y2 = picture.view
  em = _EM * max(x2 - x1, y2 - y1)
  labels = box_labels.labels(picture.boxes, picture.view, em)
  return dataclasses.replace(
    embedded,
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
  """Return left, top, width and height of a box."""
  x1, y1, x2, y2 = box
  return round(x1, 1), round(y1, 1), round(x2 - x1, 1), round(y2 - y1, 1)


def _tint(mask: np.ndarray) -> np.ndarray:
  """Return a white veil over a mask's pixels: uint8 `[h, w, 4]`."""
  import numpy as np

  return mask[..., None] * np.array([255, 255, 255, 96], np.uint8)

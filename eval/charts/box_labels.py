"""Places for the labels of boxes: inside the picture, none over another."""

from collections.abc import Iterator, Sequence

from eval.cells.files.overlay import Overlay

Box = tuple[float, float, float, float]  # x1, y1, x2, y2
LETTERS = {"hit": "H", "missed": "M", "wrong": "F"}
# Width of a letter and height of a line, in units of the font's size.
_LETTER, _LINE = 0.62, 1.55
_MAX_LETTERS = 24  # longest label


def labels(
  boxes: Sequence[Overlay], view: Box, em: float
) -> list[tuple[str, float, float]]:
  """Return the label of every box, and the middle of its place.

  Args:
    view: the visible part of the picture.
    em: size of the font, in px of the picture.

  >>> labels([Overlay("hit", (0, 0, 9, 9), "cat")], (0, 0, 9, 9), 2)
  [('H cat', 3.7199999999999998, 1.55)]
  """
  texts = [f"{LETTERS[box.kind]} {box.text}" for box in boxes]
  most = _MAX_LETTERS
  texts = [t if len(t) <= most else f"{t[:most]}…" for t in texts]
  sizes = [((len(t) + 1) * _LETTER * em, _LINE * em) for t in texts]
  places = place([box.box for box in boxes], sizes, view)
  return [
    (text, (x1 + x2) / 2, (y1 + y2) / 2)
    for text, (x1, y1, x2, y2) in zip(texts, places)
  ]


def place(
  boxes: Sequence[Box], sizes: Sequence[tuple[float, float]], view: Box
) -> list[Box]:
  """Place labels near the corners of their boxes.

  Args:
    sizes: width and height of each label.
    view: the visible part of the picture.

  Returns:
    The place of each label: inside the view as far as it fits, and free of other
    labels if there is room; else where it covers the least of them.

  >>> place([(0, 0, 9, 9)], [(5, 2)], (0, 0, 30, 30))
  [(0.0, 9.0, 5.0, 11.0)]
  """
  taken: list[Box] = []
  for box, (width, height) in zip(boxes, sizes):
    corners = _corners(box, width, height, view)
    options = [_move_inside(x, y, width, height, view) for x, y in corners]
    covered = [sum(_overlap(o, label) for label in taken) for o in options]
    taken.append(options[covered.index(min(covered))])
  return taken


def _corners(
  box: Box, w: float, h: float, view: Box
) -> Iterator[tuple[float, float]]:
  """Yield top left corners: around the box, inside it, then all over the view."""
  x1, y1, x2, y2 = box
  near = [
    *((x1, y1 - h), (x1, y2), (x2 - w, y1 - h), (x2 - w, y2)),
    *((x2, y1), (x1 - w, y1), (x2, y2 - h), (x1 - w, y2 - h)),
    *((x1, y1), (x1, y2 - h)),
  ]
  for x, y in near:
    if view[0] <= x <= view[2] - w and view[1] <= y <= view[3] - h:
      yield x, y
  steps = [
    (view[0] + i * w / 2, view[1] + j * h)
    for i in range(int(2 * (view[2] - view[0]) / w))
    for j in range(int((view[3] - view[1]) / h))
  ]
  yield from sorted(steps, key=lambda c: abs(c[0] - x1) + abs(c[1] - y1))
  yield x1, y1


def _move_inside(x: float, y: float, w: float, h: float, view: Box) -> Box:
  """Return a label's place in the view; a label too long begins at its left."""
  x = max(min(x, view[2] - w), view[0])
  y = max(min(y, view[3] - h), view[1])
  return float(x), float(y), float(x + w), float(y + h)


def _overlap(a: Box, b: Box) -> float:
  """Return the area that two boxes share."""
  width = min(a[2], b[2]) - max(a[0], b[0])
  height = min(a[3], b[3]) - max(a[1], b[1])
  return max(width, 0.0) * max(height, 0.0)

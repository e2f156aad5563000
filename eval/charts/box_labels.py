"""Where the labels of boxes go: inside the picture, none over another."""

import dataclasses
from collections.abc import Iterator, Sequence

from eval.cells.files.overlay import Overlay

Box = tuple[float, float, float, float]  # x1, y1, x2, y2
LETTERS = {"hit": "H", "missed": "M", "wrong": "F"}
# Of a letter in a proportional font and of a line, of the font's size.
_LETTER, _LINE = 0.62, 1.55
_LONGEST = 24  # letters of a label


@dataclasses.dataclass(frozen=True)
class Label:
  """A text's size, in px of the picture."""

  width: float
  height: float


def written(
  boxes: Sequence[Overlay], view: Box, em: float
) -> list[tuple[str, float, float]]:
  """The label of every box, and its middle.

  Args:
    view: the part of it that is seen.
    em: size of the font, in px of the picture.

  >>> [(text, *_)] = written([Overlay("hit", (0, 0, 9, 9), "cat")], (0, 0, 9, 9), 1)
  >>> text
  'H cat'
  """
  texts = [f"{LETTERS[box.kind]} {box.text}" for box in boxes]
  short = [t if len(t) <= _LONGEST else f"{t[:_LONGEST]}…" for t in texts]
  sizes = [Label((len(t) + 1) * _LETTER * em, _LINE * em) for t in short]
  places = place([box.box for box in boxes], sizes, view)
  return [
    (text, (x1 + x2) / 2, (y1 + y2) / 2)
    for text, (x1, y1, x2, y2) in zip(short, places)
  ]


def place(
  boxes: Sequence[Box], labels: Sequence[Label], view: Box
) -> list[Box]:
  """Places labels near the corners of their boxes.

  Args:
    labels: one for each box.
    view: the part of the picture that is seen.

  Returns:
    The place of each label: inside the view as far as it fits, and where there is
    room on no other label; else where it covers the least of them.

  >>> place([(0, 0, 9, 9)], [Label(5, 2)], (0, 0, 30, 30))
  [(0.0, 9.0, 5.0, 11.0)]
  """
  out: list[Box] = []
  for box, label in zip(boxes, labels):
    options = [_inside(b, view) for b in _options(box, label, view)]
    covered = [sum(_common(o, other) for other in out) for o in options]
    free = [o for o, c in zip(options, covered) if not c]
    out.append(free[0] if free else options[covered.index(min(covered))])
  return out


def _options(box: Box, label: Label, view: Box) -> Iterator[Box]:
  """Above and below the box, inside it, beside it; then all over the view."""
  x1, y1, x2, y2 = box
  w, h = label.width, label.height
  corners = [
    *((x1, y1 - h), (x1, y2), (x2 - w, y1 - h), (x2 - w, y2)),
    *((x2, y1), (x1 - w, y1), (x2, y2 - h), (x1 - w, y2 - h)),
    *((x1, y1), (x1, y2 - h)),
  ]
  fit = [c for c in corners if _fits((*c, c[0] + w, c[1] + h), view)]
  for x, y in fit:
    yield x, y, x + w, y + h
  steps = [
    (view[0] + i * w / 2, view[1] + j * h)
    for i in range(int(2 * (view[2] - view[0]) / w))
    for j in range(int((view[3] - view[1]) / h))
  ]
  for x, y in sorted(steps, key=lambda c: abs(c[0] - x1) + abs(c[1] - y1)):
    yield x, y, x + w, y + h
  yield x1, y1, x1 + w, y1 + h


def _fits(box: Box, view: Box) -> bool:
  starts = box[0] >= view[0] and box[1] >= view[1]
  return starts and box[2] <= view[2] and box[3] <= view[3]


def _inside(box: Box, view: Box) -> Box:
  """Moved into the view; a label longer than it begins at its left."""
  right = max(min(0.0, view[2] - box[2]), view[0] - box[0])
  down = max(min(0.0, view[3] - box[3]), view[1] - box[1])
  if box[0] < view[0]:
    right = view[0] - box[0]
  if box[1] < view[1]:
    down = view[1] - box[1]
  return box[0] + right, box[1] + down, box[2] + right, box[3] + down


def _common(one: Box, two: Box) -> float:
  """The area that two boxes share."""
  width = min(one[2], two[2]) - max(one[0], two[0])
  height = min(one[3], two[3]) - max(one[1], two[1])
  return max(width, 0.0) * max(height, 0.0)

"""Small inline pictures: paths in whole half pixels, as short as they can be.

The style sheet draws paths at half their size, so that a coordinate is a whole
number and a path a few bytes. Words of pictures are in pixels.
"""

import dataclasses
from collections.abc import Iterable, Sequence

Point = tuple[float, float]  # in pixels
_HALVES = 2


@dataclasses.dataclass(frozen=True)
class Drawing:
  """What several pictures of a page show, drawn once under a name.

  Attributes:
    name: unique on its page.
    paths: (class of the style sheet, path).
    words: (text, x, y, class), in pixels.
  """

  name: str
  paths: Sequence[tuple[str, str]]
  words: Sequence[tuple[str, int, int, str]]


@dataclasses.dataclass(frozen=True)
class Picture:
  """A picture under its name.

  Attributes:
    name: above it.
    label: what is seen, in words.
    class_: of the style sheet, its size.
    shared: name of the drawing that it shows as well.
    paths: (class, path, width of its stroke in half pixels or 0).
    small: small print beside its name.
  """

  name: str
  label: str
  class_: str
  shared: str
  paths: Sequence[tuple[str, str, int]]
  small: str = ""


def line(points: Iterable[Point]) -> str:
  """A path along points.

  >>> line([(0, 1), (2.5, 3), (1, 3)])
  'M0 2l5 4-3 0'
  """
  places = [_halves(p) for p in points]
  if not places:
    return ""
  (x, y), *_ = places
  steps = "".join(
    _pair(b[0] - a[0], b[1] - a[1]) for a, b in zip(places, places[1:])
  )
  return f"M{x} {y}" + ("l" + steps.lstrip() if steps else "h0")


def band(upper: Sequence[Point], lower: Sequence[Point]) -> str:
  """The area between two lines over the same places."""
  around = line((*upper, *reversed(lower)))
  return f"{around}z" if around else ""


def upright(points: Iterable[tuple[Point, float]]) -> str:
  """Lines that go up from points, of some heights; none of no height.

  >>> upright([((1, 10), 4), ((2, 10), 0)])
  'M2 20v-8'
  """
  out = ""
  for foot, height in points:
    (x, y), high = _halves(foot), round(_HALVES * height)
    out += f"M{x} {y}v{-high}" if high else ""
  return out


def width(pixels: float) -> int:
  """Of a stroke, as paths have it."""
  return round(_HALVES * pixels)


def word(text: str, x: float, y: float, class_: str) -> tuple:
  """A word of a drawing."""
  return text, round(x), round(y), class_


def nice_top(value: float) -> float:
  """The least of 1, 2, 2.5, 4, 5 times a power of ten that is no less.

  >>> nice_top(0.83), nice_top(37), nice_top(0)
  (1.0, 40.0, 1.0)
  """
  if value <= 0:
    return 1.0
  power = 10.0 ** int(f"{value:e}".partition("e")[2])
  for step in (1, 2, 2.5, 4, 5, 10):
    if value <= step * power * (1 + 1e-9):
      return step * power
  return 10 * power


def _halves(point: Point) -> tuple[int, int]:
  return round(_HALVES * point[0]), round(_HALVES * point[1])


def _pair(x: int, y: int) -> str:
  """Two numbers behind others, without a space where a minus parts them."""
  return "".join(f"{n}" if n < 0 else f" {n}" for n in (x, y))

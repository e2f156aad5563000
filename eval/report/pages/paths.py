"""Small inline pictures: paths in whole half pixels, as short as they can be.

The style sheet draws paths at half their size, so that a coordinate is a whole
number and a path a few bytes. Words of pictures are in pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_tfds.eval.site.markup import Html, escape

Point = tuple[float, float]  # in pixels
_HALVES = 2


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


def path(class_: str, data: str, width: float = 0) -> Html:
  """A path of one of the style sheet's classes; nothing without data.

  Args:
    class_: of the style sheet.
    data: what `line` and the like gave.
    width: of its stroke in pixels, where the class leaves it open.
  """
  stroke = f" stroke-width={round(_HALVES * width)}" if width else ""
  return Html(f'<path class={class_}{stroke} d="{data}"/>') if data else Html()


def word(text: str, x: float, y: float, class_: str) -> Html:
  """A word of a picture."""
  place = f"x={round(x)} y={round(y)}"
  return Html(f"<text {place} class={class_}>{escape(text)}</text>")


def picture(class_: str, label: str, *content: Html) -> Html:
  """A picture of a class's size with a name, for those who do not see it."""
  head = f'<svg class={class_} role=img aria-label="{escape(label)}">'
  return Html(f"{head}{''.join(content)}</svg>")


def use(name: str) -> Html:
  """What `shared` drew under a name."""
  return Html(f'<use href="#{name}"/>')


def shared(name: str, *content: Html) -> Html:
  """What several pictures of a page show, drawn once."""
  group = f"<g id={name}>{''.join(content)}</g>"
  return Html(f"<svg class=defs aria-hidden=true><defs>{group}</defs></svg>")


def dot() -> Html:
  """What the style sheet puts on every point of a line, once a page."""
  circle = "<circle class=d cx=4 cy=4 r=1.5 />"
  size = "refX=4 refY=4 markerWidth=8 markerHeight=8"
  mark = f"<marker id=dot {size}>{circle}</marker>"
  return Html(f"<svg class=defs aria-hidden=true><defs>{mark}</defs></svg>")


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

"""Street scenes with one traffic sign each, drawn from a seed.

Everything is a function of the example's id: float64 sums, products and
square roots, which every machine rounds alike; no sine, no library's sampler.

A scene is 64 px a side: a sky that shades off, houses with windows, bushes, a
road; near the middle a pole with a sign of 34 to 48 px, faded, turned by up to 12
degrees and seen from the side; the light of a bright or a dull day; grain. Signs
are those of the Vienna Convention on Road Signs and Signals (1968), in layers: a
shape and its colour, the later above the earlier.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from robust_tfds.building import drawing

SIDE_PX = 64
_ROWS, _COLUMNS = np.mgrid[0:SIDE_PX, 0:SIDE_PX] + 0.5  # pixels' middles
_STROKE = 0.4  # width

_RED, _BLUE, _YELLOW = (190, 25, 35), (20, 80, 170), (245, 190, 25)
_WHITE, _BLACK = (240, 240, 240), (20, 20, 20)
_DIAGONAL = 0.5**0.5

# Outward normals of polygons around the origin, whose edges are 1 away from it.
_AXES = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
_SLANTS = tuple(
  (i * _DIAGONAL, j * _DIAGONAL) for i in (1, -1) for j in (1, -1)
)
_POINTING_UP = ((0.0, 1.0), (0.75**0.5, -0.5), (-(0.75**0.5), -0.5))
_POINTING_DOWN = tuple((x, -y) for x, y in _POINTING_UP)
_POLYGONS = {
  "square": _AXES,
  "diamond": _SLANTS,
  "octagon": _AXES + _SLANTS,
  "triangle": _POINTING_UP,
  "yield": _POINTING_DOWN,
}

# Strokes of a glyph: corners in a box 1 wide and 2 high, y downwards.
_STROKES = {
  "0": ["0,.4 .3,0 .7,0 1,.4 1,1.6 .7,2 .3,2 0,1.6 0,.4"],
  "3": ["0,.2 .4,0 .8,.1 1,.5 .8,.9 .4,1 .8,1.1 1,1.5 .8,1.9 .4,2 0,1.8"],
  "5": ["1,0 .1,0 0,.9 .6,.8 1,1.2 1,1.6 .6,2 .2,2 0,1.8"],
  "8": [
    ".5,1 .1,.8 0,.4 .3,0 .7,0 1,.4 .9,.8 .5,1 .1,1.2 0,1.6 .3,2 .7,2 1,1.6"
    " .9,1.2 .5,1"
  ],
  "S": ["1,.3 .7,0 .3,0 0,.4 .2,.8 .8,1.1 1,1.6 .7,2 .3,2 0,1.7"],
  "T": ["0,0 1,0", ".5,0 .5,2"],
  "O": ["0,.4 .3,0 .7,0 1,.4 1,1.6 .7,2 .3,2 0,1.6 0,.4"],
  "P": ["0,2 0,0 .7,0 1,.3 1,.8 .7,1.1 0,1.1"],
  "!": [".5,0 .5,1.2", ".5,1.9 .5,2"],
  "<": ["1,2 1,.7 -.2,.7", ".3,.1 -.3,.7 .3,1.3"],
  ">": ["0,2 0,.7 1.2,.7", ".7,.1 1.3,.7 .7,1.3"],
  "^": [".5,2 .5,.1", "0,.6 .5,.1 1,.6"],
  "-": ["-.3,1 1.3,1"],
}

# Class -> layers: a shape or a text, its size, its colour, where its middle is.
_Layer = tuple[str, float, tuple[int, int, int], float]
SIGNS: dict[str, tuple[_Layer, ...]] = {
  "stop": (
    ("octagon", 0.96, _WHITE, 0),
    ("octagon", 0.88, _RED, 0),
    ("STOP", 0.30, _WHITE, 0),
  ),
  "yield": (("yield", 0.62, _RED, -0.2), ("yield", 0.36, _WHITE, -0.2)),
  "no_entry": (("disc", 0.96, _RED, 0), ("-", 0.56, _WHITE, 0)),
  "priority_road": (
    ("diamond", 0.74, _WHITE, 0),
    ("diamond", 0.54, _YELLOW, 0),
  ),
  **{
    f"speed_{text}": (
      ("disc", 0.96, _RED, 0),
      ("disc", 0.72, _WHITE, 0),
      (text, 0.40, _BLACK, 0),
    )
    for text in ("30", "50", "80")
  },
  "danger": (
    ("triangle", 0.62, _RED, 0.2),
    ("triangle", 0.40, _WHITE, 0.2),
    ("!", 0.32, _BLACK, 0.16),
  ),
  **{
    name: (
      ("disc", 0.96, _WHITE, 0),
      ("disc", 0.88, _BLUE, 0),
      (arrow, 0.50, _WHITE, 0),
    )
    for name, arrow in (("turn_left", "<"), ("turn_right", ">"), ("ahead", "^"))
  },
  "parking": (("square", 0.82, _BLUE, 0), ("P", 0.52, _WHITE, 0)),
}


def draw(example_id: str, sign: str) -> np.ndarray:
  """Draw the scene of an id: uint8 `[64, 64, 3]` with the sign of a class."""
  dice = drawing.Dice("signs", "scene", example_id)
  canvas = _street(dice)
  _plant(canvas, dice, SIGNS[sign])
  light = dice.between(0.4, 1.05)
  canvas *= light * (1 + 0.08 * (dice.uniform(3) - 0.5))
  canvas += 14 * (dice.uniform(SIDE_PX, SIDE_PX, 1) - 0.5)
  return np.clip(np.floor(canvas + 0.5), 0, 255).astype(np.uint8)


def _street(dice: drawing.Dice) -> np.ndarray:
  """Draw float64 `[64, 64, 3]` levels: sky, houses, bushes, a road."""
  sky = np.array([120.0, 165.0, 215.0]) + 70 * (dice.uniform(3) - 0.5)
  canvas = sky + (225 - sky) * (_ROWS / SIDE_PX)[..., None]
  canvas = canvas + drawing.stretch(
    50 * (dice.uniform(5, 5, 1) - 0.5), SIDE_PX, SIDE_PX
  )
  horizon = dice.integer(34, 52)
  for _ in range(dice.integer(1, 3)):
    _house(canvas, dice, horizon)
  for _ in range(dice.integer(2, 6)):
    green = np.array([50.0, 100.0, 45.0]) + 60 * (dice.uniform(3) - 0.5)
    cx, cy = dice.integer(0, SIDE_PX), horizon - dice.integer(-2, 14)
    bush = (_COLUMNS - cx) ** 2 + (_ROWS - cy) ** 2 <= dice.integer(3, 12) ** 2
    canvas[bush & (_ROWS < horizon)] = green
  grey = dice.between(85, 150)
  canvas[horizon:] = grey + 20 * (dice.uniform(3) - 0.5)
  return canvas + drawing.stretch(
    40 * (dice.uniform(13, 13, 1) - 0.5), SIDE_PX, SIDE_PX
  )


def _house(canvas: np.ndarray, dice: drawing.Dice, horizon: int) -> None:
  """Paint a wall with rows of windows, down to the horizon."""
  left, width = dice.integer(-10, 50), dice.integer(14, 34)
  top = horizon - dice.integer(14, 44)
  rows, columns = slice(max(top, 0), horizon), slice(max(left, 0), left + width)
  wall = dice.between(90, 190) + 70 * (dice.uniform(3) - 0.5)
  canvas[rows, columns] = wall
  step, glass = dice.integer(6, 10), wall * dice.between(0.4, 1.3)
  for y in range(top + 3, horizon - 3, step):
    for x in range(left + 3, left + width - 3, step):
      canvas[max(y, 0) : max(y + 4, 0), max(x, 0) : max(x + 3, 0)] = glass


def _plant(
  canvas: np.ndarray, dice: drawing.Dice, layers: Sequence[_Layer]
) -> None:
  """Paint a pole and a sign on it."""
  radius = dice.between(17, 24)
  cx = SIDE_PX / 2 + dice.between(-3.5, 3.5)
  cy = SIDE_PX / 2 - 2 + dice.between(-3.5, 3.5)
  half = 1 + int(radius / 14)
  pole = slice(max(int(cx) - half, 0), int(cx) + half)
  canvas[int(cy) :, pole] = dice.between(110, 190)
  # A turn by twice the angle of this tangent; seen from the side: narrower.
  tangent, narrow = dice.between(-0.105, 0.105), dice.between(0.72, 1.0)
  cos = (1 - tangent**2) / (1 + tangent**2)
  sin = 2 * tangent / (1 + tangent**2)
  faded = dice.between(0.0, 0.4)
  box = tuple(
    slice(max(int(c - 1.2 * radius), 0), int(c + 1.2 * radius) + 2)
    for c in (cy, cx)
  )
  y, x = _ROWS[box], _COLUMNS[box]
  u = (cos * (x - cx) + sin * (y - cy)) / (radius * narrow)
  v = (cos * (y - cy) - sin * (x - cx)) / radius
  part = canvas[box]
  for shape, size, colour, down in layers:
    distance = _distance(shape, u / size, (v - down) / size) * size
    cover = np.clip(0.5 - distance * radius, 0, 1)[..., None]
    paint = np.array(colour) + faded * (150 - np.array(colour))
    part += cover * (paint - part)


def _distance(shape: str, u: np.ndarray, v: np.ndarray) -> np.ndarray:
  """Compute how far points are outside a shape of size 1; negative inside."""
  if shape == "disc":
    return np.sqrt(u**2 + v**2) - 1
  if shape in _POLYGONS:
    return np.max([u * a + v * b for a, b in _POLYGONS[shape]], axis=0) - 1
  # Of a text: to the nearest stroke, less half its width.
  out = np.full(u.shape, np.inf)
  for ax, ay, bx, by in _segments(shape):
    px, py, dx, dy = u - ax, v - ay, bx - ax, by - ay
    along = (px * dx + py * dy) / (dx**2 + dy**2)
    along = np.minimum(np.maximum(along, 0), 1)
    px, py = px - along * dx, py - along * dy
    out = np.minimum(out, px * px + py * py)
  return np.sqrt(out) - _STROKE / 2


@functools.cache
def _segments(text: str) -> list[tuple[float, ...]]:
  """Return the ends of the strokes of a line of glyphs."""
  left = -(1.5 * len(text) - 0.5) / 2
  out: list[tuple[float, ...]] = []
  for i, glyph in enumerate(text):
    for stroke in _STROKES[glyph]:
      xs, ys = zip(*(c.split(",") for c in stroke.split()), strict=True)
      places = [
        (left + 1.5 * i + float(x), float(y) - 1)
        for x, y in zip(xs, ys, strict=True)
      ]
      out += [a + b for a, b in itertools.pairwise(places)]
  return out

"""Geometry rules: how a photograph becomes the square that a benchmark or model
sees.

A rule is a name, recorded in configs and fingerprints:

  imagenet            ImageNet-C's: `short256_crop224`
  inception           ImageNet-C's and -P's for Inception: `fraction0.875_299`,
                      odd margins halved, rounding to even
  short256            the shorter side to 256, no crop: where ImageNet-P starts
  short256_crop224    the shorter side to 256, then a centre crop
  squash256_crop227   both sides to 256, then a centre crop: Caffe's
  fraction0.875_299   the centre 0.875 of each side, then both sides to 299
  centre7of8_224      the centre square of 7/8 of the shorter side, rounded down,
                      then both sides to 224: EfficientNet's, for which the
                      share is px / (px + 32); odd margins are larger at the left
                      and the top
  whole               as it is
  none                the same, for pictures that are corrupted whole

with any numbers, and `_bicubic` at the end for bicubic resampling. Antialiased
resampling as Pillow's up to 12 is the published one (docs/evidence/specs/corruptions.md
section 0): `robust_tfds/resizing.py`, whatever Pillow is here.
"""

import contextlib
import math
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from robust_tfds import errors, resizing
from robust_tfds.reading import limits, pictures

_LARGEST_PX = 8192
_ALIASES = {
  "imagenet": "short256_crop224",
  "inception": "fraction0.875_299",
  "none": "whole",
}
_RULE = re.compile(
  r"(?:(?P<kind>short|squash)(?P<resize>\d+)(?:_crop(?P<crop>\d+))?"
  r"|(?:fraction(?P<fraction>0?\.\d+|1(?:\.0)?)"
  r"|centre(?P<part>\d{1,40})of(?P<of>\d{1,40}))_(?P<side>\d+)"
  r"|(?P<whole>whole))"
  r"(?P<bicubic>_bicubic)?"
)


class _SizeError(errors.UserError):
  """An error for a picture whose sides a rule cannot be applied to."""


def shape(rule: str) -> tuple[int | None, int | None, int]:
  """Return the shape of the pictures that a rule makes; None if it varies.

  Raises:
    UserError: no such rule.
  """
  parts = _parse(rule)
  side = parts["crop"] or parts["side"]
  if parts["kind"] == "squash" and not side:
    side = parts["resize"]
  return (int(side), int(side), 3) if side else (None, None, 3)


class Fit(NamedTuple):
  """The effect of a rule on pictures of one size, in px.

  Attributes:
    box: (left, top, right, bottom) of the part that is resized.
    size: (width, height) that it is resized to.
    crop: (left, top, right, bottom) of the part of the resized picture that is
      seen.
    bicubic: whether resampling is bicubic rather than bilinear.
  """

  box: tuple[int, int, int, int]
  size: tuple[int, int]
  crop: tuple[int, int, int, int]
  bicubic: bool

  @property
  def taps(self) -> tuple[resizing.Taps, resizing.Taps]:
    """The resampling taps from the whole picture to what is seen: down and
    across.
    """
    left, top, right, bottom = self.box
    across = resizing.taps(right - left, self.size[0], self.bicubic)
    down = resizing.taps(bottom - top, self.size[1], self.bicubic)
    return (
      down.part(self.crop[1], self.crop[3]).after(top),
      across.part(self.crop[0], self.crop[2]).after(left),
    )


def fit(rule: str, width: int, height: int) -> Fit:
  """Return what a rule does to a picture of some size.

  Raises:
    UserError: no such rule, or a picture that is too long or too small for it.
  """
  parts = _parse(rule)
  box, size = (0, 0, width, height), (width, height)
  if parts["fraction"]:
    half = _half_to_even if rule == "inception" else _half_down
    box = _fraction(width, height, float(parts["fraction"]), half)
    size = (int(parts["side"]), int(parts["side"]))
  elif parts["part"]:
    box = _centre(width, height, int(parts["part"]), int(parts["of"]))
    size = (int(parts["side"]), int(parts["side"]))
  elif parts["kind"] == "squash":
    size = (int(parts["resize"]), int(parts["resize"]))
  elif parts["kind"] == "short":
    size = _shorter_side(width, height, int(parts["resize"]))
  crop = (0, 0, *size)
  if parts["crop"]:
    side = int(parts["crop"])
    left, top = (_half_to_even(length - side) for length in size)
    crop = (left, top, left + side, top + side)
  return Fit(box, size, crop, bool(parts["bicubic"]))


def apply(pixels: np.ndarray, rule: str) -> np.ndarray:
  """Apply a rule to a picture.

  Args:
    pixels: uint8 `[H, W, C]`.
    rule: see the module.

  Returns:
    uint8 `[h, w, C]`.

  Raises:
    UserError: see `fit`.
  """
  way = fit(rule, pixels.shape[1], pixels.shape[0])
  left, top, right, bottom = way.box
  if way.size != (right - left, bottom - top):
    return resizing.resized(pixels, *way.taps)
  rows, columns = slice(*way.crop[1::2]), slice(*way.crop[::2])
  return pixels[top:bottom, left:right][rows, columns]


def describe(
  rule: str, sizes: Collection[tuple[int, int]], before: str = ""
) -> str:
  """Return what a rule shows of pictures, for the screen.

  Args:
    rule: see the header.
    sizes: (height, width) of the pictures, px; empty if unknown.
    before: what is done to them before, in words.

  >>> describe("short128_crop112", [(48, 48), (400, 400)])
  '48 to 400 px: short side to 128, central 112 (76 % of the picture)'
  >>> describe("short32_crop32", [(32, 32)])
  '32 px: shown as stored'
  """
  parts, shares = _parse(rule), []
  for height, width in sizes:
    with contextlib.suppress(_SizeError):  # refused where it is read
      shares.append(_share(fit(rule, width, height), width, height))
  if parts["whole"]:
    how = "shown whole" if before else "whole"
  elif shares and set(shares) == {None}:
    how = "shown as stored"
  elif parts["kind"]:
    how = "short side" if parts["kind"] == "short" else "both sides"
    how += f" to {parts['resize']}"
    how += f", central {parts['crop']}" if parts["crop"] else ""
  else:
    part = parts["fraction"] or f"{parts['part']}/{parts['of']}"
    side = "each side" if parts["fraction"] else "the short side"
    how = f"central {part} of {side}, to {parts['side']}"
  if "central" in how and shares:
    how += (
      f" ({_range(100 if s is None else s for s in shares)} % of the picture)"
    )
  px = "sizes that are known once they are prepared"
  if sizes:
    px = f"{_range(side for size in sizes for side in size)} px"
  return f"{px}: {before}{how}"


def _share(way: Fit, width: int, height: int) -> int | None:
  """Return the percentage of a picture that is seen; None if no pixel changes."""
  whole = (0, 0, width, height)
  if (way.box, way.size, way.crop) == (whole, (width, height), whole):
    return None
  (left, top, right, bottom), (x0, y0, x1, y1) = way.box, way.crop
  seen = (right - left) * (bottom - top) * (x1 - x0) * (y1 - y0)
  return 100 * seen // (width * height * way.size[0] * way.size[1])


def _range(values: Iterable[int]) -> str:
  """Return the least and the greatest of whole numbers: `48 to 400`, or `32`."""
  ends = sorted({*values})
  return f"{ends[0]} to {ends[-1]}" if len(ends) > 1 else f"{ends[0]}"


def _parse(rule: str) -> dict[str, Any]:
  parts = None
  if isinstance(rule, str):
    parts = _RULE.fullmatch(_ALIASES.get(rule, rule))
  if not parts:
    raise errors.UserError(
      f"Unknown geometry {rule!r}. Known: {', '.join(_ALIASES)}, whole, or the"
      " like of short256_crop224, squash256_crop227, fraction0.875_299,"
      " centre7of8_224."
    )
  if parts["part"]:
    _check_share(rule, int(parts["part"]), int(parts["of"]))
  sizes = {k: int(parts[k]) for k in ("resize", "crop", "side") if parts[k]}
  if not all(1 <= size <= _LARGEST_PX for size in sizes.values()):
    raise errors.UserError(
      f"Geometry {rule!r}: sizes must be from 1 to {_LARGEST_PX} px."
    )
  if sizes.get("crop", 0) > sizes.get("resize", _LARGEST_PX):
    raise errors.UserError(
      f"Geometry {rule!r}: the crop does not lie inside the resized picture."
    )
  return parts.groupdict()


def _check_share(rule: str, numerator: int, denominator: int) -> None:
  """Refuse shares above 1 or of nothing, and fractions not in lowest terms."""
  if not 1 <= numerator <= denominator or math.gcd(numerator, denominator) > 1:
    raise errors.UserError(
      f"Geometry {rule!r}: expected a share of the shorter side in lowest terms,"
      " above 0 and at most 1, e.g. centre7of8_224."
    )


def decode(
  data: bytes,
  rule: str,
  what: str,
  *,
  convert_last: bool = False,
  border_px: int = 0,
  upright: bool = False,
) -> np.ndarray:
  """Decode and crop an image file.

  Args:
    data: the file's bytes.
    rule: see the header.
    what: the file's name, for errors.
    convert_last: crop before the conversion to RGB, as ImageNet-P's scripts do:
      palette pictures are then resized without interpolation, CMYK ones as CMYK.
    border_px: width that is cut off all sides before the rule; such pictures
      are RGB.
    upright: turn it first according to its EXIF data.

  Returns:
    uint8 RGB `[H, W, 3]`; grey and other modes are converted.

  Raises:
    UserError: see `reading.pictures.picture`, or too long or small for the
      rule; the message begins with `what`.
  """
  shape(rule)  # an unknown rule is not the file's fault
  with pictures.opened(data, what) as picture:
    turn = pictures.orientation(picture) if upright else 1
    try:
      # The order of the two is not published for 16-bit grey.
      if convert_last and not border_px and not pictures.is_deep(picture):
        turned = pictures.upright(picture, turn)
        return np.asarray(pictures.rgb(_apply_in_mode(turned, rule), what))
      pixels = np.asarray(pictures.upright(pictures.rgb(picture, what), turn))
      if border_px:
        pixels = pixels[border_px:-border_px, border_px:-border_px]
      return apply(pixels, rule)
    except _SizeError as e:
      raise errors.UserError(f"{what}: {e}") from e


def _apply_in_mode(picture: Any, rule: str) -> Any:
  """Apply a rule to a PIL picture of 8 bits per value, keeping its mode.

  It works like Pillow's `crop` and `resize`: colours are weighted by their
  opacity, and palette indices, or bilevel values, are not mixed.
  """
  from PIL import Image

  way = fit(rule, *picture.size)
  if picture.mode in ("1", "P", "PA"):
    nearest = Image.Resampling.NEAREST  # alike in all versions
    return picture.crop(way.box).resize(way.size, nearest).crop(way.crop)
  mode = {"LA": "La", "RGBA": "RGBa"}.get(picture.mode, picture.mode)
  levels = [np.asarray(band) for band in picture.convert(mode).split()]
  seen = apply(np.stack(levels, axis=-1), rule)
  bands = [Image.fromarray(seen[..., i]) for i in range(len(levels))]
  return Image.merge(mode, bands).convert(picture.mode)


def _shorter_side(w: int, h: int, side: int) -> tuple[int, int]:
  """Return (width, height) with the shorter one at `side`."""
  if min(w, h) == side:
    return w, h
  size = (side, int(side * h / w)) if w < h else (int(side * w / h), side)
  if size[0] * size[1] > limits.allowed(limits.PICTURE_PIXELS):
    raise _SizeError(
      f"{w} x {h} px become {size[0]} x {size[1]} where the shorter side is"
      f" brought to {side} px, more than can be held. Remove the picture, or"
      " crop it."
    )
  return size


def _fraction(
  w: int, h: int, fraction: float, half: Callable[[int], int]
) -> tuple[int, int, int, int]:
  """Return (left, top, right, bottom) of the centre."""
  cw, ch = int(w * fraction), int(h * fraction)
  if not cw or not ch:
    raise _SizeError(
      f"{w} x {h} px are too few for a centre of {fraction} of each side. Remove"
      " the picture."
    )
  left, top = half(w - cw), half(h - ch)
  return left, top, left + cw, top + ch


def _centre(
  w: int, h: int, numerator: int, denominator: int
) -> tuple[int, int, int, int]:
  """Return (left, top, right, bottom) of a centre square.

  It is EfficientNet's crop: tensorflow/tpu, models/official/efficientnet,
  preprocessing.py, `_decode_and_center_crop`.
  """
  side = min(w, h) * numerator // denominator
  if not side:
    raise _SizeError(
      f"{w} x {h} px are too few for a centre square of {numerator}/{denominator} of the"
      " shorter side. Remove the picture."
    )
  left, top = (w - side + 1) // 2, (h - side + 1) // 2
  return left, top, left + side, top + side


def _half_to_even(margin: int) -> int:
  # Python rounds so, and the published pipelines do.
  return int(round(margin / 2))


def _half_down(margin: int) -> int:
  return margin // 2

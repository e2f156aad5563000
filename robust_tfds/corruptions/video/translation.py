"""A shaking camera: a crop at random offsets.

docs/evidence/specs/video.md section 1: rows and columns uniform in 0 .. 8 s - 1 from the
top-left corner. Edition `paper`: the shorter side is resized to 256 px and
every frame has its own crop of 224 px. Edition `code`: one crop for the whole
clip, of 256 px if the clip is 288 px wide and else of 224 px, without resizing.
Beyond the picture it is black.
"""

import functools
from collections.abc import Mapping

import jax
import numpy as np

from robust_tfds import resizing
from robust_tfds.corruptions import plugins, seeding
from robust_tfds.corruptions.ops import layout, resampling

_SHORT_PX, _CROP_PX = 256, 224
_WIDE_PX, _WIDE_CROP_PX = 288, 256
_REACH_PX = 8 * 5 + _WIDE_CROP_PX  # beyond a frame's first row, and so its last
_ONE = np.float32(1)
_HALF = np.float32(0.5)


def offsets(frames: plugins.Frames) -> np.ndarray:
  """Draw rows and columns of every frame's crop: int64 `[N, 2]`."""
  keys = frames.clip_keys if frames.edition == "code" else frames.keys
  reach = 8 * frames.severity
  columns = [seeding.first_integers(keys, reach, s) for s in (0, 1)]
  return np.stack(columns, axis=1)


def sizes_after(edition: str, sizes: np.ndarray) -> np.ndarray:
  """Return the sizes of the crops, int `[N, 2]`: 224 px; 256 in edition `code`
  for a wide clip.
  """
  side = np.full(len(sizes), _CROP_PX)
  if edition == "code":
    side[sizes[:, 1] == _WIDE_PX] = _WIDE_CROP_PX
  return np.stack([side, side], axis=1)


def draws(frames: plugins.Frames) -> plugins.Arrays:
  """Return the taps of every frame's crop, see `resizing.py`."""
  sizes, edition = frames.sizes, frames.edition
  sides = sizes_after(edition, sizes)[:, 0]
  return crops(sizes, offsets(frames), edition, sides)


def crops(
  sizes: np.ndarray, corners: np.ndarray, edition: str, sides: np.ndarray
) -> plugins.Arrays:
  """Return the taps of squares from given corners.

  Args:
    sizes: int `[N, 2]`, (height, width) of every frame.
    corners: int `[N, 2]`, (row, column).
    edition: `paper` resizes first.
    sides: int `[N]`, sides of the squares.
  """
  out = _WIDE_CROP_PX if edition == "code" else _CROP_PX
  arrays: plugins.Arrays = {}
  for axis, name in enumerate(("down", "across")):
    rows = []
    for size, corner in zip(sizes.tolist(), corners[:, axis].tolist()):
      short = min(size) if edition == "paper" else _SHORT_PX
      first, weights = _taps(size[axis], short)
      place = slice(corner, corner + out)
      rows.append(resizing.Taps(first[place], weights[place]))
    taps = resizing.stack(rows)
    seen = np.arange(out) < sides[:, None]
    arrays[f"{name}_first"] = np.asarray(taps.first)
    arrays[f"{name}_weights"] = np.asarray(taps.weights) * seen[
      ..., None
    ].astype(np.int32)
  return arrays


def apply(
  frame: jax.Array, size: layout.Size, draws: Mapping[str, jax.Array]
) -> jax.Array:
  """Resample the crop, uint8 `[S, S * 3]`, black beyond the picture; the taps
  know its size.
  """
  down, across = (
    resizing.Taps(draws[f"{n}_first"], draws[f"{n}_weights"])
    for n in ("down", "across")
  )
  return resampling.resample(frame, down, across)


@functools.lru_cache(maxsize=256)
def _taps(length: int, short: int) -> resizing.Taps:
  """Return the taps that resize one side of a frame whose shorter side becomes 256 px.

  They are a triangle in float32. The products with reciprocals and the fused
  product and sum are those of the first versions' compiled code, whose bytes
  are reproduced: another order of operations changes a weight's last bit.

  Args:
    length: length of the side, in px.
    short: length of the frame's shorter side.

  Returns:
    The taps of the whole side, then as many without weights as a crop may reach
    beyond it.
  """
  if short == _SHORT_PX:
    ones = np.full((length, 1), 1 << resizing.BITS, np.int32)
    whole = resizing.Taps(np.arange(length, dtype=np.int32), ones)
    return whole.part(0, length + _REACH_PX)
  out = _SHORT_PX * length // short
  scale = np.float32(length) / np.float32(out)
  support = max(scale, _ONE)
  center = (np.arange(out, dtype=np.float32)[:, None] + _HALF) * scale
  first = np.maximum(np.floor(center - support + _HALF), 0).astype(np.int32)
  last = np.minimum(np.floor(center + support + _HALF), length)
  at = first + np.arange((last - first).max(), dtype=np.int32)
  distance = np.abs(at.astype(np.float32) + _HALF - center)
  weight = _fused(-distance, _ONE / support, _ONE)
  weight = np.where(at < last, np.maximum(weight, np.float32(0)), 0)
  one = np.float32(1 << resizing.BITS)
  total = (weight * one + _HALF).astype(np.int32).sum(axis=1, keepdims=True)
  share = weight * (_ONE / total.astype(np.float32)) * one * one
  whole = resizing.Taps(first[:, 0], (share + _HALF).astype(np.int32))
  return whole.part(0, out + _REACH_PX)


def _fused(a: np.ndarray, b: np.float32, c: np.float32) -> np.ndarray:
  """Compute `a * b + c`, rounded to float32 once."""
  return (a.astype(np.float64) * float(b) + float(c)).astype(np.float32)


PLUGIN = plugins.OfFrames(draws, apply, sizes_after)

"""Saturate and brightness against the authors' float64, colour by colour."""

import colorsys

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions.image import saturate

_EDITIONS = ("imagenet", "tiny_imagenet", "cifar10")


def _colours(step: int) -> np.ndarray:
  """Every `step`-th of all colours, uint8 `[1, H, 256, 3]`."""
  words = np.arange(0, 1 << 24, step, dtype=np.uint32)
  channels = [(words >> shift) & 0xFF for shift in (0, 8, 16)]
  rows = len(words) // 256
  cut = np.stack(channels, axis=-1)[: rows * 256]
  return cut.reshape(1, rows, 256, 3).astype(np.uint8)


def _reference(colours: np.ndarray, factor: float, added: float) -> np.ndarray:
  """skimage's rgb2hsv, the authors' line, skimage's hsv2rgb; uint8."""
  rgb = colours / 255.0
  value = rgb.max(axis=-1)
  spread = value - rgb.min(axis=-1)
  grey = spread == 0
  divisor = np.where(grey, 1.0, spread)
  saturation = spread / np.where(value == 0, 1.0, value)
  red, green, blue = np.moveaxis(rgb, -1, 0)
  hue = (green - blue) / divisor
  hue = np.where(green == value, 2.0 + (blue - red) / divisor, hue)
  hue = np.where(blue == value, 4.0 + (red - green) / divisor, hue)
  hue = np.where(grey, 0.0, (hue / 6.0) % 1.0)
  saturation = np.clip(saturation * factor + added, 0, 1)
  sector = np.floor(hue * 6)
  within = hue * 6 - sector
  low = value * (1 - saturation)
  falling = value * (1 - within * saturation)
  rising = value * (1 - (1 - within) * saturation)
  cycle = np.stack([value, falling, low, low, rising, value])
  sector = sector.astype(int) % 6
  out = [
    np.take_along_axis(cycle, ((sector - back) % 6)[None], 0)[0]
    for back in (0, 2, 4)
  ]
  levels = np.clip(np.stack(out, axis=-1), 0, 1) * 255
  return levels.astype(np.uint8)


class SaturateTest(parameterized.TestCase):
  def _check(self, edition: str, step: int) -> None:
    colours = _colours(step)
    keys = jnp.asarray(conditions.raw_keys(0, "d", "saturate", 1, ["a"]))
    for severity, row in enumerate(saturate.SEVERITIES[edition], 1):
      got = corruptions.corrupt_batch(
        colours, "saturate", severity, edition=edition, keys=keys
      )
      np.testing.assert_array_equal(
        got, _reference(colours, *row), err_msg=f"{edition} {row}"
      )

  @parameterized.parameters(*_EDITIONS)
  def test_each_251st_colour_is_rounded_as_the_authors_round_it(self, edition):
    self._check(edition, step=251)

  @parameterized.parameters(*_EDITIONS)
  @pytest.mark.slow
  def test_every_colour_is_rounded_as_the_authors_round_it(self, edition):
    self._check(edition, step=1)

  def test_the_reference_is_that_of_the_standard_library(self):
    colours = _colours(step=70001)
    got = _reference(colours, 0.3, 0.0).reshape(-1, 3).astype(int)
    for colour, levels in zip(colours.reshape(-1, 3) / 255.0, got, strict=True):
      hue, saturation, value = colorsys.rgb_to_hsv(*colour)
      exact = colorsys.hsv_to_rgb(hue, saturation * 0.3, value)
      np.testing.assert_allclose(levels, np.array(exact) * 255, atol=1.001)

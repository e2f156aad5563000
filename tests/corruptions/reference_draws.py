"""The reference's own draws, rebuilt: what `replays.check` injects.

One function a corruption, `(rng, image, severity, edition)` -> what its `apply`
takes; in the order of docs/evidence/specs/corruptions.md section 3.
"""

import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.image import (
  elastic_transform,
  frost,
  glass_blur,
  snow,
  spatter,
)
from robust_tfds.corruptions.ops import layout, motion


def noise_draws(name: str):
  """The draws of one of the noises."""

  def draws(rng, image, severity, edition):
    row = edition.row(plugins.picture(name).severities)[severity - 1]
    if name == "impulse_noise":
      # scikit-image's own generator, not the legacy one.
      rng = np.random.default_rng(1000 + severity)
      flip = rng.random(image.shape) <= row
      return flip, rng.random(image.shape) <= 0.5
    if name == "shot_noise":
      return np.minimum(rng.poisson(image / 255.0 * row), row).astype(np.int32)
    return rng.normal(size=image.shape).astype(np.float32)

  return draws


def elastic_draws(rng, image, severity, edition):
  height, width = image.shape[:2]
  jitter = np.zeros((3, 2), np.float32)
  if edition.michaelis:
    scale = height * 0.005
  else:
    scale = 1.0
    row = edition.row(elastic_transform.SEVERITIES)[severity - 1]
    most = edition.elastic_px * row[2]
    jitter = (rng.uniform(-most, most, size=(3, 2)) / most).astype(np.float32)
  fields = (
    (rng.uniform(-scale, scale, (height, width)) / scale).astype(np.float32)
    for _ in range(2)
  )
  return jitter, *fields


def fog_draws(rng, image, severity, edition):
  del severity
  side = edition.plasma_px or max(*image.shape[:2], 3)
  levels = (side - 1).bit_length()
  field = np.zeros((1 << levels, 1 << levels), np.float32)
  for n in (1 << level for level in range(levels)):
    squares, tops, lefts = rng.uniform(-1, 1, (3, n, n))
    field[n : 2 * n, n : 2 * n] = squares
    field[:n, n : 2 * n] = tops
    field[n : 2 * n, :n] = lefts
  return field


def frost_draws(rng, image, severity, edition):
  del severity
  which = rng.randint(5)
  shapes = frost.assets(edition)["shapes"]
  shape = shapes[which]
  if edition.michaelis:
    size = layout.Size(*image.shape[:2])
    shape = np.asarray(frost.resized(which, size, image.shape, shapes))
  row, column = (rng.randint(0, shape[i] - image.shape[i]) for i in range(2))
  return np.int32(which), np.int32(row), np.int32(column)


def glass_draws(rng, image, severity, edition):
  """Pairs (dx, dy) in the order of the visits: last pixel first."""
  _, delta, passes = edition.row(glass_blur.SEVERITIES)[severity - 1]
  height, width = image.shape[:2]
  rows = np.arange(height - delta, delta, -1)
  columns = np.arange(width - delta, delta, -1)
  most = max(row[2] for row in edition.row(glass_blur.SEVERITIES))
  draws = np.zeros((most, height, width), np.int32)
  for i in range(passes):
    pairs = rng.randint(-delta, delta, size=(len(rows), len(columns), 2))
    draws[i][np.ix_(rows, columns)] = pairs[..., 1] * 65536 + pairs[..., 0]
  return draws


def motion_draws(rng, image, severity, edition):
  del image, severity, edition
  return motion.direction(rng.uniform(-45, 45))


def snow_draws(rng, image, severity, edition):
  """Our `draw` gives the part of the layer that the zoom uses."""
  mean, deviation, zoom = edition.row(snow.SEVERITIES)[severity - 1][:3]
  height, width = image.shape[:2]
  layer = rng.normal(size=(height, width), loc=mean, scale=deviation)
  direction = motion.direction(rng.uniform(-135, -45))
  rows, columns = (int(np.ceil(n / zoom)) for n in (height, width))
  top, left = (height - rows) // 2, (width - columns) // 2
  normals = ((layer - mean) / deviation).astype(np.float32)
  used = normals[top : top + rows, left : left + columns]
  return np.pad(used, ((0, height - rows), (0, width - columns))), direction


def spatter_draws(rng, image, severity, edition):
  mean, deviation = edition.row(spatter.SEVERITIES)[severity - 1][:2]
  layer = rng.normal(size=image.shape[:2], loc=mean, scale=deviation)
  return ((layer - mean) / deviation).astype(np.float32)


OF = {
  **{
    name: noise_draws(name)
    for name in (
      "gaussian_noise",
      "speckle_noise",
      "shot_noise",
      "impulse_noise",
    )
  },
  "elastic_transform": elastic_draws,
  "fog": fog_draws,
  "frost": frost_draws,
  "glass_blur": glass_draws,
  "motion_blur": motion_draws,
  "snow": snow_draws,
  "spatter": spatter_draws,
}

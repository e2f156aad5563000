"""Replays of the reference's runs: its draws, injected into our `apply`.

The reference code ran once per cell with `np.random.seed(1000 + severity)`
(tests/golden/corruptions/README.md). `draws` of a test rebuilds what it drew
from a `RandomState` of that seed, in the order of docs/evidence/specs/corruptions.md
section 3.
"""

import functools
import json
from collections.abc import Callable

import jax
import numpy as np
from PIL import Image

from robust_tfds.corruptions import frost_pictures, plugins, spec
from robust_tfds.corruptions import image as pictures
from robust_tfds.corruptions.ops import layout
from tests import shared_data

EDITIONS = {"img0": "imagenet", "cifar32": "cifar10", "small32": "any"}
CELLS = tuple(
  (key, severity)
  for key, severities in (
    ("img0", (1, 3, 5)),
    ("cifar32", (1, 2, 3, 4, 5)),
    ("small32", (1, 2, 3, 4, 5)),
  )
  for severity in severities
)
Draws = Callable[[np.random.RandomState, np.ndarray, int, spec.Edition], object]


def picture(key: str) -> np.ndarray:
  path = shared_data.path("golden/corruptions/inputs", f"{key}.png")
  image = np.asarray(Image.open(path))
  return np.repeat(image[..., None], 3, 2) if image.ndim == 2 else image


def use_frost() -> None:
  """The published frost pictures, for comparisons with the authors' pixels."""
  frost_pictures.use_folder(shared_data.path("data/frost"))


def replay(name: str, key: str, severity: int, draws: Draws) -> np.ndarray:
  """Our output for the reference's draws, uint8 `[H, W, 3]`."""
  plugin, edition = plugins.picture(name), spec.edition(EDITIONS[key])
  image = picture(key)
  rng = np.random.RandomState(1000 + severity)
  drawn = draws(rng, image, severity, edition)
  rows, fixed = pictures._arrays(name, edition.name, 0)
  run = applied(plugin, edition)
  levels = run(image, np.int32(severity), drawn, rows, fixed)
  return np.asarray(levels).reshape(image.shape)


@functools.cache
def applied(plugin, edition):
  """`(image, severity, draws, rows, fixed)` -> uint8 `[H, W * 3]`, compiled."""

  @jax.jit
  def run(image, severity, drawn, rows, fixed):
    table = {**pictures.select(rows, severity), **fixed}
    size, key = layout.Size(*image.shape[:2]), np.zeros(2, np.uint32)
    scene = plugins.Scene(image, size, table, edition, key)
    return layout.to_uint8(layout.flat(plugin.apply(scene, drawn)))

  return run


def differences(name: str, key: str, severity: int, ours: np.ndarray):
  """int |difference| to the stored output, and the difference of the sums."""
  folder = shared_data.path("golden/corruptions/replay", key)
  stored = Image.open(folder / f"{name}_{severity}.png").convert("RGB")
  want = np.asarray(stored).astype(int)
  facts = json.loads((folder / "full_image_crc.json").read_text())
  total = facts[f"{name}_{severity}"]["sum"]
  got = ours[:112, -112:] if key == "img0" else ours
  mean = (int(ours.astype(np.int64).sum()) - total) / ours.size
  return np.abs(got.astype(int) - want), mean


def check(test, name: str, key: str, severity: int, draws: Draws) -> None:
  """|d| <= 1 on 99.9 % of elements; the mean of the whole image within 0.15."""
  ours = replay(name, key, severity, draws)
  off, mean = differences(name, key, severity, ours)
  test.assertGreaterEqual((off <= 1).mean(), 0.999, f"worst {off.max()}")
  test.assertLess(abs(mean), 0.15)

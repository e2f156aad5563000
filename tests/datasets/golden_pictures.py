"""The authors' own pixels, held against what a builder stores."""

from collections.abc import Iterator

import numpy as np
from absl.testing import absltest
from PIL import Image

from robust_tfds import conditions
from robust_tfds.corruptions import plugins
from tests import shared_data

DETERMINISTIC = tuple(
  n
  for n in conditions.PICTURES.resolve("common,extra")
  if not plugins.picture(n).random
)
ALL_SEVERITIES = dict.fromkeys(DETERMINISTIC, conditions.SEVERITIES)
# Of each corruption the least, the middle or the most: quick.
ONE_SEVERITY = {n: ((1, 3, 5)[i % 3],) for i, n in enumerate(DETERMINISTIC)}
_EXACT = ("pixelate", "jpeg_compression")


def picture(key: str) -> np.ndarray:
  """An input: uint8 `[H, W, 3]`; skips the test where it is not there."""
  path = shared_data.path("golden", "corruptions", "inputs", f"{key}.png")
  return np.asarray(Image.open(path).convert("RGB"))


def outputs(key: str, name: str) -> Iterator[tuple[int, np.ndarray]]:
  """(severity, uint8 `[H, W, 3]`) as the authors' code made them."""
  root = shared_data.path("golden", "corruptions", "deterministic", key)
  for severity in conditions.SEVERITIES:
    yield severity, np.asarray(Image.open(root / f"{name}_{severity}.png"))


def check(
  test: absltest.TestCase, name: str, stored: np.ndarray, expected: np.ndarray
) -> None:
  """As for the library: `tests/corruptions/image/golden_test.py`."""
  difference = stored.astype(int) - expected[..., :3]
  limit = 0 if name in _EXACT else 1
  test.assertLessEqual(np.abs(difference).max(), limit, name)
  test.assertLessEqual(abs(difference.mean()), 0.15, name)

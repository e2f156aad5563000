"""Deterministic corruptions and the noises against the authors' own pixels."""

import itertools
import json

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions import plugins
from tests import shared_data
from tests.corruptions import replays

_EDITIONS = {
  "imagenet224": "imagenet",
  "anysize": "any",
  "cifar32": "cifar10",
  "tiny64": "tiny_imagenet",
}
_INPUTS = (
  "img0",
  "img1",
  "img2",
  "img3",
  "native",
  "big",
  "gray",
  "small32",
  "cifar32",
  "tiny64",
)
_DETERMINISTIC = tuple(
  n for n in conditions.PICTURES.names("all") if not plugins.picture(n).random
)
_EXACT = ("pixelate", "jpeg_compression")
# Seconds of compilation each: of shapes and editions that `native` has, too, or
# (tiny64) that tests/datasets/tiny_imagenet_c_test.py compares.
_LONG = {
  *((name, key) for name in _EXACT for key in ("tiny64", "cifar32")),
  *(("jpeg_compression", f"img{i}") for i in range(4)),
  *(
    (name, key)
    for name in (*_EXACT, "gaussian_blur")
    for key in ("big", "gray", "small32")
  ),
}
_CASES = tuple(itertools.product(_DETERMINISTIC, _INPUTS))


def _root():
  return shared_data.path("golden", "corruptions")


def _manifest() -> dict:
  return json.loads((_root() / "manifest.json").read_text())


def _input(key: str) -> np.ndarray:
  return np.asarray(Image.open(_root() / "inputs" / f"{key}.png"))


def _edition(key: str) -> str:
  return _EDITIONS[_manifest()[key]["kind"]]


class DeterministicTest(parameterized.TestCase):
  def test_there_are_eight(self):
    self.assertLen(_DETERMINISTIC, 8)

  @parameterized.parameters(*(c for c in _CASES if c not in _LONG))
  def test_golden(self, name, key):
    self._check(name, key)

  @parameterized.parameters(*(c for c in _CASES if c in _LONG))
  @pytest.mark.slow
  def test_golden_of_other_shapes(self, name, key):
    self._check(name, key)

  def _check(self, name, key):
    paths = sorted((_root() / "deterministic" / key).glob(f"{name}_[1-5].png"))
    unused = corruptions.example_key(0, "golden", name, 1, key)
    for path in paths:
      severity = int(path.stem[-1])
      want = np.asarray(Image.open(path).convert("RGB")).astype(int)
      got = corruptions.corrupt(
        _input(key), name, severity, edition=_edition(key), key=unused
      )
      difference = np.asarray(got).astype(int) - want
      limit = 0 if name in _EXACT else 1
      where = f"{name} {severity} on {key}"
      self.assertLessEqual(np.abs(difference).max(), limit, where)
      self.assertLessEqual(abs(difference.mean()), 0.15, where)


class ReplayTest(parameterized.TestCase):
  """The noises with the reference's own draws."""

  @parameterized.product(
    name=("gaussian_noise", "speckle_noise", "shot_noise", "impulse_noise"),
    cell=replays.CELLS,
  )
  def test_noise(self, name, cell):
    key, severity = cell

    def draws(rng, image, severity, edition):
      row = edition.row(plugins.picture(name).severities)[severity - 1]
      if name == "impulse_noise":
        # scikit-image's own generator, not the legacy one.
        rng = np.random.default_rng(1000 + severity)
        flip = rng.random(image.shape) <= row
        return flip, rng.random(image.shape) <= 0.5
      if name == "shot_noise":
        return np.minimum(rng.poisson(image / 255.0 * row), row).astype(
          np.int32
        )
      return rng.normal(size=image.shape).astype(np.float32)

    replays.check(self, name, key, severity, draws)


if __name__ == "__main__":
  absltest.main()

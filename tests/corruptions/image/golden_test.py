"""Deterministic corruptions and the noises against the authors' own pixels."""

import itertools
import json

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions import frost_pictures, plugins
from tests import quick, shared_data
from tests.corruptions import reference_draws, replays

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
# A picture of each edition but tiny64's, which
# tests/datasets/imagenet_c_test.py compares; less what takes seconds to
# compile and whose code `native` runs, too.
_QUICK = {
  *itertools.product(_DETERMINISTIC, ("img0", "cifar32", "native")),
} - {
  *((name, "cifar32") for name in _EXACT),
  ("jpeg_compression", "img0"),
}
_SMALL = [cell for cell in replays.CELLS if cell[0] == "cifar32"]
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

  @quick.cases(sorted(_QUICK), [c for c in _CASES if c not in _QUICK])
  def test_golden(self, name, key):
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
      if name == "zoom_blur":
        self.assertLess(np.abs(difference).mean(), 1e-3, where)


class ReplayTest(parameterized.TestCase):
  """The random ones with the reference's own draws."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    replays.use_frost()
    cls.addClassCleanup(frost_pictures.use_folder, None)

  @quick.cases(
    itertools.product(reference_draws.OF, _SMALL),
    itertools.product(
      reference_draws.OF, [c for c in replays.CELLS if c not in _SMALL]
    ),
  )
  def test_with_the_authors_draws(self, name, cell):
    replays.check(self, name, *cell, reference_draws.OF[name])

"""Our video networks against reference modules, all weights randomised.

A pass is max |d| <= 1e-4 of the logits' scale. In deep networks random weights
amplify rounding, in the reference as well: above 1e-5 we compare with the
reference run in float64 (and print the reference's own distance to it). Clips
are small: the networks take any size, and XLA compiles whole ones slowly.
"""

import dataclasses

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from models.convert import match
from models.model import Classifier
from robust_tfds import models
from tests.models.video import oracles

_TOLERANCE = 1e-4  # of the logits' scale
_FAST = ("r3d_18", "x3d_s")


def parity(name: str) -> dict:
  """max |d|, the logits' scale and both parameter counts of one network."""
  oracle = oracles.ORACLES[name]
  module = oracles.built(oracle)
  model = _fitted(name, oracle)
  frames, side = oracle.clip
  rng = np.random.default_rng(0)
  batch = rng.integers(0, 256, (2, frames, side, side, 3), np.uint8)
  clips = np.asarray(model.preprocess(batch))
  oracles.randomise(oracle, module, name, clips)
  arrays = {n: t.numpy() for n, t in module.state_dict().items()}
  loaded = match.match_arrays(model, arrays)
  want = oracles.logits(oracle, module, clips)
  got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
  difference, own = np.abs(got - want).max(), 0.0
  if difference > 1e-5 * np.abs(want).max():
    exact = oracles.logits(oracle, module.double(), clips.astype(np.float64))
    difference, own = np.abs(got - exact).max(), np.abs(want - exact).max()
  return {
    "difference": float(difference),
    "own": float(own),
    "scale": float(np.abs(want).max()),
    "spread": float(np.abs(want[0] - want[1]).max()),
    "style": loaded.style,
    "ours": model.count_parameters(),
    "published": models.get(name).count_parameters(),
    "theirs": sum(p.numel() for p in module.parameters()),
  }


def _fitted(name: str, oracle: oracles.Oracle) -> Classifier:
  """Our network, made for the small clips where it is made for a size."""
  model = models.get(name)
  if model.spec.flexible:
    return model
  frames, side = oracle.clip
  return dataclasses.replace(
    model,
    spec=dataclasses.replace(model.spec, frames=frames, input_px=side),
    variant=dataclasses.replace(
      model.variant, options={**model.variant.options, **oracle.options}
    ),
  )


class ParityTest(parameterized.TestCase):
  @parameterized.parameters(*_FAST)
  def test_fast(self, name):
    self._check(name)

  @parameterized.parameters(*(n for n in oracles.ORACLES if n not in _FAST))
  @pytest.mark.slow
  def test_the_rest(self, name):
    self._check(name)

  def _check(self, name):
    got = parity(name)
    print(
      f"{name}: {got['style']}, max |d| {got['difference']:.1e} at scale"
      f" {got['scale']:.2f} = {got['difference'] / got['scale']:.1e}"
      f" (reference's own rounding {got['own'] / got['scale']:.1e}),"
      f" {got['ours']:,} parameters"
    )
    self.assertGreater(got["scale"], 0)
    # The two clips must not look the same to the network.
    self.assertGreater(got["spread"], 1e-3 * got["scale"])
    self.assertLessEqual(got["difference"], _TOLERANCE * got["scale"])
    self.assertEqual(got["ours"], got["theirs"])
    self.assertEqual(got["published"], models.get(name).spec.parameters)

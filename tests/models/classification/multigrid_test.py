"""R-MG-34 beside the network written out, small."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds import models
from tests.models import drawn
from tests.models.classification import by_hand

_GRIDS = ((16, 8, 4), (32, 16, 8), (64, 32), (128,))  # of a width of 16


def _read(grids) -> list[np.ndarray]:
  out = []
  for i, x in enumerate(grids):
    parts = [by_hand.max_pool(grids[i - 1], 2, 2)] if i else []
    parts.append(x)
    if i + 1 < len(grids):
      parts.append(grids[i + 1].repeat(2, 1).repeat(2, 2))
    out.append(np.concatenate(parts, -1))
  return out


def _unit(layer, grids) -> list[np.ndarray]:
  return [
    by_hand.norm(
      by_hand.conv(x, layer["grids"][str(i)]["0"], 1, 1),
      layer["grids"][str(i)]["1"],
    )
    for i, x in enumerate(_read(grids))
  ]


def _block(layer, grids) -> list[np.ndarray]:
  inner = [by_hand.relu(x) for x in _unit(layer["unit1"], grids)]
  out = []
  for x, y in zip(grids, _unit(layer["unit2"], inner), strict=True):
    y[..., : x.shape[-1]] += x
    out.append(by_hand.relu(y))
  return out


def _written_out(v, x) -> np.ndarray:
  grids = []
  for i in range(3):
    r = 2**i
    y = x.reshape(len(x), x.shape[1] // r, r, x.shape[2] // r, r, 3)
    stem = v["stems"][str(i)]
    y = by_hand.conv(y.mean((2, 4)), stem["conv"], 2, 3)
    y = by_hand.relu(by_hand.norm(y, stem["bn"]))
    grids.append(by_hand.max_pool(y, 3, 2, 1))
  for stage in range(4):
    if stage:
      small = [by_hand.max_pool(y, 2, 2) for y in grids]
      if stage > 1:  # 28, 14, 7 -> 14, 7 and 14, 7 -> 7
        small[-2:] = [np.concatenate([small[-2], grids[-1]], -1)]
      grids = small
    grids = _block(v["stages"][str(stage)]["0"], grids)
    assert tuple(y.shape[-1] for y in grids) == _GRIDS[stage]
  return by_hand.linear(grids[0].mean((1, 2)), v["fc"])


class MultigridTest(absltest.TestCase):
  def test_as_written_out(self):
    model = models.get("multigrid_r34", num_classes=5)
    model = drawn.with_options(model, depths=(1,) * 4, width=16)
    variables = drawn.variables(model)
    x = np.random.default_rng(1).normal(size=(2, 64, 64, 3)).astype(np.float32)
    want = _written_out(variables, x)
    got = jax.jit(model.apply)(variables, x)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())

  def test_the_papers_size(self):
    # Table 3 of the paper: 32.9 million.
    count = models.get("multigrid_r34").count_parameters()
    self.assertAlmostEqual(count / 1e6, 32.9, delta=0.05)

"""Specs of clips, and what every video network makes of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import models
from tests.models import drawn

# One of each way to treat time: kernels, two pathways, tokens.
_QUICK = ("slowfast_r50", "timesformer_base", "x3d_xs")


class SpecTest(parameterized.TestCase):
  def test_published_facts(self):
    for name in models.names(kind="video"):
      if name != "tiny_r3d":
        spec = models.get(name).spec
        self.assertEqual(spec.label_space, "kinetics400")
        self.assertGreater(spec.gflops, 0)

  @parameterized.parameters(
    # Table 1 of Schiappa et al.: parameters in millions, frames and rate.
    ("slow_r50", 32.5, 8, 8),
    ("i3d_r50", 28.0, 8, 8),
    ("slowfast_r50", 34.6, 32, 2),
    ("x3d_m", 3.8, 16, 5),
    ("mvit_base_16x4", 36.6, 16, 4),
    ("timesformer_base", 121.6, 8, 32),
  )
  def test_table_1(self, name, millions, frames, rate):
    model = models.get(name)
    self.assertAlmostEqual(model.spec.parameters / 1e6, millions, delta=0.05)
    self.assertEqual((model.spec.frames, model.spec.rate), (frames, rate))

  def test_refuses_clips_that_do_not_fit(self):
    clips = np.zeros((4, 8, 32, 32, 3), np.uint8)

    def apply(name, clips):
      return models.get(name).apply({}, clips)

    with self.assertRaisesRegex(ValueError, r"expected \[B, T, H, W, 3\]"):
      apply("tiny_r3d", clips[0])
    with self.assertRaisesRegex(ValueError, "int32 pixels"):
      apply("tiny_r3d", clips.astype(np.int32))
    clips = np.zeros((1, 8, 224, 224, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "8 frames, expected 16"):
      apply("mvit_base_16x4", clips)
    with self.assertRaisesRegex(ValueError, "112 x 112, expected 224 x 224"):
      apply("timesformer_base", clips[:, :, :112, :112])


class LogitsTest(parameterized.TestCase):
  @parameterized.parameters(*_QUICK)
  def test_whole_clips_give_logits(self, name):
    self._check_logits(name)

  @parameterized.parameters(
    *(n for n in models.names(kind="video") if n not in _QUICK)
  )
  @pytest.mark.slow
  def test_whole_clips_of_the_others(self, name):
    self._check_logits(name)

  def _check_logits(self, name):
    model = models.get(name, num_classes=7)
    spec = model.spec
    side = spec.input_px
    clips = jax.ShapeDtypeStruct((2, spec.frames, side, side, 3), np.uint8)
    got = jax.eval_shape(model.apply, drawn.abstract(model), clips)
    self.assertEqual((got.shape, got.dtype), ((2, 7), jnp.float32))

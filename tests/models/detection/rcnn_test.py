"""Two-stage detectors: sizes, cascades."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import models

# Of models/detection/README.md: counted here, mmdetection was never run.
_BODIES = ("resnet50", "resnet101", "resnext101_32x4d", "resnext101_64x4d")
_COUNTS = {
  "retinanet": (37_968_692, 56_960_820, 56_589_364, 95_866_932),
  "fasterrcnn": (41_753_056, 60_745_184, 60_373_728, 99_651_296),
  "maskrcnn": (44_396_336, 63_388_464, 63_017_008, 102_294_576),
  "cascadercnn": (69_394_766, 88_386_894, 88_015_438, 127_293_006),
  "cascademaskrcnn": (77_324_606, 96_316_734, 95_945_278, 135_222_846),
}


@pytest.mark.slow
class CountsTest(parameterized.TestCase):
  @parameterized.parameters(*_COUNTS)
  def test_counts(self, kind):
    for body, count in zip(_BODIES, _COUNTS[kind], strict=True):
      model = models.get(f"{kind}_{body}_fpn_mmdet")
      self.assertEqual(model.count_parameters(), count)
      # Boxes and masks of the background, where they are not of all classes.
      model = models.get(f"{kind}_{body}_fpn_mmdet1")
      more = 4 * 1025 * (kind in ("fasterrcnn", "maskrcnn"))
      more += 257 * {"maskrcnn": 1, "cascademaskrcnn": 3}.get(kind, 0)
      self.assertEqual(model.count_parameters(), count + more)

  @parameterized.parameters(("_dconv", 18), ("_mdconv", 27))
  def test_deformable_bodies(self, end, channels):
    """A 3 x 3 convolution with a bias before each of c3 to c5's."""
    for body, factor, third in (
      ("resnet50", 1, 6),
      ("resnext101_64x4d", 4, 23),
    ):
      more = sum(
        blocks * channels * (9 * width * factor + 1)
        for blocks, width in ((4, 128), (third, 256), (3, 512))
      )
      plain = models.get(f"fasterrcnn_{body}_fpn_mmdet").count_parameters()
      model = models.get(f"fasterrcnn_{body}{end}_fpn_mmdet")
      self.assertEqual(model.count_parameters(), plain + more)


@pytest.mark.slow
class CascadeTest(absltest.TestCase):
  def test_runs_and_averages(self):
    model = models.get("cascademaskrcnn_resnet50_fpn_mmdet", 3)
    spec = dataclasses.replace(model.spec, short_px=96, long_px=128)
    model = dataclasses.replace(model, spec=spec)
    variables = model.init(jax.random.key(0))
    predictors = variables["roi_heads"]["box_predictor"]
    # Untrained offsets would push every box out of the picture.
    offsets = variables["rpn"]["head"]["bbox_pred"]
    offsets["kernel"] = 0 * offsets["kernel"]
    biases = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0]], np.float32)
    for i, bias in enumerate(biases):
      predictors[str(i)]["cls_score"]["bias"] = jnp.asarray(bias)
      for part in ("cls_score", "bbox_pred"):
        kernel = predictors[str(i)][part]["kernel"]
        predictors[str(i)][part]["kernel"] = 0 * kernel
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 96, 128, 3), np.uint8)
    sizes = np.array([[96, 128], [96, 100]], np.int32)
    got = jax.jit(model.apply)(variables, images, sizes)
    self.assertEqual(got["masks"].shape, (2, 100, 28, 28))
    kept = np.asarray(got["valid"])
    self.assertTrue(kept.any())
    # mmdetection's: of the mean of the stages' logits, not of their chances.
    chances = np.exp(biases.mean(0)) / np.exp(biases.mean(0)).sum()
    want = chances[np.asarray(got["classes"])]
    np.testing.assert_allclose(
      np.asarray(got["scores"])[kept], want[kept], rtol=1e-5
    )
    self.assertLessEqual(float(got["boxes"][1, :, 2].max()), 100)
    self.assertTrue(np.isfinite(np.asarray(got["masks"])).all())
    self.assertEqual(int(got["classes"][0, 0]), 1)

"""Two-stage detectors: mmdetection's names, sizes, cascades."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import models
from robust_tfds.models.convert import match

# Ours -> mmdetection 2.x's, as its modules name their parameters.
_MMDET = (
  (r"^backbone\.body\.", "backbone."),
  (r"^backbone\.fpn\.inner_blocks\.(\d)\.0\.", r"neck.lateral_convs.\1.conv."),
  (r"^backbone\.fpn\.layer_blocks\.(\d)\.0\.", r"neck.fpn_convs.\1.conv."),
  (r"^rpn\.head\.conv\.0\.0\.", "rpn_head.rpn_conv."),
  (r"^rpn\.head\.cls_logits\.", "rpn_head.rpn_cls."),
  (r"^rpn\.head\.bbox_pred\.", "rpn_head.rpn_reg."),
  (
    r"^roi_heads\.box_head\.((?:\d\.)?)fc6\.",
    r"roi_head.bbox_head.\1shared_fcs.0.",
  ),
  (
    r"^roi_heads\.box_head\.((?:\d\.)?)fc7\.",
    r"roi_head.bbox_head.\1shared_fcs.1.",
  ),
  (
    r"^roi_heads\.box_predictor\.((?:\d\.)?)cls_score\.",
    r"roi_head.bbox_head.\1fc_cls.",
  ),
  (
    r"^roi_heads\.box_predictor\.((?:\d\.)?)bbox_pred\.",
    r"roi_head.bbox_head.\1fc_reg.",
  ),
  (
    r"^roi_heads\.mask_head\.((?:\d\.)?)(\d)\.0\.",
    r"roi_head.mask_head.\1convs.\2.conv.",
  ),
  (
    r"^roi_heads\.mask_predictor\.((?:\d\.)?)conv5_mask\.",
    r"roi_head.mask_head.\1upsample.",
  ),
  (
    r"^roi_heads\.mask_predictor\.((?:\d\.)?)mask_fcn_logits\.",
    r"roi_head.mask_head.\1conv_logits.",
  ),
)

# Of models/detection/README.md: counted here, mmdetection was never run.
_BODIES = ("resnet50", "resnet101", "resnext101_32x4d", "resnext101_64x4d")
_COUNTS = {
  "retinanet": (37_968_692, 56_960_820, 56_589_364, 95_866_932),
  "fasterrcnn": (41_753_056, 60_745_184, 60_373_728, 99_651_296),
  "maskrcnn": (44_396_336, 63_388_464, 63_017_008, 102_294_576),
  "cascadercnn": (69_394_766, 88_386_894, 88_015_438, 127_293_006),
  "cascademaskrcnn": (77_324_606, 96_316_734, 95_945_278, 135_222_846),
}


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    "fasterrcnn_resnet50_fpn_mmdet",
    "maskrcnn_resnext101_32x4d_fpn_mmdet",
    "cascademaskrcnn_resnet50_fpn_mmdet",
  )
  def test_mmdetection(self, name):
    given = {}
    for i, (path, shape) in enumerate(models.get(name).shapes().items()):
      key = match.torch_name(path)
      for ours, theirs in _MMDET:
        key = re.sub(ours, theirs, key)
      shape = match.file_shape(shape, path, False)
      # Views: a checkpoint of gigabytes that holds one number an array.
      given[key] = np.broadcast_to(np.float32(i), shape)
    loaded = match.match_arrays(models.get(name), given)
    self.assertEqual(loaded.style, "mmdetection")
    for i, leaf in enumerate(loaded.sources.values()):
      value = loaded.variables
      for part in leaf.split("/"):
        value = value[part]
      self.assertEqual(value.flat[0], i)


@pytest.mark.slow
class CountsTest(parameterized.TestCase):
  @parameterized.parameters(*_COUNTS)
  def test_counts(self, kind):
    for body, count in zip(_BODIES, _COUNTS[kind], strict=True):
      model = models.get(f"{kind}_{body}_fpn_mmdet")
      self.assertEqual(model.count_parameters(), count)


@pytest.mark.slow
class CascadeTest(absltest.TestCase):
  def test_runs_and_averages(self):
    import dataclasses

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
    stages = np.exp(biases) / np.exp(biases).sum(1, keepdims=True)
    want = stages.mean(0)[np.asarray(got["classes"])]
    np.testing.assert_allclose(
      np.asarray(got["scores"])[kept], want[kept], rtol=1e-5
    )
    self.assertLessEqual(float(got["boxes"][1, :, 2].max()), 100)
    self.assertTrue(np.isfinite(np.asarray(got["masks"])).all())
    self.assertEqual(int(got["classes"][0, 0]), 1)


if __name__ == "__main__":
  absltest.main()

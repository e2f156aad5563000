"""torchvision's and transformers' detectors, beside their own post-processing."""

import numpy as np
from absl.testing import parameterized

from models import adapters
from models.detection.detector import DetectorSpec
from robust_tfds import errors
from tests.models.convert import torchvision_cpu
from tests.models.detection import oracles

_SPEC = DetectorSpec(short_px=64, long_px=96)


def _picture(height=80, width=112):
  rng = np.random.default_rng(0)
  coarse = rng.integers(0, 256, (height // 16, width // 16, 3), np.uint8)
  return coarse.repeat(16, 0).repeat(16, 1)


def _on_host(net, spec, labels):
  return adapters.get("torch")(net, spec, name="mine", labels=labels)


def _transformers(name):
  """A small detector of `transformers` with random weights, and its package."""
  torch = oracles.import_torch()
  transformers = torchvision_cpu.package("transformers")
  body = transformers.ResNetConfig(
    embedding_size=8,
    hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1],
    layer_type="basic",
    out_features=["stage2", "stage3", "stage4"][-1 if name == "Detr" else 0 :],
  )
  config = getattr(transformers, f"{name}Config")(
    backbone_config=body,
    use_timm_backbone=False,
    use_pretrained_backbone=False,
    backbone=None,
    d_model=32,
    num_queries=7,
    num_labels=91,
    encoder_layers=1,
    decoder_layers=2,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
  )
  torch.manual_seed(0)
  net = getattr(transformers, f"{name}ForObjectDetection")(config).eval()
  with torch.no_grad():
    for value in net.parameters():
      value.add_(0.2 * torch.randn(value.shape))
  return torch, transformers, net


class TorchModuleTest(parameterized.TestCase):
  def test_torchvision(self):
    torch = oracles.import_torch()
    from torchvision.models import detection

    torch.manual_seed(0)
    net = detection.fasterrcnn_mobilenet_v3_large_320_fpn(
      weights=None, weights_backbone=None, min_size=64, max_size=96
    ).eval()
    with torch.no_grad():
      net.roi_heads.score_thresh = 0.0
      picture = torch.from_numpy(
        _picture().transpose(2, 0, 1) / np.float32(255)
      )
      (expected,) = net([picture])
    self.assertGreater(len(expected["scores"]), 5)
    identity = {i: i for i in range(91)}
    spec = DetectorSpec(num_classes=91)
    got = _on_host(net, spec, identity).apply(None, _picture()[None])
    count = len(expected["scores"])
    self.assertEqual(got["valid"].sum(), count)
    for key, theirs in (
      ("boxes", "boxes"),
      ("scores", "scores"),
      ("classes", "labels"),
    ):
      np.testing.assert_allclose(
        got[key][0, :count], expected[theirs].numpy(), rtol=1e-5, atol=1e-5
      )
    coco = _on_host(net, DetectorSpec(), "coco91").apply(None, _picture()[None])
    self.assertLess(coco["classes"].max(), 80)
    with self.assertRaisesRegex(errors.UserError, "mine gave the label ids"):
      _on_host(net, DetectorSpec(num_classes=1), "from_one").apply(
        None, _picture()[None]
      )

  @parameterized.parameters(
    # Pillow's and torch's bilinear pictures differ by a level here and there.
    ("Detr", (80, 112), 0.05),
    ("Detr", (64, 96), 1e-4),
    ("DeformableDetr", (64, 96), 1e-4),
  )
  def test_transformers(self, name, size, atol):
    torch, transformers, net = _transformers(name)
    processor = getattr(transformers, f"{name}ImageProcessor")(
      size={"shortest_edge": 64, "longest_edge": 96}
    )
    inputs = processor(_picture(*size), return_tensors="pt")
    with torch.no_grad():
      answer = net(**inputs)
    (expected,) = processor.post_process_object_detection(
      answer, threshold=0.0, target_sizes=[size]
    )
    order = expected["scores"].argsort(descending=True, stable=True)
    spec = DetectorSpec(num_classes=91, short_px=64, long_px=96)
    model = _on_host(net, spec, "from_zero")
    got = model.apply(None, _picture(*size)[None])
    self.assertEqual(got["valid"].sum(), len(order))
    for key, theirs, scale in (
      ("scores", "scores", 0.01),
      ("classes", "labels", 0.01),
      ("boxes", "boxes", 1),
    ):
      np.testing.assert_allclose(
        got[key][0, : len(order)],
        expected[theirs][order].numpy(),
        atol=atol * scale,
      )

  def test_refusals(self):
    torch, _, net = _transformers("Detr")
    with self.assertRaisesRegex(errors.UserError, "^mine got labels=None"):
      _on_host(net, _SPEC, None)
    with self.assertRaisesRegex(errors.UserError, "route='traced' out"):
      adapters.get("torch")(net, _SPEC, labels="coco91", route="traced")
    net.train()
    with self.assertRaisesRegex(errors.UserError, r"train mode.*net.eval\(\)"):
      _on_host(net, _SPEC, "coco91")
    plain = torch.nn.Identity().eval()
    with self.assertRaisesRegex(errors.UserError, "expected a list of one dic"):
      _on_host(plain, _SPEC, "coco91").apply(None, _picture()[None])

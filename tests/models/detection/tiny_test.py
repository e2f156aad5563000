"""Tiny detectors, and detectors of other frameworks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models import adapters
from models.detection.detector import DetectorSpec as detector_DetectorSpec
from models.detection.spec import DetectorSpec
from robust_tfds import errors, models
from tests.models import drawn
from tests.models.convert import torchvision_cpu
from tests.models.detection import oracles


class TinyTest(absltest.TestCase):
  """The small detector that trains."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_retinanet")
    cls.variables = drawn.variables(cls.model)
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (2, 128, 128, 3), np.uint8)
    cls.sizes = np.array([[128, 100], [96, 128]], np.int32)

  def test_detections(self):
    got = jax.jit(self.model.apply)(self.variables, self.images, self.sizes)
    self.assertEqual(got["boxes"].shape, (2, 20, 4))
    self.assertLessEqual(float(got["boxes"][0, :, 2].max()), 100)
    self.assertLessEqual(float(got["boxes"][1, :, 3].max()), 96)

  @pytest.mark.slow
  def test_loss_falls(self):
    batch = {
      "image": self.images,
      "size": self.sizes,
      "boxes": jnp.array([[[20.0, 20, 50, 60]], [[60.0, 30, 90, 70]]]),
      "labels": jnp.array([[3], [7]]),
    }

    def total(variables, batch):
      losses, _ = self.model.apply_train(variables, batch, jax.random.key(0))
      return sum(losses.values())

    step = jax.jit(jax.value_and_grad(total))
    variables, first = self.variables, None
    for _ in range(8):
      loss, gradient = step(variables, batch)
      first = loss if first is None else first
      norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
      variables = jax.tree.map(
        lambda v, g: v - 0.05 * g / (1 + norm), variables, gradient
      )
    self.assertLess(float(loss), float(first))


class TinyFasterTest(absltest.TestCase):
  """The small detector of two stages."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_fasterrcnn")
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (2, 96, 96, 3), np.uint8)
    cls.sizes = np.array([[96, 70], [80, 96]], np.int32)

  @pytest.mark.slow
  def test_detections(self):
    variables = drawn.variables(self.model)
    got = jax.jit(self.model.apply)(variables, self.images, self.sizes)
    self.assertEqual(got["boxes"].shape, (2, 20, 4))
    self.assertLessEqual(float(got["boxes"][0, :, 2].max()), 70)
    self.assertLessEqual(float(got["boxes"][1, :, 3].max()), 80)

  @pytest.mark.slow
  def test_losses_fall(self):
    batch = {
      "image": self.images,
      "size": self.sizes,
      "boxes": jnp.array([[[20.0, 20, 50, 60]], [[40.0, 30, 70, 70]]]),
      "labels": jnp.array([[3], [7]]),
    }

    @jax.jit
    def step(variables, key):
      def total(variables):
        losses, _ = self.model.apply_train(variables, batch, key)
        return sum(losses.values())

      loss, gradient = jax.value_and_grad(total)(variables)
      norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
      return loss, jax.tree.map(
        lambda v, g: v - 0.05 * g / (1 + norm), variables, gradient
      )

    variables = jax.jit(self.model.init)(jax.random.key(0))
    found = []
    for i in range(12):
      loss, variables = step(variables, jax.random.key(i))
      found.append(float(loss))
    self.assertLess(np.mean(found[-3:]), 0.9 * np.mean(found[:3]))


_SPEC = DetectorSpec(
  num_classes=2, short_px=64, long_px=64, mean=(0.5,) * 3, std=(0.5,) * 3
)


class TensorflowModuleTest(absltest.TestCase):
  """Detectors of TensorFlow: what they are shown, and their boxes' way back."""

  def _model(self, answer, labels="from_one", **options):
    self.shown = []

    def net(images, image_shape, **others):
      self.shown.append((np.asarray(images), np.asarray(image_shape), others))
      return answer

    return adapters.get("tfm")(
      net, _SPEC, name="mine", labels=labels, **options
    )

  def test_canvas_and_boxes(self):
    boxes = np.float32([[[0, 16, 32, 64], [0, 0, 8, 8], [9, 9, 9, 9]]])
    model = self._model(
      {
        "detection_boxes": boxes,
        "detection_scores": np.float32([[0.9, 0.5, 0]]),
        "detection_classes": np.int32([[2, 1, 0]]),
        "num_detections": np.int32([2]),
      },
      training=False,
    )
    picture = np.full((1, 100, 200, 3), 255, np.uint8)
    got = model.apply(None, picture, np.int32([[100, 200]]))
    images, size, options = self.shown[0]
    self.assertEqual(options, {"training": False})
    np.testing.assert_array_equal(size, [[64, 64]])
    np.testing.assert_allclose(images[0, :32], 1)
    np.testing.assert_array_equal(images[0, 32:], 0)
    # 64 / 200: a px of the canvas is 3.125 px of the picture.
    np.testing.assert_allclose(got["boxes"][0, 0], [50, 0, 200, 100])
    np.testing.assert_allclose(got["boxes"][0, 1], [0, 0, 25, 25])
    np.testing.assert_array_equal(got["classes"][0, :2], [1, 0])
    self.assertEqual(got["valid"].sum(), 2)

  def test_refused(self):
    picture = np.zeros((1, 8, 8, 3), np.uint8)
    for answer in ({"cls_outputs": 1}, np.zeros(3)):
      with self.assertRaisesRegex(errors.UserError, "^mine.*training=False"):
        self._model(answer).apply(None, picture)
    with self.assertRaisesRegex(errors.UserError, "^mine.*label ids"):
      self._model({}, labels=None)
    with self.assertRaisesRegex(errors.UserError, "on the host: leave route"):
      self._model({}, route="traced")


_TORCH_MODULE_SPEC = detector_DetectorSpec(short_px=64, long_px=96)


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
  @pytest.mark.slow
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
    spec = detector_DetectorSpec(num_classes=91)
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
    coco = _on_host(net, detector_DetectorSpec(), "coco91").apply(
      None, _picture()[None]
    )
    self.assertLess(coco["classes"].max(), 80)
    with self.assertRaisesRegex(errors.UserError, "mine gave the label ids"):
      _on_host(net, detector_DetectorSpec(num_classes=1), "from_one").apply(
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
    spec = detector_DetectorSpec(num_classes=91, short_px=64, long_px=96)
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
      _on_host(net, _TORCH_MODULE_SPEC, None)
    with self.assertRaisesRegex(errors.UserError, "leave out route='traced'"):
      adapters.get("torch")(
        net, _TORCH_MODULE_SPEC, labels="coco91", route="traced"
      )
    net.train()
    with self.assertRaisesRegex(errors.UserError, r"train mode.*net.eval\(\)"):
      _on_host(net, _TORCH_MODULE_SPEC, "coco91")
    plain = torch.nn.Identity().eval()
    with self.assertRaisesRegex(errors.UserError, "expected a list of one dic"):
      _on_host(plain, _TORCH_MODULE_SPEC, "coco91").apply(
        None, _picture()[None]
      )

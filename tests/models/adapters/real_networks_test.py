"""Real networks of other frameworks: what their own package gives, to 1e-5.

All weights are random and running statistics are those of the batch: with zero
heads or unit statistics every picture would get the same logits. Minutes each.
"""

import os
import pathlib
import zlib

# Keras reads it once, when it is first imported.
os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from models import adapters
from models.adapters import routes
from tests.models.adapters import small

_TOLERANCE = 1e-5  # of the logits' scale
_ONNX = (
  *("convnext_tiny", "efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large"),
  *("resnet18", "shufflenet_v2_x1_0", "swin_t", "vit_b_16", "transformers"),
)
_KERAS = (
  *("ConvNeXtTiny", "DenseNet121", "EfficientNetB0", "MobileNetV2"),
  "ResNet50",
)


def _images(side: int) -> np.ndarray:
  """Smooth, as the adapter's probe is.

  Under statistics of noise a smooth picture is far out: there ONNX Runtime is
  3e-5 of the scale away from the same network in float64.
  """
  return routes.pictures(small.spec(side, 1000), 3)


class RealNetworksTest(parameterized.TestCase):
  def _check(self, model, images, want, compile_it=jax.jit):
    self.assertGreater(np.ptp(want, axis=0).max(), 1e-3 * np.abs(want).max())
    got = np.asarray(compile_it(model.apply)(model.init(0), images))
    distance = np.abs(got - want).max() / np.abs(want).max()
    self.assertLessEqual(distance, _TOLERANCE)

  @parameterized.product(name=_ONNX, dynamo=(True, False))
  @pytest.mark.slow
  def test_onnx_of_torch(self, name, dynamo):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    pytest.importorskip("onnxscript", reason="torch's exporter")
    from tests.models.convert import torchvision_cpu

    torchvision_cpu.define()
    torch.manual_seed(zlib.crc32(name.encode()))
    net = _torch_network(name)
    images, spec = _images(224), small.spec(224, 1000)
    pixels = torch.from_numpy(
      spec.normalize_on_host(images).transpose(0, 3, 1, 2).copy()
    )
    _randomise_torch(torch, net, pixels)
    path = pathlib.Path(self.create_tempdir().full_path, "net.onnx")
    rows = {0: torch.export.Dim("rows")} if dynamo else {0: "rows"}
    shapes = {"dynamic_shapes": (rows,)}
    if not dynamo:
      shapes = {"dynamic_axes": {"x": rows}, "input_names": ["x"]}
    torch.onnx.export(net, (pixels[:2],), path, dynamo=dynamo, **shapes)
    with torch.no_grad():
      want = net(pixels).numpy()
    model = adapters.get("onnx")(path, spec)
    self.assertStartsWith(model.route, "traced")
    self._check(model, images, want)

  @parameterized.parameters(*_KERAS)
  @pytest.mark.slow
  def test_keras(self, name):
    keras = pytest.importorskip("keras", reason="the extra `keras`")
    if keras.backend.backend() != "jax":
      self.skipTest("Keras was imported with another backend before.")
    keras.utils.set_random_seed(0)
    net = vars(keras.applications)[name](
      weights=None,
      input_shape=(64, 64, 3),
      classes=10,
      classifier_activation=None,
    )
    images, spec = _images(64), small.spec(64, 10)
    pixels = spec.normalize_on_host(images)
    _randomise_keras(keras, net, pixels)
    path = pathlib.Path(self.create_tempdir().full_path, "net.keras")
    net.save(path)
    want = np.asarray(net(pixels, training=False))
    model = adapters.get("keras")(path, spec)
    # One compilation rounds unlike none: Keras's own `predict` is 7e-5 off.
    self._check(model, images, want, compile_it=lambda apply: apply)


def _torch_network(name):
  if name == "transformers":
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(num_labels=1000, num_hidden_layers=4)
    import torch

    class Logits(torch.nn.Module):
      def __init__(self):
        super().__init__()
        self.net = transformers.ViTForImageClassification(config)

      def forward(self, x):
        return self.net(x).logits

    return Logits()
  import torchvision

  return torchvision.models.get_model(name, weights=None)


def _randomise_torch(torch, net, pixels):
  norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
  with torch.no_grad():
    for name, value in net.state_dict().items():
      if value.ndim <= 1 and value.is_floating_point():
        gain = 0.8 if name.endswith("weight") else 0.0
        value.copy_(gain + 0.1 * torch.randn(value.shape))
      elif value.is_floating_point():
        fan = max(value[0].numel(), 1)
        value.copy_(torch.randn(value.shape) * (2 / fan) ** 0.5)
    for norm in norms:
      norm.momentum = 1.0
    net.train()(pixels)
    for norm in norms:
      norm.running_var.add_(0.1 * norm.running_var.mean())
  net.eval()


def _randomise_keras(keras, net, pixels):
  rng = np.random.default_rng(0)
  for variable in net.variables:
    shape = tuple(variable.shape)
    name = variable.path.rpartition("/")[2]
    if not variable.dtype.startswith("float"):
      continue  # the states of seeds
    if name in ("kernel", "depthwise_kernel"):
      scale = (2 / max(np.prod(shape[:-1]), 1)) ** 0.5
      variable.assign(scale * rng.standard_normal(shape))
    elif "mean" not in name and "var" not in name:
      gain = 0.8 if name == "gamma" else 0.0
      variable.assign(gain + 0.1 * rng.standard_normal(shape))
  norms = [
    layer
    for layer in net.layers
    if isinstance(layer, keras.layers.BatchNormalization)
  ]
  for norm in norms:
    norm.momentum = 0.0
  net(pixels, training=True)

"""Segmenters from elsewhere: what they may answer, through each adapter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from models.segmentation import inference
from models.segmentation.spec import SegmenterSpec
from robust_tfds import errors, models
from tests import in_folder
from tests.models.convert import torchvision_cpu

_SIZES = np.array([[24, 32], [20, 26]], np.int32)
_CLASSES = 5
_SPEC = SegmenterSpec(num_classes=_CLASSES)


def _canvases():
  return np.random.default_rng(0).integers(0, 256, (2, 24, 32, 3), np.uint8)


def _kernel():
  rng = np.random.default_rng(1)
  return rng.standard_normal((_CLASSES, 3, 3, 3), np.float32)


def _convolved(pixels):
  """Logits `[B, h, w, classes]` of half the sides, in JAX."""
  return jax.lax.conv_general_dilated(
    pixels,
    jnp.asarray(_kernel().transpose(2, 3, 1, 0)),
    (2, 2),
    ((1, 1), (1, 1)),
    dimension_numbers=("NHWC", "HWIO", "NHWC"),
    precision="highest",
  )


def _expected(spec=_SPEC):
  """Classes of each picture by itself."""
  for canvas, (high, wide) in zip(_canvases(), _SIZES):
    logits = _convolved(spec.normalize(canvas[None, :high, :wide]))
    yield inference.class_ids(logits, (int(high), int(wide)))[0]


def _module(answer):
  torch = torchvision_cpu.package()

  class Net(torch.nn.Module):
    def __init__(self):
      super().__init__()
      self.conv = torch.nn.Conv2d(3, _CLASSES, 3, 2, 1, bias=False)
      with torch.no_grad():
        self.conv.weight.copy_(torch.from_numpy(_kernel()))

    def forward(self, x):
      return answer(self.conv(x))

  return Net().eval()


class AnswersTest(in_folder.TestCase, parameterized.TestCase):
  def _check(self, model, share=1e-2):
    variables = getattr(model, "variables", None)
    got = model.apply(variables, _canvases(), _SIZES)
    got = got["classes"] if isinstance(got, dict) else got
    for ids, want in zip(got, _expected()):
      high, wide = want.shape
      self.assertLess((ids[:high, :wide] != want).mean(), share)

  @parameterized.named_parameters(
    ("a dict", lambda x: {"out": x, "aux": 2 * x}),
    ("logits", lambda x: x),
  )
  def test_torch(self, answer):
    self._check(models.adapters.get("torch")(_module(answer), _SPEC))

  def test_transformers(self):
    transformers = torchvision_cpu.package("transformers")
    output = transformers.modeling_outputs.SemanticSegmenterOutput
    net = _module(lambda x: output(logits=x))
    self._check(models.adapters.get("torch")(net, _SPEC))

  def test_torch_is_not_traced(self):
    with self.assertRaisesRegex(errors.UserError, "leave out route"):
      models.adapters.get("torch")(_module(lambda x: x), _SPEC, route="traced")

  @parameterized.parameters("host", "traced")
  def test_onnx(self, route):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    node = helper.make_node(
      "Conv", ["x", "w"], ["logits"], strides=[2, 2], pads=[1, 1, 1, 1]
    )
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
      [node],
      "net",
      [helper.make_tensor_value_info("x", kind, ["b", 3, "h", "w"])],
      [
        helper.make_tensor_value_info("logits", kind, ["b", _CLASSES, "i", "j"])
      ],
      [onnx.numpy_helper.from_array(_kernel(), "w")],
    )
    opset = helper.make_opsetid("", 17)
    file = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    path = self.root / "net.onnx"
    path.write_bytes(file.SerializeToString())
    # Traced, it sees the canvas: a border of the smaller picture may differ.
    self._check(
      models.adapters.get("onnx")(path, _SPEC, route=route),
      0.05 if route == "traced" else 1e-2,
    )

  def test_a_function_of_jax(self):
    self._check(models.adapters.get("callable")(_convolved, _SPEC), 0.05)

  def test_class_ids_are_taken_as_they_are(self):
    ids = lambda images: np.asarray(images[..., 0]).astype(int) % _CLASSES
    model = models.adapters.get("on_host")(ids, _SPEC)
    got = model.apply(None, _canvases(), _SIZES)["classes"]
    np.testing.assert_array_equal(got[0], _canvases()[0, ..., 0] % _CLASSES)

  def test_resizes_what_is_prepared_by_the_spec(self):
    sides = []
    spec = SegmenterSpec(num_classes=_CLASSES, height_px=16, width_px=20)

    def net(pixels):
      sides.append(pixels.shape[1:3])
      return np.asarray(_convolved(jnp.asarray(pixels)))

    on_host = models.adapters.get("on_host")(net, spec, preprocessed=True)
    on_host.apply(None, _canvases(), _SIZES)
    self.assertEqual(set(sides), {(16, 20)})

  @parameterized.parameters(
    (
      lambda images: np.zeros((len(images), _CLASSES)),
      r"expected float logits",
    ),
    (lambda images: images[..., 0].astype(int) + 9, "gave the class id"),
  )
  def test_refusals(self, function, words):
    model = models.adapters.get("on_host")(function, _SPEC)
    with self.assertRaisesRegex(errors.UserError, words):
      model.apply(None, _canvases(), _SIZES)

  def test_windows_are_for_networks_of_the_catalogue(self):
    spec = SegmenterSpec(num_classes=_CLASSES, window_px=8, stride_px=4)
    model = models.adapters.get("callable")(_convolved, spec)
    with self.assertRaisesRegex(errors.UserError, "leave window_px out"):
      model.apply(None, _canvases(), _SIZES)

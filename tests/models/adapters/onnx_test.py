"""ONNX files by both routes: they agree, and what does not fit is refused."""

import pathlib
from unittest import mock

import jax
import numpy as np
import onnx
import onnxruntime
from absl.testing import parameterized
from onnx import helper, numpy_helper

from models import adapters
from models.adapters.onnx_graph.operators import TABLE
from models.adapters.onnx_graph.operators.node import Operator
from models.video.spec import VideoSpec
from robust_tfds import errors
from tests.models.adapters import small

_SPEC = small.spec(16)
_RNG = np.random.default_rng(0)
_KERNEL = _RNG.standard_normal((4, 3, 3, 3), np.float32)
_FIRST = ("n", 3, 16, 16)
_LAST = ("n", 16, 16, 3)
_NODES = (
  ("Conv", ["x", "kernel"], ["y"], {}),
  ("Relu", ["y"], ["z"], {}),
  ("GlobalAveragePool", ["z"], ["pooled"], {}),
  ("Flatten", ["pooled"], ["logits"], {}),
)


def _images(*shape):
  return _RNG.integers(0, 256, shape, np.uint8)


def _model(shape=_FIRST, nodes=_NODES, outputs=("logits",), dtype=np.float32):
  return helper.make_model(
    helper.make_graph(
      [helper.make_node(n, i, o, **a) for n, i, o, a in nodes],
      "net",
      [
        helper.make_tensor_value_info(
          "x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
        )
      ],
      [onnx.ValueInfoProto(name=name) for name in outputs],
      [numpy_helper.from_array(_KERNEL, "kernel")],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
  )


class OnnxTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = self.folder / "net.onnx"

  def _adapt(self, model=None, spec=_SPEC, **options):
    if model is not None:
      self.path.write_bytes(model.SerializeToString())
    return adapters.get("onnx")(self.path, spec, **options)

  def _by_hand(self, images):
    session = onnxruntime.InferenceSession(self.path)
    pixels = (images / np.float32(255) - 0.5) / 0.25
    pixels = np.float32(pixels).transpose(0, 3, 1, 2)
    source = session.get_inputs()[0]
    rows = [
      session.run(["logits"], {source.name: pixels[i : i + 1]})[0]
      for i in range(len(pixels))
    ]
    return np.concatenate(rows)

  def _answer(self, model, images):
    if model.on_host:
      return model.apply(None, images)
    return np.asarray(jax.jit(model.apply)(model.init(0), images))

  @parameterized.parameters("auto", "traced", "host")
  def test_routes_agree(self, route):
    model = self._adapt(_model(), route=route)
    images = _images(3, 16, 16, 3)
    want = self._by_hand(images)
    self.assertGreater(np.ptp(want), 0.1)
    np.testing.assert_allclose(self._answer(model, images), want, atol=1e-6)
    self.assertEqual(model.on_host, route == "host")
    self.assertStartsWith(model.route, "host" if route == "host" else "traced")
    if route != "host":
      self.assertEqual(set(model.variables), {"kernel"})

  @parameterized.parameters("traced", "host")
  def test_fixed_batch(self, route):
    model = self._adapt(_model(_FIRST), route=route)
    fixed = self._adapt(_model((2, *_FIRST[1:])), route=route)
    self.assertEqual((model.rows, fixed.rows), (None, 2))
    for count in (1, 2, 5):
      images = _images(count, 16, 16, 3)
      np.testing.assert_allclose(
        self._answer(fixed, images), self._answer(model, images), atol=1e-6
      )

  def test_channels_last(self):
    first = self._adapt(_model())
    turn = ("Transpose", ["x"], ["turned"], {"perm": [0, 3, 1, 2]})
    nodes = (turn, ("Conv", ["turned", "kernel"], ["y"], {}), *_NODES[1:])
    last = self._adapt(_model(_LAST, nodes), channels_first=False)
    images = _images(2, 16, 16, 3)
    np.testing.assert_allclose(
      self._answer(last, images), self._answer(first, images), atol=1e-6
    )
    with self.assertRaisesRegex(
      errors.UserError, rf"^{self.path}: takes .*channels_first=False"
    ):
      self._adapt()

  def test_clips(self):
    mean = ("ReduceMean", ["x"], ["pooled"], {"axes": [2, 3, 4], "keepdims": 0})
    weights = ("ReduceMean", ["kernel"], ["w"], {"axes": [2, 3], "keepdims": 0})
    product = ("Gemm", ["pooled", "w"], ["logits"], {"transB": 1})
    spec = VideoSpec(frames=2, input_px=16, num_classes=4)
    model = self._adapt(
      _model(("n", 3, 2, 16, 16), (mean, weights, product)), spec
    )
    self.assertStartsWith(model.route, "traced")
    clips = _images(2, 2, 16, 16, 3)
    want = (
      spec.normalize_on_host(clips).mean((1, 2, 3)) @ _KERNEL.mean((2, 3)).T
    )
    np.testing.assert_allclose(self._answer(model, clips), want, atol=1e-5)

  def test_half_precision_and_whole_pixels(self):
    nodes = (
      ("Cast", ["x"], ["f"], {"to": 1}),
      ("Conv", ["f", "kernel"], ["y"], {}),
    )
    model = _model(_FIRST, (*nodes, *_NODES[1:]), dtype=np.float16)
    self.assertStartsWith(self._adapt(model).route, "traced")
    model = _model(_FIRST, (*nodes, *_NODES[1:]), dtype=np.uint8)
    with self.assertRaisesRegex(errors.UserError, "scales them itself"):
      self._adapt(model)

  def test_operators_that_are_not_known(self):
    nodes = (*_NODES[:3], ("Flatten", ["pooled"], ["flat"], {}))
    unique = ("Det", ["kernel3"], ["each"], {})
    total = ("ReduceSum", ["each"], ["d"], {"keepdims": 0})
    mix = ("Add", ["flat", "d"], ["logits"], {})
    cut = ("ReduceMean", ["kernel"], ["kernel3"], {"axes": [0], "keepdims": 0})
    model = self._adapt(_model(nodes=(*nodes, cut, unique, total, mix)))
    self.assertEqual(
      model.route, "host: JAX does not know the operators Det here"
    )
    with self.assertRaisesRegex(
      errors.UserError, f"^{self.path}: .*operators Det"
    ):
      self._adapt(route="traced")
    with mock.patch.dict("sys.modules", {"onnxruntime": None}):
      with self.assertRaisesRegex(errors.UserError, "Det.*pip install"):
        self._adapt()
      with self.assertRaisesRegex(ImportError, r"robust_tfds\[onnxruntime\]"):
        self._adapt(route="host")

  def test_shapes_of_pixels_go_to_the_host(self):
    cut = ("Cast", ["sum"], ["n"], {"to": 7})
    whole = ("ReduceSum", ["logits0"], ["sum"], {"keepdims": 0})
    places = ("NonZero", ["n"], ["at"], {})
    size = ("Size", ["at"], ["count"], {})
    cast = ("Cast", ["count"], ["c"], {"to": 1})
    nodes = (*_NODES[:3], ("Flatten", ["pooled"], ["logits0"], {}))
    mix = ("Add", ["logits0", "c"], ["logits"], {})
    model = self._adapt(
      _model(nodes=(*nodes, whole, cut, places, size, cast, mix))
    )
    self.assertRegex(model.route, "^host: .*NonZero.*depends on the pixels")

  def test_without_onnxruntime(self):
    with mock.patch.dict("sys.modules", {"onnxruntime": None}):
      model = self._adapt(_model())
    self.assertRegex(model.route, "^traced: .*nothing was compared")

  def test_routes_that_disagree(self):
    wrong = Operator(lambda node, x: abs(x))
    with mock.patch.dict(TABLE, {"Relu": wrong}):
      model = self._adapt(_model())
    self.assertRegex(model.route, "^host: in JAX .* of the logits' scale")
    with self.assertRaisesRegex(errors.UserError, "Unknown route 'jit'"):
      self._adapt(route="jit")

  def test_outputs(self):
    self._adapt(_model(outputs=("pooled", "logits")))
    with self.assertRaisesRegex(errors.UserError, "no output 'none'"):
      self._adapt(output="none")
    images = _images(2, 16, 16, 3)
    by_name, by_place = (self._adapt(output=o) for o in ("logits", 1))
    np.testing.assert_array_equal(
      self._answer(by_name, images), self._answer(by_place, images)
    )

  def test_inputs(self):
    model = _model()
    model.graph.input.append(
      helper.make_tensor_value_info("size", onnx.TensorProto.INT64, [2])
    )
    with self.assertRaisesRegex(
      errors.UserError, rf"^{self.path}: has 2 inputs \['x', 'size'\]"
    ):
      self._adapt(model)
    with self.assertRaisesRegex(errors.UserError, "takes .*32.*expected .*16"):
      self._adapt(_model(("n", 3, 32, 32)))

  def _stored_beside(self, location="weights.bin"):
    model = _model()
    tensor = model.graph.initializer[0]
    raw = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "8")):
      entry = tensor.external_data.add()
      entry.key, entry.value = key, value
    return model, b"x" * 8 + raw

  def test_weights_in_another_file(self):
    images = _images(2, 16, 16, 3)
    want = self._answer(self._adapt(_model()), images)
    model, data = self._stored_beside()
    with self.assertRaisesRegex(errors.UserError, "does not exist. Copy"):
      self._adapt(model)
    (self.folder / "weights.bin").write_bytes(data)
    for route in ("traced", "host"):
      beside = self._adapt(route=route)
      np.testing.assert_allclose(self._answer(beside, images), want, atol=1e-6)
    (self.folder / "weights.bin").write_bytes(data[:-1])
    with self.assertRaisesRegex(
      errors.UserError, f"^{self.path}: .*kernel has"
    ):
      self._adapt(route="traced")

  @parameterized.parameters("../out.bin", "/etc/passwd", "link.bin", "", ".")
  def test_weights_outside_of_the_folder(self, location):
    self.folder = self.folder / "model"
    self.folder.mkdir()
    self.path = self.folder / "net.onnx"
    model, data = self._stored_beside(location)
    (self.folder.parent / "out.bin").write_bytes(data)
    (self.folder / "link.bin").symlink_to(self.folder.parent / "out.bin")
    for route in ("traced", "host"):
      with self.assertRaisesRegex(
        errors.UserError, f"^{self.path}: .*outside the model's folder"
      ):
        self._adapt(model, route=route)

  def test_damaged_files(self):
    data = _model().SerializeToString()
    for place in (10, len(data) // 2, len(data) - 1):
      self.path.write_bytes(data[:place])
      with self.assertRaisesRegex(errors.UserError, f"^{self.path}: "):
        self._adapt(route="traced")
    self.path.write_bytes(data + b"\x0a\x7f")  # a field of 127 bytes: none
    with self.assertRaisesRegex(errors.UserError, f"^{self.path}: .*cut off"):
      self._adapt(route="traced")
    model = _model(nodes=_NODES[1:])
    with self.assertRaisesRegex(errors.UserError, "computes the value 'y'"):
      self._adapt(model, route="traced").apply({}, _images(1, 16, 16, 3))
    model = _model()
    model.opset_import[0].version = 6
    with self.assertRaisesRegex(errors.UserError, "opset 6, expected 7"):
      self._adapt(model)

"""Every operator of the table equals onnxruntime, each in a graph of its own."""

import dataclasses
import functools
import pathlib
from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime
from absl.testing import absltest, parameterized
from onnx import helper, numpy_helper

from robust_tfds.models.adapters.onnx_graph import file
from robust_tfds.models.adapters.onnx_graph import graph as graph_lib
from robust_tfds.models.adapters.onnx_graph.operators import TABLE
from robust_tfds.models.adapters.onnx_graph.operators.node import (
  Node,
  UntraceableError,
)
from tests.models.adapters.onnx_graph.operators import torch_cases

_RNG = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True)
class _Case:
  """A node; its first input is the graph's, the others are its weights."""

  inputs: tuple[Any, ...]
  attributes: dict[str, Any]
  opset: int = 18
  outputs: int = 1
  operator: str = ""


def _x(*shape: int) -> np.ndarray:
  return _RNG.standard_normal(shape, np.float32)


def _i(*values: int) -> np.ndarray:
  return np.asarray(values, np.int64)


def _f(*values: float) -> np.ndarray:
  return np.asarray(values, np.float32)


def _c(*inputs, opset=18, outputs=1, **attributes):
  return _Case(inputs, attributes, opset, outputs)


_SIGNED = (_x(2, 3, 4), _x(3, 4))
_POSITIVE = np.abs(_x(2, 5)) + 0.1
_WHOLE = np.array([[7, -7, 5, 0]], np.int64)
_BOOLS = np.array([[True, False, True]])
_PICTURE = _x(2, 4, 7, 8)
_UNARY = (
  *("Abs", "Atan", "Asinh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor"),
  *(
    "HardSwish",
    "Identity",
    "IsNaN",
    "Mish",
    "Neg",
    "Round",
    "Sigmoid",
    "Sign",
  ),
  *("Sin", "Sinh", "Softplus", "Softsign", "Tan", "Tanh", "Relu"),
)
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean")
_COMPARED = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_REDUCED = tuple(name for name in TABLE if name.startswith("Reduce"))

_CASES: dict[str, _Case] = {
  **{name: _c(_x(2, 5)) for name in _UNARY},
  **{name: _c(*_SIGNED) for name in _BINARY},
  **{name: _c(_f(1, 2, 3), _f(3, 2, 1)) for name in _COMPARED},
  **{name: _c(_POSITIVE) for name in ("Log", "Sqrt", "Reciprocal")},
  **{name: _c(_POSITIVE / 9) for name in ("Acos", "Asin", "Atanh")},
  **{name: _c(abs(_x(2, 3, 4)) + 0.1, _i(1, -1)) for name in _REDUCED},
  **{
    f"{name} 11": _c(abs(_x(2, 3, 4)), opset=11, axes=[1], keepdims=0)
    for name in _REDUCED
  },
  **{f"{name} all": _c(abs(_x(2, 3)) + 0.1) for name in _REDUCED},
  "ReduceSum none": _c(_x(2, 3), noop_with_empty_axes=1),
  # elementwise
  "Acosh": _c(_POSITIVE + 1),
  "And": _c(_BOOLS, ~_BOOLS),
  "Or": _c(_BOOLS, ~_BOOLS),
  "Xor": _c(_BOOLS, ~_BOOLS),
  "Not": _c(_BOOLS),
  "BitShift": _c(np.uint8([1, 4, 8]), np.uint8([1, 2, 3]), direction="LEFT"),
  "BitwiseAnd": _c(np.int32([12, 10]), np.int32([10, 3])),
  "BitwiseOr": _c(np.int32([12, 10]), np.int32([10, 3])),
  "BitwiseXor": _c(np.int32([12, 10]), np.int32([10, 3])),
  "BitwiseNot": _c(np.int32([12, 10])),
  "Cast": _c(_x(2, 5) * 9, to=onnx.TensorProto.INT32),
  "Cast bool": _c(_BOOLS, to=onnx.TensorProto.FLOAT),
  "CastLike": _c(_x(2, 5), np.float16([1])),
  "Clip": _c(_x(2, 5), _f(-0.5).reshape(()), _f(0.3).reshape(())),
  "Clip high": _c(_x(2, 5), None, _f(0.3).reshape(())),
  "Clip 6": _c(_x(2, 5), opset=7, min=-0.5, max=0.3),
  "Div whole": _c(_WHOLE, _i(2, 2, -2, 3)),
  "Dropout": _c(_x(2, 5), _f(0.5).reshape(()), opset=13),
  "Dropout 10": _c(_x(2, 5), opset=10, ratio=0.5),
  "IsInf": _c(_f(np.inf, -np.inf, 1), detect_negative=0),
  "Mod": _c(_WHOLE, _i(2, 2, -2, 3)),
  "Mod C": _c(_f(7, -7, 5), _f(2, 2, 3), fmod=1),
  "Pow": _c(_POSITIVE, _f(0.5).reshape(())),
  "Pow 2": _c(_x(2, 5), _f(2).reshape(())),
  "Where": _c(_BOOLS, _f(1, 2, 3), _f(4, 5, 6)),
  # activations
  "Celu": _c(_x(2, 5), alpha=0.7),
  "Elu": _c(_x(2, 5), alpha=0.7),
  "Gelu": _c(_x(2, 5), opset=20),
  "Gelu tanh": _c(_x(2, 5), opset=20, approximate="tanh"),
  "HardSigmoid": _c(_x(2, 5) * 3, alpha=0.3),
  "Hardmax": _c(_x(2, 3, 4), axis=1),
  "LeakyRelu": _c(_x(2, 5), alpha=0.2),
  "LogSoftmax": _c(_x(2, 3, 4), axis=1),
  "PRelu": _c(_x(2, 3, 4), _x(3, 1)),
  "Selu": _c(_x(2, 5)),
  "Shrink": _c(_x(2, 5), bias=0.1, lambd=0.4),
  "Softmax": _c(_x(2, 3, 4), axis=1),
  "Softmax 11": _c(_x(2, 3, 4), opset=11),
  "Swish": _c(_x(2, 5), opset=24, alpha=1.3),
  "ThresholdedRelu": _c(_x(2, 5), alpha=0.2),
  # convolution, pooling, windows
  "Conv": _c(_PICTURE, _x(6, 4, 3, 2), _x(6), pads=[1, 0, 2, 1]),
  "Conv groups": _c(
    _PICTURE, _x(8, 1, 3, 3), group=4, strides=[2, 1], dilations=[1, 2]
  ),
  "Conv upper": _c(
    _PICTURE, _x(6, 4, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2]
  ),
  "Conv lower": _c(
    _PICTURE, _x(6, 4, 2, 4), auto_pad="SAME_LOWER", strides=[2, 1]
  ),
  "Conv valid": _c(_PICTURE, _x(6, 4, 3, 3), auto_pad="VALID"),
  "Conv 1d": _c(_x(2, 4, 9), _x(6, 4, 3), strides=[2]),
  "Conv 3d": _c(_x(1, 2, 4, 5, 6), _x(3, 2, 2, 3, 3), pads=[1] * 6),
  "ConvTranspose": _c(
    _PICTURE,
    _x(4, 3, 3, 2),
    _x(3),
    strides=[2, 3],
    pads=[1, 0, 0, 1],
    output_padding=[1, 0],
  ),
  "ConvTranspose groups": _c(
    _PICTURE, _x(4, 3, 3, 3), group=2, dilations=[2, 1]
  ),
  "ConvTranspose shape": _c(
    _PICTURE, _x(4, 3, 3, 3), strides=[2, 2], output_shape=[14, 16]
  ),
  "ConvTranspose upper": _c(
    _PICTURE, _x(4, 3, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"
  ),
  "AveragePool": _c(_PICTURE, kernel_shape=[3, 2], pads=[1, 0, 1, 1]),
  "AveragePool padded": _c(
    _PICTURE,
    kernel_shape=[3, 3],
    pads=[1] * 4,
    strides=[2, 2],
    count_include_pad=1,
  ),
  "AveragePool ceil": _c(
    _PICTURE, opset=19, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
  ),
  "GlobalAveragePool": _c(_PICTURE),
  "GlobalLpPool": _c(_PICTURE, p=3),
  "GlobalMaxPool": _c(_PICTURE),
  "LpPool": _c(_PICTURE, kernel_shape=[2, 3], strides=[2, 2]),
  "MaxPool": _c(_PICTURE, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2]),
  "MaxPool ceil": _c(
    _PICTURE, kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1
  ),
  "MaxPool wide": _c(_PICTURE, kernel_shape=[2, 2], dilations=[3, 2]),
  "MaxPool upper": _c(
    _PICTURE, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"
  ),
  # normalisation
  "BatchNormalization": _c(
    _PICTURE, _x(4), _x(4), _x(4), abs(_x(4)), epsilon=1e-3
  ),
  "GroupNormalization": _c(
    _PICTURE, _x(4), _x(4), opset=21, num_groups=2, epsilon=1e-3
  ),
  "GroupNormalization 18": _c(_PICTURE, _x(2), _x(2), num_groups=2),
  "InstanceNormalization": _c(_PICTURE, _x(4), _x(4)),
  "LRN": _c(_PICTURE, size=3, alpha=0.1, beta=0.6, bias=1.5),
  "LayerNormalization": _c(_x(2, 3, 4), _x(4), _x(4)),
  "LayerNormalization axis": _c(_x(2, 3, 4), _x(3, 4), axis=1, epsilon=1e-2),
  "LpNormalization": _c(_x(2, 3, 4), axis=1),
  "LpNormalization 1": _c(_x(2, 3, 4), p=1),
  "MeanVarianceNormalization": _c(_PICTURE, axes=[2, 3]),
  "RMSNormalization": _c(_x(2, 3, 4), _x(4), opset=23),
  # linear
  "Attention": _c(_x(2, 3, 5, 4), _x(2, 3, 6, 4), _x(2, 3, 6, 4), opset=23),
  "Attention mask": _c(
    _x(2, 4, 5, 4),
    _x(2, 2, 5, 4),
    _x(2, 2, 5, 4),
    _x(5, 5),
    opset=23,
    is_causal=1,
    scale=0.3,
  ),
  "Einsum": _c(_x(2, 3, 4), _x(2, 4, 5), equation="bij,bjk->bki"),
  "Gemm": _c(_x(2, 4), _x(3, 4), _x(3), transB=1),
  "Gemm scaled": _c(
    _x(4, 2), _x(4, 3), _x(1, 3), transA=1, alpha=0.5, beta=2.0
  ),
  "MatMul": _c(_x(2, 3, 4, 5), _x(3, 5, 6)),
  "MatMul vector": _c(_x(2, 4), _x(4)),
  # reductions
  "ArgMax": _c(_f(1, 3, 3, 2), keepdims=0),
  "ArgMax last": _c(_f(1, 3, 3, 2), select_last_index=1),
  "ArgMin": _c(_x(2, 3, 4), axis=-1),
  "CumSum": _c(_x(2, 3), _i(1).reshape(())),
  "CumSum back": _c(_x(2, 3), _i(1).reshape(()), exclusive=1, reverse=1),
  "TopK": _c(_x(2, 6, 3), _i(2), axis=1, outputs=2),
  "TopK least": _c(_x(2, 6), _i(3), largest=0, outputs=2),
  # indexing
  "Compress": _c(_x(3, 4), np.array([True, False, True]), axis=0),
  "Gather": _c(_x(2, 5, 3), _i(0, -1, 2), axis=1),
  "Gather one": _c(_x(2, 5, 3), _i(0).reshape(()), axis=1),
  "GatherElements": _c(_x(2, 3), _i(0, -1, 1, 2).reshape(2, 2), axis=1),
  "GatherND": _c(_x(2, 3, 4), _i(0, 1, -1, 2).reshape(2, 2)),
  "GatherND batch": _c(_x(2, 3, 4), _i(1, 2).reshape(2, 1), batch_dims=1),
  "NonZero": _c(None, _f(0, 2, 0, 1)),
  "OneHot": _c(_i(0, -1, 2), _i(4).reshape(()), _f(-1, 2), axis=0),
  "ScatterElements": _c(
    _x(3, 3), _i(1, 0, 2, 0).reshape(2, 2), _x(2, 2), axis=1
  ),
  "ScatterND": _c(_x(3, 4), _i(1, 2).reshape(2, 1), _x(2, 4)),
  "ScatterND add": _c(
    _x(3, 4), _i(1, 1).reshape(2, 1), _x(2, 4), reduction="add"
  ),
  # quantisation
  "DequantizeLinear": _c(
    _RNG.integers(0, 256, (2, 3), np.uint8),
    _f(0.1, 0.2, 0.3),
    np.uint8([3, 0, 200]),
  ),
  "QuantizeLinear": _c(_x(2, 3), _f(0.01).reshape(()), np.int8(5)),
  "QuantizeLinear plain": _c(_x(2, 3), _f(0.01, 0.02, 0.03)),
  # resize
  "Upsample": _c(_PICTURE, _f(1, 1, 2, 3), opset=9, mode="nearest"),
  "Upsample linear": _c(_PICTURE, _f(1, 1, 2, 3), opset=9, mode="linear"),
  # shapes
  "Concat": _c(_x(2, 3), _x(2, 4), axis=-1),
  "ConcatFromSequence": _Case(
    (_x(2, 3), _x(2, 3)), {"axis": 1, "new_axis": 1}, operator="sequence"
  ),
  "ConstantOfShape": _c(
    None,
    _i(2, 3),
    value=numpy_helper.from_array(np.float32([7])),
    opset=20,
  ),
  "DepthToSpace": _c(_x(1, 8, 2, 3), blocksize=2),
  "DepthToSpace CRD": _c(_x(1, 8, 2, 3), blocksize=2, mode="CRD"),
  "Expand": _c(_x(3, 1), _i(2, 1, 4)),
  "EyeLike": _c(_x(3, 4), k=1),
  "Flatten": _c(_x(2, 3, 4), axis=-1),
  "Pad": _c(_x(2, 3), _i(0, 1, 2, -1), _f(9).reshape(())),
  "Pad reflect": _c(_x(3, 4), _i(1, 2, 0, 1), mode="reflect"),
  "Pad edge": _c(_x(3, 4), _i(1, 2), None, _i(1), mode="edge"),
  "Pad 10": _c(_x(3, 4), opset=10, pads=[1, 0, 0, 2], value=3.0),
  "Range": _c(None, *(np.int64(n) for n in (2, 9, 3))),
  "Reshape": _c(_x(2, 3, 4), _i(0, -1, 2)),
  "SequenceAt": _Case((_x(2, 4),), {}, operator="split"),
  "Shape": _c(_x(2, 3, 4), start=1),
  "Size": _c(_x(2, 3, 4)),
  "Slice": _c(
    _x(6, 5, 4), _i(1, -1), _i(2**63 - 1, -(2**63)), _i(0, 1), _i(2, -2)
  ),
  "Slice plain": _c(_x(6, 5), _i(-3), _i(9)),
  "Slice 9": _c(_x(6, 5), opset=9, starts=[1], ends=[-1], axes=[1]),
  "SpaceToDepth": _c(_x(1, 2, 4, 6), blocksize=2),
  "Split": _c(_x(7, 2), num_outputs=3, outputs=3),
  "Split lengths": _c(_x(2, 7), _i(3, 4), axis=1, outputs=2),
  "Split 11": _c(_x(2, 7), opset=11, split=[3, 4], axis=1, outputs=2),
  "Squeeze": _c(_x(1, 3, 1), _i(-1)),
  "Squeeze 11": _c(_x(1, 3, 1), opset=11, axes=[0]),
  "Squeeze all": _c(_x(1, 3, 1)),
  "Tile": _c(_x(2, 3), _i(2, 1)),
  "Transpose": _c(_x(2, 3, 4), perm=[1, 2, 0]),
  "Transpose turned": _c(_x(2, 3, 4)),
  "Trilu": _c(_x(3, 4), _i(1).reshape(())),
  "Trilu lower": _c(_x(3, 4), upper=0),
  "Unsqueeze": _c(_x(3, 4), _i(0, -1)),
  "Unsqueeze 11": _c(_x(3, 4), opset=11, axes=[1]),
}
_COORDINATES = (
  *("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
  "half_pixel_symmetric",
)
for _place in _COORDINATES:
  for _mode, *_inputs in (
    ("nearest", None, _f(1, 1, 0.55, 2.5)),
    ("linear", None, None, _i(2, 4, 10, 5)),
    ("linear", None, _f(1, 1, 0.55, 2.5)),
    ("cubic", None, None, _i(2, 4, 10, 5)),
  ):
    _CASES[f"Resize {_mode} {_place} {len(_inputs)}"] = _c(
      *(_PICTURE, *_inputs),
      opset=19,
      mode=_mode,
      coordinate_transformation_mode=_place,
    )
for _rounding in ("round_prefer_ceil", "floor", "ceil"):
  _CASES[f"Resize {_rounding}"] = _c(
    *(_PICTURE, None, _f(1, 1, 2, 0.5)), nearest_mode=_rounding
  )
for _mode in ("linear", "cubic"):
  _CASES[f"Resize {_mode} antialias"] = _c(
    *(_PICTURE, None, None, _i(3, 20)), mode=_mode, antialias=1, axes=[2, 3]
  )
_CASES["Resize cubic outside"] = _c(
  *(_PICTURE, None, _f(1, 1, 2, 2)),
  mode="cubic",
  exclude_outside=1,
  cubic_coeff_a=-0.5,
)
_CASES["Resize larger"] = _c(
  *(_PICTURE, None, None, _i(14, 12)),
  mode="linear",
  axes=[2, 3],
  keep_aspect_ratio_policy="not_larger",
)


def _nodes(name: str, case: _Case, names: list[str]) -> list[onnx.NodeProto]:
  operator = name.split()[0]
  outputs = [f"y{n}" for n in range(case.outputs)]
  if case.operator == "sequence":
    return [
      helper.make_node("SequenceConstruct", names, ["s"]),
      helper.make_node(operator, ["s"], outputs, **case.attributes),
    ]
  if case.operator == "split":
    place = numpy_helper.from_array(np.int64(1))
    return [
      helper.make_node("SplitToSequence", names, ["s"], axis=1),
      helper.make_node("Constant", [], ["at"], value=place),
      helper.make_node(operator, ["s", "at"], outputs),
    ]
  return [helper.make_node(operator, names, outputs, **case.attributes)]


def _model(name: str, case: _Case) -> onnx.ModelProto:
  """The case as a graph; where its first input is None, of weights alone."""
  arrays = case.inputs[1:] if case.inputs[0] is None else case.inputs
  names = ["" if a is None else f"i{n}" for n, a in enumerate(arrays)]
  weights = dict(zip(names, arrays))
  source = np.zeros(1, np.float32)
  if case.inputs[0] is not None:
    source = weights.pop("i0")
  feed = helper.make_tensor_value_info(
    "i0" if case.inputs[0] is not None else "unused",
    helper.np_dtype_to_tensor_dtype(source.dtype),
    source.shape,
  )
  nodes = _nodes(name, case, names)
  return helper.make_model(
    helper.make_graph(
      nodes,
      "case",
      [feed],
      [onnx.ValueInfoProto(name=y) for y in nodes[-1].output],
      [
        numpy_helper.from_array(np.asarray(a), n)
        for n, a in weights.items()
        if n
      ],
    ),
    opset_imports=[helper.make_opsetid("", case.opset)],
    ir_version=min(
      helper.find_min_ir_version_for([helper.make_opsetid("", case.opset)]), 10
    ),
  )


def _module(name: str) -> str:
  """The file of a case's operator."""
  function = TABLE[name.split()[0]].function
  while isinstance(function, functools.partial):
    function = function.func
  return function.__module__.rpartition(".")[2]


class OperatorsTest(parameterized.TestCase):
  @parameterized.parameters(*sorted(set(map(_module, TABLE))))
  def test_equals_onnxruntime(self, module):
    names = [name for name in _CASES if _module(name) == module]
    programs, arguments, wanted = {}, {}, {}
    for name in names:
      graph, source, answers = self._run_by_onnxruntime(name)
      for output, answer in zip(graph.outputs, answers, strict=True):
        key = f"{name}: {output}"
        program = graph_lib.Program.of(graph, output)
        programs[key], wanted[key] = program, answer
        arguments[key] = (program.variables, source)
    # Compiled together, which is several times quicker than one by one.
    run = jax.jit(lambda a: {k: p(*a[k]) for k, p in programs.items()})
    for key, got in run(arguments).items():
      with self.subTest(key):
        self._check(np.asarray(got), wanted[key])

  def _run_by_onnxruntime(self, name):
    case = _CASES[name]
    data = _model(name, case).SerializeToString()
    path = pathlib.Path(self.create_tempdir().full_path, "net.onnx")
    path.write_bytes(data)
    session = onnxruntime.InferenceSession(
      data, providers=["CPUExecutionProvider"]
    )
    source = case.inputs[0]
    source = np.zeros(1, np.float32) if source is None else source
    answers = session.run(None, {session.get_inputs()[0].name: source})
    return file.read(str(path)), source, answers

  def _check(self, got, want):
    self.assertEqual(got.shape, want.shape)
    self.assertEqual(got.dtype.kind, want.dtype.kind)
    scale = np.abs(want).max() if want.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * max(scale, 1))

  def test_every_operator_has_a_case(self):
    cases = {name.split()[0] for name in _CASES}
    others = {"SequenceConstruct", "SplitToSequence"}  # inside of cases
    self.assertEqual(cases | others, set(TABLE))

  @parameterized.parameters(*torch_cases.CASES)
  def test_equals_torch(self, group):
    """Of the graphs that torch exports of calls of its own operators."""
    golden = np.load(torch_cases.GOLDEN)
    programs, arguments = {}, {}
    for place, case in enumerate(torch_cases.CASES[group]):
      key = torch_cases.key(group, place)
      source = torch_cases.narrow(torch_cases.source(case))
      model = onnx.ModelProto.FromString(golden[f"{key}.graph"].tobytes())
      graph = file.of(model)
      for i, output in enumerate(graph.outputs):
        if f"{key}.{i}" in torch_cases.NOT_EXPORTED:
          continue
        program = graph_lib.Program.of(graph, output)
        programs[f"{key}.{i}"] = program
        arguments[f"{key}.{i}"] = (program.variables, source)
    run = jax.jit(lambda a: {k: p(*a[k]) for k, p in programs.items()})
    for key, got in run(arguments).items():
      with self.subTest(key):
        want = golden[key]
        self.assertEqual(got.dtype, want.dtype)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)

  @parameterized.parameters(
    ("node", "Reshape", (_x(4), None), "decides on a shape and depends"),
    ("dtypes", "Cast", (_x(4),), "Type 8 of elements"),
    ("windows", "MaxPool", (_PICTURE,), "indices"),
  )
  def test_refuses(self, file_name, operator, inputs, reason):
    del file_name
    names = ("x", "x")[: len(inputs)]
    outputs = ("y", "places") if operator == "MaxPool" else ("y",)
    attributes = {"to": 8, "kernel_shape": (2, 2)}
    nodes = (Node(operator, names, outputs, attributes, 18),)
    program = graph_lib.Program(nodes, "x", "y", {}, {})
    with self.assertRaisesRegex(UntraceableError, f"{reason}"):
      jax.eval_shape(program, {}, inputs[0])


if __name__ == "__main__":
  absltest.main()

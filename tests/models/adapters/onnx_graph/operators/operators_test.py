"""Every operator of the table equals onnxruntime, each in a graph of its own."""

import functools
import zlib

import jax
import numpy as np
import onnx
import onnxruntime
from absl.testing import parameterized
from onnx import helper, numpy_helper

from models.adapters.onnx_graph import file
from models.adapters.onnx_graph import graph as graph_lib
from models.adapters.onnx_graph.operators import TABLE
from models.adapters.onnx_graph.operators.node import (
  Node,
  UntraceableError,
)
from tests.models.adapters.onnx_graph.operators import tables, torch_cases

_CASES = {row["case"]: row for row in tables.read("onnx_cases.tsv")}


def _nodes(name: str, names: list[str]) -> list[onnx.NodeProto]:
  """The case's node; of a sequence, with what makes one."""
  operator = name.split()[0]
  outputs = [f"y{n}" for n in range(int(_CASES[name]["outputs"]))]
  attributes = {
    key: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v
    for key, v in tables.options(_CASES[name]["attributes"]).items()
  }
  if operator == "ConcatFromSequence":
    return [
      helper.make_node("SequenceConstruct", names, ["s"]),
      helper.make_node(operator, ["s"], outputs, **attributes),
    ]
  if operator == "SequenceAt":
    place = numpy_helper.from_array(np.int64(1))
    return [
      helper.make_node("SplitToSequence", names, ["s"], axis=1),
      helper.make_node("Constant", [], ["at"], value=place),
      helper.make_node(operator, ["s", "at"], outputs),
    ]
  return [helper.make_node(operator, names, outputs, **attributes)]


def _model(name: str) -> tuple[onnx.ModelProto, np.ndarray]:
  """The case as a graph, and its input; the other arrays are its weights.

  Where the first array is None, the graph is of weights alone.
  """
  rng = np.random.default_rng(zlib.crc32(name.encode()))
  source, *others = tables.arguments(_CASES[name]["inputs"], rng)
  arrays = others if source is None else [source, *others]
  names = ["" if a is None else f"i{n}" for n, a in enumerate(arrays)]
  weights = {n: a for n, a in zip(names, arrays) if n}
  feed = "unused" if source is None else "i0"
  source = weights.pop(feed, np.zeros(1, np.float32))
  nodes = _nodes(name, names)
  opset = helper.make_opsetid("", int(_CASES[name]["opset"]))
  graph = helper.make_graph(
    nodes,
    "case",
    [
      helper.make_tensor_value_info(
        feed, helper.np_dtype_to_tensor_dtype(source.dtype), source.shape
      )
    ],
    [onnx.ValueInfoProto(name=y) for y in nodes[-1].output],
    [numpy_helper.from_array(a, n) for n, a in weights.items()],
  )
  version = min(helper.find_min_ir_version_for([opset]), 10)
  model = helper.make_model(graph, opset_imports=[opset], ir_version=version)
  return model, source


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
        program = graph_lib.Program.from_graph(graph, output)
        programs[key], wanted[key] = program, answer
        arguments[key] = (program.variables, source)
    # Compiled together, which is several times quicker than one by one.
    run = jax.jit(lambda a: {k: p(*a[k]) for k, p in programs.items()})
    for key, got in run(arguments).items():
      with self.subTest(key):
        self._check(np.asarray(got), wanted[key])

  def _run_by_onnxruntime(self, name):
    model, source = _model(name)
    session = onnxruntime.InferenceSession(
      model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    answers = session.run(None, {session.get_inputs()[0].name: source})
    return file.from_model(model), source, answers

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
      graph = file.from_model(model)
      for i, output in enumerate(graph.outputs):
        if f"{key}.{i}" in torch_cases.NOT_EXPORTED:
          continue
        program = graph_lib.Program.from_graph(graph, output)
        programs[f"{key}.{i}"] = program
        arguments[f"{key}.{i}"] = (program.variables, source)
    run = jax.jit(lambda a: {k: p(*a[k]) for k, p in programs.items()})
    for key, got in run(arguments).items():
      with self.subTest(key):
        want = golden[key]
        self.assertEqual(got.dtype, want.dtype)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)

  @parameterized.parameters(
    ("node", "Reshape", (4,), ("x", "x"), "determines a shape and depends"),
    ("dtypes", "Cast", (4,), ("x",), "element type 8"),
    ("windows", "MaxPool", (2, 4, 7, 8), ("x",), "indices"),
  )
  def test_refuses(self, file_name, operator, shape, names, reason):
    del file_name
    outputs = ("y", "places") if operator == "MaxPool" else ("y",)
    attributes = {"to": 8, "kernel_shape": (2, 2)}
    nodes = (Node(operator, names, outputs, attributes, 18),)
    program = graph_lib.Program(nodes, "x", "y", {}, {})
    with self.assertRaisesRegex(UntraceableError, reason):
      jax.eval_shape(program, {}, np.zeros(shape, np.float32))

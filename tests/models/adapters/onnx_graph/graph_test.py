"""ONNX files and graphs."""

import pathlib
import tracemalloc

import jax
import numpy as np
import onnx
from absl.testing import absltest
from onnx import helper, numpy_helper

from models.adapters.onnx_graph import file
from models.adapters.onnx_graph import graph as graph_lib

_WEIGHTS = {
  "w": np.float32([[1, 2], [3, 4]]),
  "zero": np.int64(0),
  "last": np.int64([-1]),
  "factor": np.float32([1, 2]),
}


def _write(folder, nodes, weights, outputs=("y",), width=3, **options):
  """Write a graph of x `[n, width]`, and return its path."""
  model = helper.make_model(
    helper.make_graph(
      nodes,
      "net",
      [helper.make_tensor_value_info("x", 1, ["n", width])],
      [onnx.ValueInfoProto(name=name) for name in outputs],
      [numpy_helper.from_array(a, n) for n, a in weights.items()],
    ),
    opset_imports=[
      helper.make_opsetid("", 17),
      helper.make_opsetid("mine", 1),
    ],
    **options,
  )
  path = pathlib.Path(folder, "net.onnx")
  path.write_bytes(model.SerializeToString())
  return str(path)


def _read(folder, nodes, outputs=("y",)):
  return file.read(_write(folder, nodes, _WEIGHTS, outputs, width=2))


def _flattened():
  """The rows of x w, by the arithmetic of shapes that exporters write."""
  return [
    helper.make_node("MatMul", ["x", "w"], ["product"]),
    helper.make_node("Shape", ["product"], ["shape"]),
    helper.make_node("Gather", ["shape", "zero"], ["rows"]),
    helper.make_node("Unsqueeze", ["rows", "zero0"], ["rows1"]),
    helper.make_node("Concat", ["rows1", "last"], ["sides"], axis=0),
    helper.make_node("Reshape", ["product", "sides"], ["y"]),
  ]


class GraphTest(absltest.TestCase):
  """Graphs in JAX: what a variable is, what shapes need, branches."""

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def test_shapes_are_folded_and_weights_are_variables(self):
    zero = numpy_helper.from_array(np.int64([0]))
    nodes = [
      helper.make_node("Constant", [], ["zero0"], value=zero),
      *_flattened(),
    ]
    program = graph_lib.Program.from_graph(_read(self.folder, nodes), "y")
    self.assertEqual(set(program.variables), {"w"})
    self.assertEqual(set(program.constants), {"zero", "zero0", "last"})
    x = np.float32([[1, 0], [0, 2], [1, 1]])
    got = jax.jit(program)(program.variables, x)
    np.testing.assert_array_equal(got, x @ _WEIGHTS["w"])

  def test_what_only_its_dtype_is_read_of_is_no_constant(self):
    nodes = [
      helper.make_node("MatMul", ["x", "w"], ["product"]),
      helper.make_node("CastLike", ["zero", "product"], ["least"]),
      helper.make_node("Clip", ["product", "least"], ["y"]),
    ]
    program = graph_lib.Program.from_graph(_read(self.folder, nodes), "y")
    self.assertEqual(set(program.variables), {"w"})

  def test_bfloat16_multiplies_matrices_alone(self):
    nodes = [
      helper.make_node("MatMul", ["x", "w"], ["product"]),
      helper.make_node("Add", ["product", "factor"], ["y"]),
    ]
    program = graph_lib.Program.from_graph(_read(self.folder, nodes), "y")
    x = np.float32([[1 / 3, 1 / 7]])
    got = program(program.variables, x, "bfloat16")
    self.assertEqual(got.dtype, np.float32)
    want = x @ _WEIGHTS["w"] + _WEIGHTS["factor"]
    self.assertBetween(np.abs(got - want).max() / want.max(), 1e-5, 0.01)

  def test_text_and_constants(self):
    nodes = [helper.make_node("Gather", ["w", "zero"], ["y"], axis=1)]
    program = graph_lib.Program.from_graph(_read(self.folder, nodes), "y")
    lines = program.text().splitlines()
    self.assertRegex(lines[0], r"^zero = int64\[\] [0-9a-f]{64}$")
    self.assertEqual(lines[1:], ["y = Gather(w, zero, axis=1)", "return y"])
    fixed = program.fix(["w", "unknown"])
    self.assertEmpty(fixed.variables)
    x = np.zeros((1, 2), np.float32)
    np.testing.assert_array_equal(fixed({"w": x}, x), [1, 3])

  def test_only_what_an_output_needs(self):
    nodes = [
      helper.make_node("Strange", ["x"], ["other"]),
      helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    graph = _read(self.folder, nodes, ("y", "other"))
    self.assertEmpty(graph_lib.unknown_operators(graph, "y"))
    self.assertEqual(graph_lib.unknown_operators(graph, "other"), ("Strange",))
    self.assertLen(graph_lib.Program.from_graph(graph, "y").nodes, 1)

  def test_branches(self):
    def branch(operator):
      node = helper.make_node(operator, ["x", "factor"], [operator])
      out = [onnx.ValueInfoProto(name=operator)]
      return helper.make_graph([node], operator, [], out)

    nodes = [
      helper.make_node("Shape", ["x"], ["shape"]),
      helper.make_node("ReduceMax", ["shape"], ["side"], keepdims=0),
      helper.make_node("Equal", ["side", "zero"], ["empty"]),
      helper.make_node(
        "If",
        ["empty"],
        ["y"],
        then_branch=branch("Add"),
        else_branch=branch("Mul"),
      ),
    ]
    graph = _read(self.folder, nodes)
    self.assertEmpty(graph_lib.unknown_operators(graph, "y"))
    program = graph_lib.Program.from_graph(graph, "y")
    x = np.float32([[1, 3]])
    np.testing.assert_array_equal(
      jax.jit(program)(program.variables, x), [[1, 6]]
    )


class FileTest(absltest.TestCase):
  """A file's graph is what onnx itself reads, and its weights are read late."""

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def test_nodes_inputs_and_weights(self):
    weight = np.arange(3, dtype=np.float16)
    value = numpy_helper.from_array(np.int64([1]))
    path = _write(
      self.folder,
      [
        helper.make_node("Constant", [], ["c"], value=value),
        helper.make_node("Constant", [], ["d"], value_floats=[1.0, 2.0]),
        helper.make_node(
          "Other", ["x", "", "w"], ["y"], text="a", several=[1, 2], f=0.5
        ),
      ],
      {"w": weight},
    )
    graph = file.read(path)
    (node,) = graph.nodes
    self.assertEqual(
      (node.operator, node.inputs, node.opset), ("Other", ("x", "", "w"), 17)
    )
    self.assertEqual(
      node.attributes, {"text": "a", "several": (1, 2), "f": 0.5}
    )
    self.assertEqual(graph.inputs[0].shape, (None, 3))
    arrays = {name: t.array() for name, t in graph.tensors.items()}
    np.testing.assert_array_equal(arrays["w"], weight)
    self.assertEqual(arrays["w"].dtype, np.float16)
    np.testing.assert_array_equal(arrays["c"], [1])
    np.testing.assert_array_equal(arrays["d"], np.float32([1, 2]))

  def test_functions_are_put_in(self):
    function = helper.make_function(
      "mine",
      "Twice",
      ["a"],
      ["b"],
      [helper.make_node("Add", ["a", "a"], ["b"])],
      [helper.make_opsetid("", 17)],
    )
    path = _write(
      self.folder,
      [helper.make_node("Twice", ["x"], ["y"], domain="mine")],
      {},
      functions=[function],
    )
    self.assertEqual([n.operator for n in file.read(path).nodes], ["Add"])

  def test_digest_is_of_the_nodes(self):
    digests = []
    for operator, weight in (("Add", 1), ("Add", 2), ("Mul", 1)):
      node = helper.make_node(operator, ["x", "w"], ["y"])
      weights = {"w": np.float32([weight])}
      digests.append(file.read(_write(self.folder, [node], weights)).digest)
    self.assertEqual(digests[0], digests[1])
    self.assertNotEqual(digests[0], digests[2])

  def test_weights_are_in_memory_once(self):
    weights = {f"w{i}": np.ones(1 << 20, np.float32) for i in range(4)}
    nodes = [helper.make_node("Sum", ["x", *weights], ["y"])]
    path = _write(self.folder, nodes, weights)
    file.read(path)  # imports
    tracemalloc.start()
    graph = file.read(path)
    read = tracemalloc.get_traced_memory()[1]
    arrays = [tensor.array() for tensor in graph.tensors.values()]
    whole = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sum(a.nbytes for a in arrays)
    self.assertLess(read, 0.1 * size)
    self.assertLess(whole, 1.1 * size)

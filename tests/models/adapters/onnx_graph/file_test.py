"""A file's graph is what onnx itself reads, and its weights are read late."""

import pathlib
import tracemalloc

import numpy as np
import onnx
from absl.testing import absltest
from onnx import helper, numpy_helper

from models.adapters.onnx_graph import file


def _write(folder, nodes, weights, **options):
  model = helper.make_model(
    helper.make_graph(
      nodes,
      "net",
      [helper.make_tensor_value_info("x", 1, ["n", 3])],
      [onnx.ValueInfoProto(name="y")],
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


class FileTest(absltest.TestCase):
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

"""Calls of torch's operators, and what torch answers to them.

  python -m tests.models.adapters.onnx_graph.operators.torch_cases

adds what tests/golden/torch_operators.npz has not, with the torch that is
installed: of each call of torch_cases.tsv the ONNX graph that torch exports, and
the answers. A graph's input is drawn from a seed of the case's name.
"""

import itertools
import pathlib
import zlib

import jax
import numpy as np

from models.adapters.torch_graph import export
from tests.models.adapters.onnx_graph.operators import tables

GOLDEN = (
  pathlib.Path(__file__).resolve().parents[4] / "golden/torch_operators.npz"
)
# File of operators -> rows of its calls.
CASES: dict[str, list[dict[str, str]]] = {
  group: list(rows)
  for group, rows in itertools.groupby(
    tables.read("torch_cases.tsv"), lambda row: row["group"]
  )
}

# Answers that torch's exporter does not write as torch computes them, or JAX does
# not know: the probe of the adapter's `auto` sends such networks to the host.
NOT_EXPORTED = {
  "indexing.0.copy.default.0": "an array that is broadcast to the other",
  "matmul.11.scaled_dot_product_attention.default.0": "a row of a mask without"
  " any True, of which torch answers 0",
  "pooling.10.avg_pool2d.default.0": "a divisor of its own",
  "pooling.18.adaptive_max_pool2d.default.1": "places",
  "pooling.4.max_pool2d_with_indices.default.1": "places",
  "resize.15._upsample_bilinear2d_aa.default.0": "corners that are aligned",
  "resize.17._upsample_bicubic2d_aa.default.0": "corners that are aligned",
}


def call(case: dict[str, str]) -> tuple[str, list, dict]:
  """Operator, arguments and options of a case."""
  operator = case["operator"]
  rng = np.random.default_rng(zlib.crc32(operator.encode()))
  arguments = tables.arguments(case["arguments"], rng)
  return operator, arguments, tables.options(case["options"])


def key(file: str, place: int) -> str:
  """What a case is called in the golden file."""
  return f"{file}.{place}.{CASES[file][place]['operator']}"


def source(case: dict[str, str]) -> np.ndarray:
  """The first array of a case, which is its graph's input."""
  leaves = jax.tree.leaves(call(case)[1])
  arrays = [x for x in leaves if isinstance(x, np.ndarray)]
  return arrays[0] if arrays else np.zeros(1, np.float32)


def _of_torch(case: dict[str, str]) -> tuple[list[np.ndarray], bytes]:
  """What torch answers, and the graph that it exports of the call."""
  import onnx
  import torch
  from torch import nn

  operator, arguments, options = call(case)
  name, _, overload = operator.partition(".")
  function = getattr(getattr(torch.ops.aten, name), overload)
  if "dtype" in options:
    options["dtype"] = vars(torch)[options["dtype"]]
  leaves, tree = jax.tree.flatten(arguments, is_leaf=lambda x: x is None)
  places = [i for i, x in enumerate(leaves) if isinstance(x, np.ndarray)]

  class Call(nn.Module):
    def __init__(self):
      super().__init__()
      for i in places[1:]:
        self.register_buffer(f"b{i}", torch.from_numpy(leaves[i]))

    def forward(self, x):
      whole = list(leaves)
      for i in places:
        whole[i] = x if i == places[0] else self.get_buffer(f"b{i}")
      answer = function(*jax.tree.unflatten(tree, whole), **options)
      listed = answer if isinstance(answer, (tuple, list)) else [answer]
      tensors = (t for t in listed if isinstance(t, torch.Tensor))
      return tuple(t for t in tensors if t.numel())

  net, batch = Call().eval(), torch.from_numpy(source(case))
  answers = [narrow(t.numpy()) for t in net(batch)]
  model = export._translated(torch.export.export(net, (batch,))).model_proto
  for node in model.graph.node:
    del node.metadata_props[:]  # paths of this machine
  for inner in (model.graph.value_info, model.graph.input, model.graph.output):
    for value in inner:
      del value.metadata_props[:]
  del model.graph.value_info[:]
  onnx.checker.check_model(model)
  return answers, model.SerializeToString()


def narrow(array: np.ndarray) -> np.ndarray:
  """As JAX has it: in 32 bits."""
  kinds = {"float64": np.float32, "int64": np.int32}
  return array.astype(kinds.get(array.dtype.name, array.dtype))


def main() -> None:
  """Adds to the golden file the cases that it has not."""
  arrays = dict(np.load(GOLDEN)) if GOLDEN.exists() else {}
  for group, cases in CASES.items():
    for place, case in enumerate(cases):
      name = key(group, place)
      if f"{name}.graph" in arrays:
        continue
      answers, graph = _of_torch(case)
      arrays[f"{name}.graph"] = np.frombuffer(graph, np.uint8)
      arrays.update({f"{name}.{i}": a for i, a in enumerate(answers)})
  np.savez_compressed(GOLDEN, **arrays)
  print(f"{len(arrays)} arrays, {GOLDEN.stat().st_size} bytes")


if __name__ == "__main__":
  main()

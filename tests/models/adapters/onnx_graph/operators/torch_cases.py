"""Calls of torch's operators, and what torch answers to them.

  python -m tests.models.adapters.onnx_graph.operators.torch_cases

adds what tests/golden/torch_operators.npz has not, with the torch that is
installed: of each call the ONNX graph that torch exports, and the answers. A
graph's input is drawn from a seed of the case's name.
"""

import pathlib
import zlib
from typing import Any

import jax
import numpy as np

from robust_tfds.models.adapters.torch_graph import export

GOLDEN = (
  pathlib.Path(__file__).resolve().parents[4] / "golden/torch_operators.npz"
)


class F:
  """Stands for real numbers of a shape, about 0 with deviation 1."""

  def __init__(self, *shape: int):
    self.shape = shape

  def draw(self, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(self.shape).astype(np.float32)


class P(F):
  """Positive ones."""

  def draw(self, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.1, 2, self.shape).astype(np.float32)


class I:  # noqa: E742
  """Stands for whole numbers of a shape in low..high-1."""

  def __init__(self, *shape: int, low: int = 0, high: int = 4):
    self.shape, self.low, self.high = shape, low, high

  def draw(self, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(self.low, self.high, self.shape)


class B(I):
  """Stands for bools of a shape."""

  def draw(self, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, self.shape) > 0


PICTURE = F(2, 4, 9, 7)
# File of operators -> [operator, arguments, options by name].
CASES: dict[str, list[tuple]] = {
  "convolution": [
    ("convolution.default", x, w, b, s, p, d, t, o, g)
    for x, w, b, s, p, d, t, o, g in (
      (PICTURE, F(6, 4, 3, 3), F(6), [1], [1], [1], False, [0], 1),
      (PICTURE, F(6, 2, 3, 2), None, [2, 1], [0, 1], [1, 2], False, [0, 0], 2),
      (PICTURE, F(4, 1, 3, 3), F(4), [1, 1], [1, 1], [1, 1], False, [0, 0], 4),
      (PICTURE, F(4, 3, 3, 3), F(3), [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
      (PICTURE, F(4, 3, 3, 2), None, [2, 1], [0, 0], [1, 2], True, [0, 0], 2),
      (F(2, 3, 11), F(4, 3, 5), F(4), [2], [2], [1], False, [0], 1),
      (F(1, 2, 4, 5, 5), F(3, 2, 3, 3, 3), F(3), [1], [1], [1], False, [0], 1),
    )
  ],
  "creation": [
    ("_to_copy.default", F(3, 3), {"dtype": "int32"}),
    ("_to_copy.default", I(3, 3), {"dtype": "float32"}),
    ("arange.default", 5),
    ("arange.start", 2, 7),
    ("arange.start_step", 1.0, 3.0, 0.5),
    ("eye.default", 3),
    ("full.default", [2, 3], 1.5),
    ("full_like.default", F(2, 2), 3),
    ("linspace.default", -1, 1, 5),
    ("new_full.default", F(2), [3], 4.0),
    ("new_ones.default", I(2), [2, 2]),
    ("new_zeros.default", F(2), [2, 2]),
    ("ones.default", [2]),
    ("ones_like.default", F(2)),
    ("scalar_tensor.default", 2.5),
    ("zeros.default", [2]),
    ("zeros_like.default", I(2)),
  ],
  "elementwise": [
    *(
      (f"{name}.default", F(3, 5))
      for name in (
        "abs atan ceil cos cosh elu erf exp exp2 expm1 floor gelu glu"
        " hardsigmoid hardswish hardtanh isfinite isinf isnan leaky_relu mish"
        " neg relu relu6 round sigmoid sign silu sin sinh softplus square tan"
        " tanh trunc"
      ).split()
      if name != "glu"
    ),
    *(
      (f"{name}.default", P(3, 5))
      for name in "log log10 log1p log2 reciprocal rsqrt sqrt".split()
    ),
    *((f"{name}.default", I(4, low=1)) for name in ("exp", "sqrt", "sigmoid")),
    ("acos.default", I(3, high=2)),
    ("asin.default", I(3, high=2)),
    ("bitwise_not.default", I(4)),
    ("logical_not.default", F(4)),
    ("glu.default", F(2, 6)),
    ("gelu.default", F(9), {"approximate": "tanh"}),
    ("clamp.default", F(9), -0.5),
    ("clamp.default", F(9), None, 0.5),
    ("clamp.Tensor", F(9), F(9), F(9)),
    ("clamp_max.default", F(9), 0.1),
    ("clamp_min.default", F(9), 0.1),
    ("elu.default", F(9), 1.5, 1.1),
    ("hardtanh.default", F(9), -0.2, 0.3),
    ("leaky_relu.default", F(9), 0.3),
    ("prelu.default", F(2, 4, 3), F(4)),
    ("softplus.default", F(9), 2, 1),
    ("threshold.default", F(9), 0.1, -1.0),
    ("round.decimals", F(9), {"decimals": 1}),
    ("addcmul.default", F(4), F(4), F(4), {"value": 0.5}),
    ("addcdiv.default", F(4), F(4), P(4), {"value": 0.5}),
    ("lerp.Scalar", F(4), F(4), 0.3),
    ("lerp.Tensor", F(4), F(4), F(4)),
    ("add.Tensor", F(2, 3), F(3), {"alpha": 2}),
    ("add.Tensor", I(3), I(3), {"alpha": 2}),
    ("sub.Tensor", F(2, 3), F(3), {"alpha": 2}),
    ("rsub.Scalar", F(3), 1, 2),
    ("mul.Tensor", I(3), 1.5),
    ("mul.Scalar", F(3), 1.5),
    ("div.Tensor", I(5, low=-5), I(5, low=1)),
    *(
      ("div.Tensor_mode", x, y, {"rounding_mode": mode})
      for mode in ("floor", "trunc")
      for x, y in ((F(9), P(9)), (I(9, low=-9), I(9, low=1)))
    ),
    ("floor_divide.default", I(9, low=-9), I(9, low=1)),
    ("fmod.Scalar", I(9, low=-9), 4),
    ("remainder.Scalar", I(9, low=-9), 4),
    ("remainder.Tensor", F(9), P(9)),
    ("pow.Tensor_Scalar", P(5), 0.5),
    ("pow.Tensor_Scalar", P(5), -0.5),
    ("pow.Tensor_Scalar", F(5), 3),
    ("pow.Tensor_Scalar", P(5), 1.7),
    ("pow.Tensor_Tensor", P(5), F(5)),
    ("pow.Scalar", 2.0, F(5)),
    ("atan2.default", F(5), F(5)),
    ("maximum.default", F(5), F(5)),
    ("minimum.default", F(5), F(5)),
    *((f"{n}.Tensor", I(9), I(9)) for n in "eq ge gt le lt ne".split()),
    *((f"{n}.Scalar", I(9), 2) for n in "eq ge gt le lt ne".split()),
    *((f"bitwise_{n}.Tensor", I(9), I(9)) for n in "and or xor".split()),
    *((f"logical_{n}.default", B(9), B(9)) for n in "and or xor".split()),
    ("where.self", B(5), F(5), F(5)),
    ("where.ScalarOther", B(5), F(5), 1.0),
    ("masked_fill.Scalar", F(5), B(5), -100.0),
  ],
  "indexing": [
    ("copy.default", F(2, 3), F(3)),
    ("diagonal.default", F(3, 4), 1),
    ("embedding.default", F(4, 3), I(5)),
    ("gather.default", F(5, 4), 1, I(3, 2)),
    ("index.Tensor", F(4, 3), [I(5)]),
    ("index.Tensor", F(2, 4, 4, 3), [None, I(5, 1), I(5)]),
    ("index.Tensor", F(4, 4, 4), [I(2), None, I(2)]),
    ("index_put.default", F(4, 3), [I(1)], F(1, 3)),
    ("index_put.default", F(4, 3), [I(6)], F(6, 3), True),
    ("index_select.default", F(2, 4), 1, I(3)),
    ("scatter.src", F(2, 4), 0, I(1, 4, high=2), F(1, 4)),
    ("scatter.value", F(2, 4), 1, I(2, 1), 7.0),
    ("select.int", F(2, 4), 1, -1),
    ("select_scatter.default", F(2, 4), F(2), 1, 2),
    ("slice.Tensor", F(9, 2), 0, 1, (1 << 63) - 1, 3),
    ("slice.Tensor", F(2, 9), -1, -4, -1),
    ("slice_scatter.default", F(9, 2), F(3, 2), 0, 1, (1 << 63) - 1, 3),
    ("sort.default", F(3, 5), 1, True),
    ("topk.default", F(3, 5), 2),
    ("topk.default", F(3, 5), 2, 0, False),
    ("tril.default", F(3, 4)),
    ("triu.default", F(3, 4), 1),
  ],
  "matmul": [
    ("mm.default", F(3, 4), F(4, 2)),
    ("bmm.default", F(2, 3, 4), F(2, 4, 2)),
    ("matmul.default", F(2, 5, 3, 4), F(4, 2)),
    ("matmul.default", F(2, 3, 4), F(4)),
    ("addmm.default", F(2), F(3, 4), F(4, 2), {"beta": 0.5, "alpha": 2}),
    ("baddbmm.default", F(2, 3, 2), F(2, 3, 4), F(2, 4, 2)),
    ("linear.default", F(2, 5, 4), F(3, 4), F(3)),
    ("linear.default", F(2, 5, 4), F(3, 4)),
    ("einsum.default", "bij,bkj->bik", [F(2, 3, 4), F(2, 5, 4)]),
    *(
      ("scaled_dot_product_attention.default", *x)
      for x in (
        (F(2, 3, 5, 4), F(2, 3, 6, 4), F(2, 3, 6, 7)),
        (F(2, 3, 5, 4), F(2, 3, 6, 4), F(2, 3, 6, 7), F(5, 6)),
        (F(2, 3, 5, 4), F(2, 3, 6, 4), F(2, 3, 6, 7), B(2, 1, 5, 6)),
        (F(2, 5, 4), F(2, 5, 4), F(2, 5, 4), None, 0.0, True),
        (F(2, 5, 4), F(2, 5, 4), F(2, 5, 4), None, 0.0, False, {"scale": 0.3}),
        (
          F(1, 4, 5, 4),
          F(1, 2, 5, 4),
          F(1, 2, 5, 4),
          {"enable_gqa": True},
        ),
      )
    ),
    ("outer.default", F(3), F(2)),
  ],
  "normalisation": [
    (
      "_native_batch_norm_legit_no_training.default",
      PICTURE,
      F(4),
      F(4),
      F(4),
      P(4),
      0.1,
      1e-5,
    ),
    (
      "_native_batch_norm_legit.no_stats",
      PICTURE,
      F(4),
      None,
      True,
      0.0,
      1e-6,
    ),
    ("layer_norm.default", F(2, 3, 8), [8], F(8), F(8), 1e-6),
    ("layer_norm.default", F(2, 3, 8), [3, 8]),
    ("native_layer_norm.default", F(2, 3, 8), [8], None, None, 1e-5),
    ("group_norm.default", PICTURE, 2, F(4), F(4)),
    ("native_group_norm.default", PICTURE, F(4), F(4), 2, 4, 63, 2, 1e-5),
    ("rms_norm.default", F(2, 3, 8), [8], F(8)),
    ("linalg_vector_norm.default", F(2, 5), 2, [1], True),
    ("linalg_vector_norm.default", F(2, 5), 3, [0]),
    ("linalg_vector_norm.default", F(2, 5), float("inf")),
  ],
  "pooling": [
    ("max_pool2d.default", PICTURE, [3, 3], [2, 2], [1, 1]),
    ("max_pool2d.default", PICTURE, [2, 2], [2, 2], [0, 0], [1, 1], True),
    ("max_pool2d.default", PICTURE, [3, 2], [3, 2], [1, 1], [1, 1], True),
    ("max_pool2d.default", PICTURE, [2, 2], [], [0, 0], [2, 2]),
    ("max_pool2d_with_indices.default", F(4, 9, 7), [3, 3]),
    ("max_pool1d.default", F(2, 3, 9), [3], [2], [1]),
    ("max_pool3d.default", F(1, 2, 5, 5, 5), [2, 2, 2]),
    ("avg_pool2d.default", PICTURE, [3, 3], [2, 2], [1, 1]),
    ("avg_pool2d.default", PICTURE, [3, 3], [2, 2], [1, 1], True, True),
    ("avg_pool2d.default", PICTURE, [3, 3], [2, 2], [1, 1], True, False),
    ("avg_pool2d.default", PICTURE, [2, 2], [2, 2], [0, 0], True, True, 3),
    ("avg_pool1d.default", F(2, 3, 9), [3], [2], [1]),
    ("avg_pool3d.default", F(1, 2, 5, 5, 5), [2, 2, 2]),
    ("adaptive_avg_pool2d.default", PICTURE, [1, 1]),
    ("adaptive_avg_pool2d.default", PICTURE, [4, 3]),
    ("adaptive_avg_pool2d.default", PICTURE, [3, 7]),
    ("adaptive_avg_pool1d.default", F(2, 3, 9), [12]),
    ("adaptive_avg_pool3d.default", F(1, 2, 5, 5, 5), [1, 2, 3]),
    ("adaptive_max_pool2d.default", PICTURE, [4, 3]),
  ],
  "reductions": [
    ("_log_softmax.default", F(2, 5), 1, False),
    ("_softmax.default", F(2, 5), -1, False),
    ("_safe_softmax.default", F(2, 5), 1),
    ("softmax.int", F(2, 5), 0),
    ("log_softmax.int", F(2, 5), 0),
    ("logsumexp.default", F(2, 5), [1], True),
    ("all.default", B(3)),
    ("all.dim", B(3, 2), 0),
    ("any.default", B(3)),
    ("any.dim", B(3, 2), 1, True),
    ("amax.default", F(2, 3, 4), [0, 2]),
    ("amin.default", F(2, 3, 4), [-1], True),
    ("argmax.default", F(3, 4), 1),
    ("argmin.default", F(3, 4)),
    ("max.default", F(3, 4)),
    ("max.dim", F(3, 4), 1),
    ("min.default", F(3, 4)),
    ("min.dim", F(3, 4), 0, True),
    ("mean.default", F(3, 4)),
    ("mean.dim", F(2, 3, 4), [-1, -2], True),
    ("sum.default", I(3, 4)),
    ("sum.dim_IntList", F(2, 3, 4), [1]),
    ("prod.dim_int", F(3, 4), 1),
    ("cumsum.default", F(3, 4), 1),
    ("std.correction", F(3, 4), [1], {"correction": 1, "keepdim": True}),
    ("var.correction", F(3, 4), [0], {"correction": 0}),
    ("var_mean.correction", F(3, 4), [1], {"correction": 0, "keepdim": True}),
  ],
  "resize": [
    ("upsample_nearest1d.vec", F(1, 2, 5), [8], None),
    ("upsample_nearest2d.vec", PICTURE, None, [2.0, 2.0]),
    ("upsample_nearest2d.default", PICTURE, [5, 10]),
    ("_upsample_nearest_exact2d.vec", PICTURE, [5, 10], None),
    ("upsample_linear1d.vec", F(1, 2, 5), [8], False, None),
    ("upsample_trilinear3d.vec", F(1, 1, 3, 4, 5), [5, 6, 4], True, None),
    *(
      (f"{name}.{form}", *rest)
      for name in ("upsample_bilinear2d", "upsample_bicubic2d")
      for form, *rest in (
        ("vec", PICTURE, [14, 5], False, None),
        ("vec", PICTURE, [14, 5], True, None),
        ("vec", PICTURE, None, False, [1.7, 0.6]),
        ("default", PICTURE, [12, 12], False, None, None),
      )
    ),
    *(
      (f"_upsample_{name}2d_aa.default", PICTURE, size, corners)
      for name in ("bilinear", "bicubic")
      for size, corners in (([4, 3], False), ([12, 5], True))
    ),
  ],
  "shapes": [
    ("as_strided.default", F(3, 4), [2, 3], [4, 1], 1),
    ("cat.default", [F(2, 3), F(2, 1)], 1),
    ("channel_shuffle.default", PICTURE, 2),
    ("chunk.default", F(2, 7), 3, 1),
    ("clone.default", F(3)),
    ("constant_pad_nd.default", F(2, 5), [1, -2, 0, 1], 0.5),
    ("expand.default", F(3, 1), [2, -1, 4]),
    ("expand_as.default", F(3, 1), F(3, 2)),
    ("flatten.using_ints", F(2, 3, 4), 1),
    ("flip.default", F(3, 4), [0, 1]),
    ("im2col.default", PICTURE, [3, 2], [1, 2], [1, 0], [2, 1]),
    ("movedim.int", F(2, 3, 4), 0, 2),
    ("narrow.default", F(2, 5), 1, 1, 3),
    *(
      ("pad.default", F(1, 2, 5), [2, 1], mode)
      for mode in ("constant", "reflect", "replicate", "circular")
    ),
    ("permute.default", F(2, 3, 4), [2, 0, 1]),
    ("pixel_shuffle.default", F(1, 8, 2, 3), 2),
    ("pixel_unshuffle.default", F(1, 2, 4, 6), 2),
    ("reflection_pad2d.default", PICTURE, [1, 2, 3, 0]),
    ("replication_pad2d.default", PICTURE, [1, 2, 3, 0]),
    ("repeat.default", F(2, 3), [2, 1, 2]),
    ("roll.default", F(4, 5), [1, -2], [0, 1]),
    ("roll.default", F(4, 5), [3]),
    ("split.Tensor", F(2, 7), 3, 1),
    ("split_with_sizes.default", F(2, 7), [1, 4, 2], 1),
    ("squeeze.default", F(1, 2, 1)),
    ("squeeze.dim", F(1, 2, 1), 1),
    ("squeeze.dims", F(1, 2, 1), [0, 2]),
    ("stack.default", [F(2, 3), F(2, 3)], -1),
    ("t.default", F(2, 3)),
    ("transpose.int", F(2, 3, 4), 1, -1),
    ("unbind.int", F(2, 3), 1),
    ("unflatten.int", F(2, 6), -1, [2, 3]),
    ("unfold.default", F(2, 7), 1, 3, 2),
    ("unsqueeze.default", F(2, 3), -1),
    ("view.default", F(2, 6), [3, -1]),
  ],
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


def drawn(value: Any, rng: np.random.Generator) -> Any:
  """A call's arguments with arrays in place of what stands for them."""
  if isinstance(value, (F, I)):
    return value.draw(rng)
  if isinstance(value, list):
    return [drawn(v, rng) for v in value]
  return value


def call(case: tuple) -> tuple[str, list, dict]:
  """Operator, arguments and options of a case."""
  operator, *arguments = case
  options = arguments.pop() if isinstance(arguments[-1], dict) else {}
  rng = np.random.default_rng(zlib.crc32(operator.encode()))
  return operator, drawn(arguments, rng), dict(options)


def key(file: str, place: int) -> str:
  """What a case is called in the golden file."""
  return f"{file}.{place}.{CASES[file][place][0]}"


def source(case: tuple) -> np.ndarray:
  """The first array of a case, which is its graph's input."""
  leaves = jax.tree.leaves(call(case)[1])
  arrays = [x for x in leaves if isinstance(x, np.ndarray)]
  return arrays[0] if arrays else np.zeros(1, np.float32)


def _of_torch(case: tuple) -> tuple[list[np.ndarray], bytes]:
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

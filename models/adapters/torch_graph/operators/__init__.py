"""What each operator of torch's exported graphs computes, in JAX.

One idea a file; its `TABLE` holds the operators by the names that torch gives
them, e.g. `aten.add.Tensor`. Arguments come in the order of torch's schema, those
after its `*` by their names there; pictures are `[B, C, H, W]`. Sizes are Python
numbers. Arrays that depend on neither pictures nor weights may be numpy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robust_tfds.models.adapters.torch_graph.operators import (
  convolution,
  creation,
  elementwise,
  indexing,
  matmul,
  normalisation,
  pooling,
  reductions,
  resize,
  shapes,
  sizes,
)

OPERATORS: dict[str, Callable[..., Any]] = {
  name: function
  for module in (
    convolution,
    creation,
    elementwise,
    indexing,
    matmul,
    normalisation,
    pooling,
    reductions,
    resize,
    shapes,
    sizes,
  )
  for name, function in module.TABLE.items()
}
# Those that multiply matrices: they run in bfloat16 where that is asked for.
PRODUCTS: frozenset[str] = frozenset((*convolution.TABLE, *matmul.TABLE))

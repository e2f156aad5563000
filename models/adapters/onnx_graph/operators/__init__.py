"""ONNX's operators in JAX: a table, and a file for each kind of operator.

These are the standard operators of opsets 7 to 23 that vision networks use, each
tested against onnxruntime. Operators whose output shapes depend on numbers
(`NonZero` of pixels, `NonMaxSuppression`) cannot be traced and are missing.
"""

from collections.abc import Mapping

from models.adapters.onnx_graph.operators import (
  activations,
  convolution,
  elementwise,
  indexing,
  linear,
  normalisation,
  pooling,
  quantisation,
  reductions,
  resize,
  shapes,
)
from models.adapters.onnx_graph.operators.node import Operator

TABLE: Mapping[str, Operator] = {
  **activations.OPERATORS,
  **convolution.OPERATORS,
  **elementwise.OPERATORS,
  **indexing.OPERATORS,
  **linear.OPERATORS,
  **normalisation.OPERATORS,
  **pooling.OPERATORS,
  **quantisation.OPERATORS,
  **reductions.OPERATORS,
  **resize.OPERATORS,
  **shapes.OPERATORS,
}

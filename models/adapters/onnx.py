"""An ONNX file, run operator by operator in JAX by jaxonnxruntime.

Needs the extra `onnx`. Works for graphs whose shapes depend on nothing but the
input's; the batch size must be free (`dynamic_axes`, `dynamic_shapes`) or equal
to the evaluator's per-device batch.
"""

from __future__ import annotations

import os
from typing import Any

from robust_tfds import errors
from robust_tfds.models import adapters
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import Spec


def adapt(
  path: str | os.PathLike,
  spec: Spec,
  *,
  name: str = "onnx",
  channels_first: bool = True,
) -> Adapted:
  """Wraps a graph of one input, whose first output is the logits.

  Args:
    path: the `.onnx` file.
    spec: what it expects and answers.
    name: what reports call it.
    channels_first: whether it takes `[B, 3, H, W]`, as exports from torch do.

  Raises:
    ImportError: onnx or jaxonnxruntime is not installed.
    UserError: not one input, a damaged file, or an operator that JAX lacks.
  """
  try:
    import jaxonnxruntime
    import onnx
    from jaxonnxruntime import call_onnx
  except ImportError as error:
    raise errors.missing_package(
      "jaxonnxruntime", "onnx", "An ONNX model"
    ) from error
  import numpy as np

  # Operators read shapes and axes as Python numbers while they are traced.
  jaxonnxruntime.config.update(
    "jaxort_only_allow_initializers_as_static_args", False
  )
  with adapters.reading_model(path, "an ONNX model") as place:
    model = onnx.load(place)
    onnx.checker.check_model(model)
  initial = {tensor.name for tensor in model.graph.initializer}
  entries = [i for i in model.graph.input if i.name not in initial]
  inputs = [i.name for i in entries]
  if len(inputs) != 1:
    raise errors.UserError(f"{path} has inputs {inputs}, expected one.")
  axes = entries[0].type.tensor_type.shape.dim
  rows = axes[0].dim_value if axes else 0  # 0: any number
  side = spec.input_px
  picture = (3, side, side) if channels_first else (side, side, 3)
  shape = (rows or 1, *picture)
  with adapters.in_words(path, "an ONNX model that runs in JAX"):
    forward, weights = call_onnx.call_onnx_model(
      model, {inputs[0]: np.zeros(shape, np.float32)}
    )

  def run(variables: Any, batch: Any) -> Any:
    if channels_first:
      batch = batch.transpose(0, 3, 1, 2)
    return forward(variables, {inputs[0]: batch})[0]

  return Adapted(name, spec, run, weights, rows or None)

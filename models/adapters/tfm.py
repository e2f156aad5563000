"""A TensorFlow function or model in memory, such as tf-models-official builds.

Needs tf2jax (extra `savedmodel`), and the extra `tfm` for
tf-models-official itself. The graph is translated once; nothing of TensorFlow
runs during evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robust_tfds import errors
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import Spec


def adapt(
  model: Callable[..., Any], spec: Spec, *, name: str = "tfm", **options: Any
) -> Adapted:
  """Wraps `model(batch, **options) -> logits` of TensorFlow.

  Args:
    model: a tf.function, tf.Module or TensorFlow Keras model; float32 `[B, H,
      W, 3]` -> `[B, classes]`.
    spec: what it expects and answers.
    name: what reports call it.
    **options: for every call, e.g. `training=False`.

  Raises:
    ImportError: TensorFlow or tf2jax is not installed.
  """
  try:
    import tensorflow as tf
    import tf2jax
  except ImportError as error:
    raise errors.missing_package(
      "tf2jax", "savedmodel", "A TensorFlow model"
    ) from error
  import numpy as np

  side = spec.input_px
  forward, state = tf2jax.convert(
    tf.function(lambda batch: model(batch, **options)),
    tf.TensorSpec((None, side, side, 3), tf.float32),
  )
  weights = {n: np.asarray(v) for n, v in state.items()}
  return Adapted(name, spec, lambda v, batch: forward(v, batch)[0], weights)

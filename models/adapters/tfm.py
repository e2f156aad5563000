"""A TensorFlow function or model in memory, such as tf-models-official builds.

Traced, its graph is translated once by tf2jax (extra `savedmodel`) and nothing of
TensorFlow runs during evaluation; on the host TensorFlow runs it. The extra `tfm`
brings tf-models-official itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robust_tfds import errors
from robust_tfds.models.adapters import FromElsewhere
from robust_tfds.models.adapters.tensorflow_graph import routes
from robust_tfds.models.spec import ModelSpec


def adapt(
  model: Callable[..., Any],
  spec: ModelSpec,
  *,
  name: str = "tfm",
  route: str = "auto",
  channels_first: bool = False,
  output: str | int | None = None,
  **options: Any,
) -> FromElsewhere:
  """Wraps `model(batch, **options) -> logits` of TensorFlow.

  Args:
    model: a tf.function, tf.Module or TensorFlow Keras model; float32 `[B, H,
      W, 3]` -> `[B, classes]`; of a `VideoSpec` clips `[B, T, H, W, 3]`.
    spec: what it expects and answers.
    name: what reports call it.
    route: `traced` runs it in JAX, sharded; `host` in TensorFlow; `auto` is
      traced where tf2jax knows all operators and two seeded inputs get
      TensorFlow's logits to 1e-5 of their scale. `Model.route` says which.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: which of several outputs are the logits.
    **options: for every call, e.g. `training=False`, which Keras models need.

  Raises:
    ImportError: TensorFlow or tf2jax is not installed.
    UserError: not callable, or `traced` where that cannot be.
  """
  routes.check_route(route)
  try:
    import tensorflow as tf
    import tf2jax
  except ImportError as error:
    raise errors.missing_package(
      "tf2jax", "savedmodel", "A TensorFlow model"
    ) from error
  del tf, tf2jax
  if not callable(model):
    raise errors.UserError(
      f"{name}: got a {type(model).__name__}, expected a function or model of"
      " TensorFlow."
    )
  return routes.adapted(
    lambda batch: model(batch, **options),
    spec,
    name=name,
    route=route,
    channels_first=channels_first,
    output=output,
    code=model,
  )

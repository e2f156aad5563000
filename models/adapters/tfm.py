"""A TensorFlow function or model in memory, such as tf-models-official builds.

Traced, its graph is translated once by tf2jax (extra `savedmodel`) and nothing of
TensorFlow runs during evaluation; on the host TensorFlow runs it. The extra `tfm`
brings tf-models-official itself.
"""

from collections.abc import Callable
from typing import Any

from models.adapters import ExternalModel, OnHost, routes
from models.adapters.routes import tensorflow_graph
from models.detection import label_ids, tensorflow_module
from models.detection.spec import DetectorSpec
from models.spec import ModelSpec
from robust_tfds import errors


def adapt(
  model: Callable[..., Any],
  spec: ModelSpec,
  *,
  name: str = "tfm",
  route: str = "auto",
  channels_first: bool = False,
  output: str | int | None = None,
  labels: label_ids.Labels | None = None,
  **options: Any,
) -> ExternalModel:
  """Wrap `model(batch, **options) -> logits` of TensorFlow.

  Args:
    model: a tf.function, tf.Module or TensorFlow Keras model; it maps float32
      `[B, H, W, 3]` to `[B, classes]`; with a `VideoSpec` it takes clips `[B,
      T, H, W, 3]`; for a `DetectorSpec` see
      `models.detection.tensorflow_module`.
    spec: its preprocessing and labels.
    name: name in reports.
    route: `traced` runs it in JAX, sharded; `host` in TensorFlow; `auto` is
      traced if tf2jax knows all operators and two seeded inputs get
      TensorFlow's logits to 1e-5 of their scale. `Model.route` says which.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: key or index of the output that holds the logits.
    labels: meaning of a detector's label ids: `from_zero`, `from_one`,
      `coco91`, or a dict of label id to class.
    **options: further arguments of every call, e.g. `training=False`, which
      Keras models need.

  Raises:
    ImportError: TensorFlow or tf2jax is not installed.
    UserError: `model` is not callable, or `route` is `traced` and it cannot be
      traced.
  """
  routes.check_route(route)
  if isinstance(spec, DetectorSpec):
    return _detector(model, spec, name, route, labels, options)
  tensorflow_graph.tensorflow("A TensorFlow model")
  if not callable(model):
    raise errors.UserError(
      f"{name}: got a {type(model).__name__}, expected a function or model of"
      " TensorFlow."
    )
  return tensorflow_graph.adapted(
    lambda batch: model(batch, **options),
    spec,
    name=name,
    route=route,
    channels_first=channels_first,
    output=output,
    code=model,
  )


def _detector(
  model: Callable[..., Any],
  spec: DetectorSpec,
  name: str,
  route: str,
  labels: label_ids.Labels | None,
  options: dict[str, Any],
) -> OnHost:
  # TensorFlow's suppression of boxes has no shape that JAX could trace.
  if route == "traced":
    raise errors.UserError(
      f"{name}: detectors of TensorFlow run on the host: leave route out."
    )
  function = tensorflow_module.function(model, spec, name, labels, options)
  return OnHost(name, spec, function, code=model, route="host: a detector")

"""A TensorFlow function or model in memory, such as tf-models-official builds.

Traced, its graph is translated once by tf2jax (extra `savedmodel`) and nothing of
TensorFlow runs during evaluation; on the host TensorFlow runs it. The extra `tfm`
brings tf-models-official itself.
"""

from collections.abc import Callable
from typing import Any

from models.adapters import FromElsewhere, OnHost
from models.adapters.tensorflow_graph import routes
from models.checks import agreement
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
) -> FromElsewhere:
  """Wraps `model(batch, **options) -> logits` of TensorFlow.

  Args:
    model: a tf.function, tf.Module or TensorFlow Keras model; float32 `[B, H,
      W, 3]` -> `[B, classes]`; of a `VideoSpec` clips `[B, T, H, W, 3]`; of a
      `DetectorSpec` see `models.detection.tensorflow_module`.
    spec: what it expects and answers.
    name: what reports call it.
    route: `traced` runs it in JAX, sharded; `host` in TensorFlow; `auto` is
      traced where tf2jax knows all operators and two seeded inputs get
      TensorFlow's logits to 1e-5 of their scale. `Model.route` says which.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: which of several outputs are the logits.
    labels: of detectors what their label ids stand for: `from_zero`,
      `from_one`, `coco91`, or a dict of label id to class.
    **options: for every call, e.g. `training=False`, which Keras models need.

  Raises:
    ImportError: TensorFlow or tf2jax is not installed.
    UserError: not callable, or `traced` where that cannot be.
  """
  agreement.check_route(route)
  if isinstance(spec, DetectorSpec):
    return _detector(model, spec, name, route, labels, options)
  routes.tensorflow("A TensorFlow model")
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


def _detector(
  model: Callable[..., Any],
  spec: DetectorSpec,
  name: str,
  route: str,
  labels: label_ids.Labels | None,
  options: dict[str, Any],
) -> OnHost:
  """TensorFlow's suppression of boxes has no shape that JAX could trace."""
  if route == "traced":
    raise errors.UserError(
      f"{name}: detectors of TensorFlow run on the host: leave route out."
    )
  function = tensorflow_module.function(model, spec, name, labels, options)
  return OnHost(name, spec, function, code=model, route="host: a detector")

"""The two routes of a TensorFlow function: rewritten in JAX by tf2jax, or called on
the host.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from models.adapters import Adapted, OnHost, routes
from models.spec import ModelSpec
from robust_tfds import errors


def tensorflow(what: str) -> Any:
  """Import TensorFlow; tf2jax must be installed too.

  Args:
    what: what needs them, for the error.

  Raises:
    ImportError: one of them is not installed.
  """
  try:
    import tensorflow as tf
    import tf2jax
  except ImportError as error:
    raise errors.missing_package_error("tf2jax", "savedmodel", what) from error
  del tf2jax
  return tf


def adapted(
  call: Callable[[Any], Any],
  spec: ModelSpec,
  *,
  name: str,
  route: str,
  **options: Any,
) -> Adapted | OnHost:
  """Return the model of a function.

  Args:
    call: maps a float32 tensor, preprocessed by the spec, to logits, or to
      several outputs.
    spec: its preprocessing and labels.
    name: name in reports.
    route: `traced`, `host`, or `auto`: traced if tf2jax knows the operators and
      the logits agree to 1e-5 of their scale.
    **options: options of both routes: `rows`, `channels_first`, `output`,
      `code`, `program`.

  Raises:
    UserError: `route` is `traced`, and tf2jax cannot rewrite the function.
  """
  function, variables = _numpy_function(call, _input_shape(spec, options))
  host = OnHost(
    name,
    spec,
    function,
    variables,
    preprocessed=True,
    route="host",
    **options,
  )
  if route == "host":
    return host

  def traced() -> Adapted:
    return _traced(call, spec, name, options)

  return traced() if route == "traced" else routes.choose_route(traced, host)


def _input_shape(
  spec: ModelSpec, options: dict[str, Any]
) -> tuple[int | None, ...]:
  _, *sides = routes.batch_shape(spec, 1)
  if options.get("channels_first"):
    sides = [sides[-1], *sides[:-1]]
  return (options.get("rows"), *sides)


def _numpy_function(
  call: Callable[[Any], Any], shape: tuple[int | None, ...]
) -> tuple[Callable[[np.ndarray], Any], dict[str, np.ndarray]]:
  """Return a function of numpy arrays, and its variables as a record."""
  import tensorflow as tf

  graph = tf.function(call).get_concrete_function(
    tf.TensorSpec(shape, tf.float32)
  )

  def run(batch: np.ndarray) -> Any:
    answer = graph(tf.constant(batch))
    return tf.nest.map_structure(lambda tensor: tensor.numpy(), answer)

  # By index: names have numbers that count what the process built before.
  return run, {str(i): v.numpy() for i, v in enumerate(graph.variables)}


def _traced(
  call: Callable[[Any], Any],
  spec: ModelSpec,
  name: str,
  options: dict[str, Any],
) -> Adapted:
  import tensorflow as tf
  import tf2jax

  try:
    forward, state = tf2jax.convert(
      tf.function(call), tf.TensorSpec(_input_shape(spec, options), tf.float32)
    )
  except Exception as error:
    raise errors.UserError(
      f"{name} cannot be rewritten in JAX: {errors.user_fault(error)}"
      f" route='host' runs it in TensorFlow."
    ) from error

  def run(variables: Any, pixels: jax.Array) -> Any:
    with jax.default_matmul_precision("highest"):
      return forward(variables, pixels)[0]

  weights = {n: np.asarray(v) for n, v in state.items()}
  return Adapted(name, spec, run, weights, route="traced", **options)

"""A TensorFlow SavedModel, rewritten as a JAX function by tf2jax.

Needs the extra `savedmodel` (tf2jax). The graph is translated once; nothing of
TensorFlow runs during evaluation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from robust_tfds import errors
from robust_tfds.models import adapters
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import Spec


def adapt(
  path: str | os.PathLike,
  spec: Spec,
  *,
  name: str = "savedmodel",
  signature: str = "serving_default",
  output: str = "",
  channels_first: bool = False,
) -> Adapted:
  """Wraps a signature of a SavedModel.

  Args:
    path: the SavedModel's folder.
    spec: what it expects and answers.
    name: what reports call it.
    signature: which signature to call; it takes one batch of pictures.
    output: which of its outputs are the logits; needed if there are several.
    channels_first: whether it takes `[B, 3, H, W]`.

  Raises:
    ImportError: TensorFlow or tf2jax is not installed.
    UserError: no such signature or output, a damaged model, or an operator that
      JAX lacks.
  """
  try:
    import tensorflow as tf
    import tf2jax
  except ImportError as error:
    raise errors.missing_package(
      "tf2jax", "savedmodel", "A SavedModel"
    ) from error
  import numpy as np

  with adapters.reading_model(path, "a SavedModel (a folder)") as place:
    loaded = tf.saved_model.load(place)
  if signature not in loaded.signatures:
    raise errors.UserError(
      f"{path} has no signature {signature!r}; it has"
      f" {', '.join(loaded.signatures) or 'none'}."
    )
  function = loaded.signatures[signature]
  key = _only(function.structured_input_signature[1], "inputs", path)
  outputs = tuple(function.structured_outputs)
  output = output or _only(outputs, "outputs", path)
  if output not in outputs:
    raise errors.UserError(
      f"{path} has no output {output!r}; it has {outputs}."
    )
  shape = (1, spec.input_px, spec.input_px, 3)
  sample = np.zeros(_first(shape) if channels_first else shape, np.float32)
  with adapters.in_words(path, "a SavedModel that runs in JAX"):
    forward, state = tf2jax.convert(
      tf.function(lambda batch: function(**{key: batch})[output]),
      tf.TensorSpec((None, *sample.shape[1:]), tf.float32),
    )
  weights = {n: np.asarray(v) for n, v in state.items()}

  def run(variables: Any, batch: Any) -> Any:
    if channels_first:
      batch = batch.transpose(0, 3, 1, 2)
    return forward(variables, batch)[0]

  return Adapted(name, spec, run, weights)


def _only(names: Iterable[str], what: str, path: Any) -> str:
  """The name, where there is no other."""
  listed = tuple(names)
  if len(listed) != 1:
    raise errors.UserError(
      f"{path} has {len(listed)} {what} {listed}, expected one."
    )
  return listed[0]


def _first(shape: tuple[int, ...]) -> tuple[int, ...]:
  return (shape[0], shape[3], shape[1], shape[2])

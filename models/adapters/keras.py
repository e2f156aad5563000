"""A Keras 3 model on its JAX backend.

Needs the extra `keras`, and KERAS_BACKEND=jax in the environment before keras
is imported anywhere.
"""

from __future__ import annotations

import os
from typing import Any

from robust_tfds import errors
from robust_tfds.models import adapters
from robust_tfds.models.adapters import Adapted
from robust_tfds.models.spec import Spec


def adapt(model: Any, spec: Spec, *, name: str = "") -> Adapted:
  """Wraps a Keras model, or the `.keras` file of one.

  Args:
    model: a `keras.Model`, or a path; files are read in safe mode, so layers
      with code in them are refused.
    spec: what it expects and answers. Many Keras models rescale pixels
      themselves: then scale, mean and std are 1, 0 and 1.
    name: what reports call it; the model's name by default.

  Raises:
    ImportError: Keras 3 is not installed.
    UserError: Keras runs on another backend than JAX, or cannot read the file.
  """
  try:
    import keras
  except ImportError as error:
    raise errors.missing_package("keras", "keras", "A Keras model") from error
  if keras.backend.backend() != "jax":
    raise errors.UserError(
      f"Keras runs on {keras.backend.backend()}, expected jax: set"
      " KERAS_BACKEND=jax before Python starts."
    )
  if isinstance(model, (str, os.PathLike)):
    with adapters.reading_model(model, "a Keras model in safe mode") as place:
      model = keras.saving.load_model(place, compile=False, safe_mode=True)
  if not isinstance(model, keras.Model):
    raise errors.UserError(
      f"Got a {type(model).__name__}, expected a keras.Model or the path of one."
    )

  def value(variables: Any) -> list:
    return [v.value for v in variables]

  def run(variables: Any, batch: Any) -> Any:
    trained, fixed = variables
    return model.stateless_call(trained, fixed, batch, training=False)[0]

  weights = (
    value(model.trainable_variables),
    value(model.non_trainable_variables),
  )
  return Adapted(name or model.name, spec, run, weights)

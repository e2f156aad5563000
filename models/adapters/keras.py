"""A Keras 3 model on its JAX backend.

Needs the extra `keras`, and KERAS_BACKEND=jax in the environment before keras
is imported anywhere.
"""

import os
from typing import Any

from models import adapters
from models.adapters import Adapted
from models.spec import ModelSpec
from robust_tfds import errors
from robust_tfds.storage import paths


def adapt(
  model: Any,
  spec: ModelSpec,
  *,
  name: str = "",
  channels_first: bool = False,
  output: str | int | None = None,
) -> Adapted:
  """Wrap a Keras model, or the `.keras` file of one.

  It is called with `training=False`, so dropout and batch norms need no
  setting.

  Args:
    model: a `keras.Model`, or a path; files are read in safe mode, so layers
      with code in them are refused.
    spec: its preprocessing and labels. Many Keras models rescale pixels
      themselves: then scale, mean and std are 1, 0 and 1. Those of
      `keras.applications` return probabilities unless they were built with
      `classifier_activation=None`.
    name: name in reports; the model's name by default.
    channels_first: whether it takes `[B, 3, H, W]`.
    output: key or index of the output that holds the logits.

  Raises:
    ImportError: Keras 3 is not installed.
    UserError: Keras runs on another backend than JAX, or cannot read the file.
  """
  try:
    import keras
  except ImportError as error:
    raise errors.missing_package_error(
      "keras", "keras", "A Keras model"
    ) from error
  if keras.backend.backend() != "jax":
    raise errors.UserError(
      f"Keras runs on {keras.backend.backend()}, expected jax: set"
      " KERAS_BACKEND=jax before Python starts."
    )
  program = ""
  if isinstance(model, (str, os.PathLike)):
    program = f"keras {paths.sha256(model)}" if paths.is_file(model) else ""
    with adapters.reading_model(model, "a Keras model in safe mode") as place:
      model = keras.saving.load_model(place, compile=False, safe_mode=True)
  if not isinstance(model, keras.Model):
    raise errors.UserError(
      f"Got a {type(model).__name__}, expected a keras.Model or the path of one."
    )

  def run(variables: Any, batch: Any) -> Any:
    trained, fixed = variables
    return model.stateless_call(trained, fixed, batch, training=False)[0]

  weights = tuple(
    [v.value for v in group]
    for group in (model.trainable_variables, model.non_trainable_variables)
  )
  return Adapted(
    name or model.name,
    spec,
    run,
    weights,
    channels_first=channels_first,
    output=output,
    code=type(model),
    program=program,
  )

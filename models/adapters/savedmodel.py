"""A TensorFlow SavedModel: rewritten as a JAX function, or run by TensorFlow.

Needs the extra `savedmodel` (tf2jax). Traced, the graph is translated once and
nothing of TensorFlow runs during evaluation.
"""

import os
from collections.abc import Iterable
from typing import Any

from models import adapters
from models.adapters import ExternalModel, routes
from models.adapters.routes import tensorflow_graph
from models.checks import answers
from models.spec import ModelSpec
from robust_tfds import errors
from robust_tfds.storage import paths


def adapt(
  path: str | os.PathLike,
  spec: ModelSpec,
  *,
  name: str = "savedmodel",
  route: str = "auto",
  signature: str = "serving_default",
  output: str = "",
  channels_first: bool = False,
) -> ExternalModel:
  """Wrap a signature of a SavedModel.

  Args:
    path: the SavedModel's folder.
    spec: its preprocessing and labels.
    name: name in reports.
    route: `traced` runs it in JAX, sharded; `host` in TensorFlow; `auto` is
      traced if tf2jax knows all operators and two seeded inputs get
      TensorFlow's logits to 1e-5 of their scale. `Model.route` says which.
    signature: the signature to call; it takes one batch of pictures.
    output: name of the output that holds the logits; needed if there are
      several.
    channels_first: whether it takes `[B, 3, H, W]`.

  Raises:
    ImportError: TensorFlow or tf2jax is not installed.
    UserError: there is no such signature or output, the model is damaged, or
      `route` is `traced` and JAX lacks an operator.
  """
  routes.check_route(route)
  tf = tensorflow_graph.tensorflow("A SavedModel")
  with adapters.reading_model(path, "a SavedModel (a folder)") as place:
    loaded = tf.saved_model.load(place)
    files = _hashes(place)
  if signature not in loaded.signatures:
    raise errors.UserError(
      f"{path} has no signature {signature!r}; it has"
      f" {', '.join(loaded.signatures) or 'none'}."
    )
  function = loaded.signatures[signature]
  inputs = function.structured_input_signature[1]
  key = _only(inputs, "inputs", path)
  outputs = tuple(function.structured_outputs)
  if not output and answers.LOGITS in outputs:
    output = answers.LOGITS
  output = output or _only(outputs, "outputs", path)
  if output not in outputs:
    raise errors.UserError(
      f"{path} has no output {output!r}; it has {outputs}."
    )
  shape = inputs[key].shape
  return tensorflow_graph.adapted(
    lambda batch: function(**{key: batch})[output],
    spec,
    name=name,
    route=route,
    rows=shape[0] if shape.rank else None,
    channels_first=channels_first,
    code=tensorflow_graph,
    program=f"{signature} {output} {files}",
  )


def _hashes(folder: str) -> str:
  """Return the sha256 of all files of a model, by their names."""
  files = sorted(paths.files_below(folder))
  return " ".join(f"{below} {paths.sha256(whole)}" for below, whole in files)


def _only(names: Iterable[str], what: str, path: Any) -> str:
  """Return the only name."""
  listed = tuple(names)
  if len(listed) != 1:
    raise errors.UserError(
      f"{path} has {len(listed)} {what} {listed}, expected one."
    )
  return listed[0]

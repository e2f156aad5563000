"""The library generation of a checkpoint, if its arrays fit several.

RetinaNet has the same names and shapes in mmdetection 1.x and 2.x, but its
numbers mean other anchors and boxes. mmdetection's training writes its version
into a file (`meta`, `mmdet_version`: its tools/train.py at v0.6.0 and v2.0.0);
its tool that converts files of 1.x to 2.x changes neither the version nor
RetinaNet's numbers.
"""

from collections.abc import Iterable

from models import catalogue
from models.convert import formats, sidecar, sources
from models.model import NetworkModel
from robust_tfds import errors

_VERSION = "mmdet_version"
_FIRST = ("0", "1")  # major versions with the numerics of 1.x


def doubt(
  model: NetworkModel,
  located: sources.Located,
  labels: Iterable[str],
  weights: str = "",
) -> str:
  """Return a sentence if the generation of a file is not stated; else ''.

  Args:
    labels: families of preprocessing whose files have such names; none for a
      file with our own names, whose report states the model.
    weights: the generation that the user states; '' if none.

  Raises:
    UserError: its generation is not the model's.
  """
  if not model.family.exclusive:
    return ""
  fitting = [label for label in labels if label in model.family.exclusive]
  of_report = sidecar.model_of_report(located.path)
  if of_report:
    generation = catalogue.network(of_report).spec.weights
    fitting = [generation, *model.family.exclusive]
  else:
    generation = weights or _file_generation(located)
  if len(fitting) < 2 or generation == model.spec.weights:
    return ""
  if generation in model.family.exclusive:
    raise errors.UserError(
      generation_message(
        model, f"{located.name} is of {generation}", generation
      )
    )
  return (
    f"{located.name} has the names and shapes of {' and of '.join(fitting)}'s"
    " checkpoints, whose anchors and boxes differ, and does not say which of"
    f" them it is. {model.name} expects {model.spec.weights}: set"
    f" config.model.spec.weights={model.spec.weights} if the file is that,"
    f" otherwise load it into {_fitting_models(model, fitting)}."
  )


def generation_message(model: NetworkModel, what: str, style: str) -> str:
  """Return the error for a file whose arrays mean other numbers than the model's."""
  return (
    f"{what}, and {model.name} is of {model.spec.weights}: they differ in the"
    " place of the background, the ends of boxes and the anchors, so the same"
    f" arrays are another detector. Load it into"
    f" {_fitting_models(model, [style])}."
  )


def _fitting_models(model: NetworkModel, styles: Iterable[str]) -> str:
  """Return the same networks with other weights, in words."""
  ours, others = (
    model.variant.options,
    [style for style in styles if style != model.spec.weights],
  )
  names = [
    name
    for name, variant in model.family.variants.items()
    if variant.spec.weights in others
    and {**variant.options, "rules": ""} == {**ours, "rules": ""}
  ]
  return " or ".join(names) or f"a model of models.names(weights={others[0]!r})"


def _file_generation(located: sources.Located) -> str:
  """Return the generation of a file's version; '' if it has none."""
  major = formats.training_note(located.path, _VERSION).partition(".")[0]
  if not major:
    return ""
  return "mmdetection1" if major in _FIRST else "mmdetection"

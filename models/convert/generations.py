"""Which generation of its library a checkpoint is of, where its arrays fit several.

RetinaNet's names and shapes in mmdetection 1.x are those in 2.x, and its numbers
mean other anchors and boxes. mmdetection's training writes its version into a file
(`meta`, `mmdet_version`: its tools/train.py at v0.6.0 and v2.0.0); its tool that
brings files of 1.x to 2.x leaves it, and RetinaNet's numbers, as they are.
"""

from collections.abc import Iterable

from robust_tfds import errors
from robust_tfds.models import catalogue
from robust_tfds.models.convert import beside, formats, sources
from robust_tfds.models.model import NetworkModel

_VERSION = "mmdet_version"
_FIRST = ("0", "1")  # major versions with the numerics of 1.x


def doubt(
  model: NetworkModel,
  located: sources.Located,
  labels: Iterable[str],
  weights: str = "",
) -> str:
  """A sentence where nothing says which of several generations a file is of.

  Args:
    labels: families of preprocessing whose files have such names; none of a file
      with our own names, of which the report beside it says the model.
    weights: the generation that the user says it is of; empty: nothing.

  Raises:
    UserError: it is of another generation than the model.
  """
  if not model.family.exclusive:
    return ""
  fitting = [label for label in labels if label in model.family.exclusive]
  of_report = beside.model_of_report(located.path)
  if of_report:
    said = catalogue.network(of_report).spec.weights
    fitting = [said, *model.family.exclusive]
  else:
    said = weights or _said(located)
  if len(fitting) < 2 or said == model.spec.weights:
    return ""
  if said in model.family.exclusive:
    raise errors.UserError(refusal(model, f"{located.name} is of {said}", said))
  return (
    f"{located.name} has the names and shapes of {' and of '.join(fitting)}'s"
    " checkpoints, whose anchors and boxes differ, and says not which of them it"
    f" is. {model.name} is of {model.spec.weights}: say"
    f" config.model.spec.weights={model.spec.weights} where the file is, or load"
    f" it into {_fitting_models(model, fitting)}."
  )


def refusal(model: NetworkModel, what: str, style: str) -> str:
  """The error about a file whose arrays mean other numbers than the model's."""
  return (
    f"{what}, and {model.name} is of {model.spec.weights}: the two place the"
    " background, end boxes and lay anchors differently, so the same arrays are"
    f" another detector. Load it into {_fitting_models(model, [style])}."
  )


def _fitting_models(model: NetworkModel, styles: Iterable[str]) -> str:
  """The same networks of other weights, in words."""
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


def _said(located: sources.Located) -> str:
  """The generation that a file's version is of; empty where it has none."""
  major = formats.noted(located.path, _VERSION).partition(".")[0]
  if not major:
    return ""
  return "mmdetection1" if major in _FIRST else "mmdetection"

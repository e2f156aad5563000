"""The common baseline that normalises the numbers of both sides, or none."""

import dataclasses

from eval.compare.sides import Side
from eval.tasks import base
from eval.tasks.headlines import baselines


@dataclasses.dataclass(frozen=True)
class Baseline:
  """The baseline that normalises both sides.

  Attributes:
    name: name of a file in `eval/papers/baselines/`, `model:<label>`, or empty.
    first: the model that normalises the first side; None for a published
      baseline, which is a constant.
    second: the model that normalises the second side.
    note: a sentence about it; may be empty.
  """

  name: str = ""
  first: Side | None = None
  second: Side | None = None
  note: str = ""

  def task(self, side: Side) -> base.Task:
    """Return the side's task, normalised by this baseline."""
    return side.run.task(side.dataset, self.name)


def choose(first: Side, second: Side) -> Baseline:
  """Return the baseline of both sides.

  It is that of both runs, or of one run if the other names none. A model of
  each run is a baseline only if both are the same model.
  """
  names = [side.task.setting.baseline for side in (first, second)]
  if names[0] and names[1] and names[0] != names[1]:
    return Baseline(
      note=f"Normalised numbers are not compared: the first run is normalised by"
      f" {names[0]}, the second by {names[1]}. Score one again by the other's:"
      " robust-tfds score --baseline."
    )
  name = names[0] or names[1]
  if not name:
    return Baseline()
  label = baselines.model_label(name)
  if not label:
    return Baseline(name, note=_published(first if names[0] else second))
  return _shared_model(name, label, first, second)


def _published(side: Side) -> str:
  return (
    f"Normalised by {side.task.baseline}, which is a constant: its own error is in"
    " no interval."
  )


def _shared_model(name: str, label: str, first: Side, second: Side) -> Baseline:
  own = [
    Side.from_run(side.run, side.dataset, label, names=side.names)
    if label in side.run.labels(side.dataset) and side.task.setting.baseline
    else None
    for side in (first, second)
  ]
  one, other = own
  if one is not None and other is not None:
    if _model(one) != _model(other):
      return Baseline(
        note=f"Normalised numbers are not compared: {label}, which normalises"
        " them, is another model in each run."
      )
    words = f"Normalised by {label}, each side by that of its own run"
    if not any(_model(one)):
      words += f" (whether {label} is the same model was not recorded)"
  else:
    which = "first" if one is not None else "second"
    words = f"Both are normalised by {label} of the {which} run"
    one = other = one or other
  return Baseline(name, one, other, f"{words}, drawn together with the models.")


def _model(side: Side) -> list[str]:
  """Return the identities of a side's model; '' for one that was not recorded."""
  return sorted({cell.of_model for cell in side.cells.values()})

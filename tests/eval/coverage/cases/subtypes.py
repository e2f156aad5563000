"""Seen and unseen subtypes of one type, and their gap."""

from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.cell import Cell
from eval.tasks import base, subtypes
from robust_tfds import datasets
from robust_tfds.conditions import Condition
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent
from tests.eval.coverage.cases import classification

WORDS = (
  "Types of ImageNet-22K with as many seen and unseen subtypes as they have; whole"
  " subtypes are drawn. The gap has Welch's degrees of freedom, and is held against"
  " its terms."
)
_DATASET = "imagenet22k_subtypes"
_FIELDS = {
  "seen": {"metric": "seen_subtype_accuracy/class={kind}"},
  "unseen": {"metric": "unseen_subtype_accuracy/class={kind}"},
  "gap": {"metric": "subtype_gap/class={kind}"},
}


def _case(
  name: str,
  spread: float,
  size: int,
  thresholds: tuple[float, float],
  least: float = 0.93,
) -> case_lib.Case:
  """One type's.

  Args:
    name: of the type.
    spread: of subtypes, see `latent.Design`.
    size: pictures of a subtype; 0: 2 to 20.
    thresholds: of seen and of unseen subtypes.
    least: see `case_lib.Case`.
  """
  of = datasets.class_or_unknown(_DATASET)
  kind = of.class_names().index((name,))
  ids = [
    np.array([n for n, home in of.SUBTYPES.items() if home == (kind, part)])
    for part in ("seen", "unseen")
  ]
  designs = [latent.Design(len(listed), spread, size) for listed in ids]
  setting = base.Setting(_DATASET, data=ml_collections.ConfigDict())
  task = subtypes.Subtypes(setting)
  levels = [np.array([t]) for t in thresholds]

  def truth() -> Mapping[str, float]:
    seen, unseen = (1 - float(d.errors(t)[0]) for d, t in zip(designs, levels))
    return {"seen": seen, "unseen": unseen, "gap": seen - unseen}

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = [], []
    for design, listed, level in zip(designs, ids, levels):
      of_part, numbers = design.draw(rng, level)
      wrong.append(of_part[:, 0])
      groups.append(listed[np.char.lstrip(numbers, "g").astype(int)])
    columns = classification.columns(
      np.concatenate(wrong), np.concatenate(groups)
    )
    columns["top5"][:, 0] = np.where(np.concatenate(wrong), kind + 1, kind)
    columns["label"] = np.full_like(columns["label"], kind)
    rows = task.score([(Cell("m", _DATASET, Condition()), columns)]).rows
    fields = {
      number: {"metric": which["metric"].format(kind=kind)}
      for number, which in _FIELDS.items()
    }
    return case_lib.of_rows(rows, fields)

  seen, unseen = (len(listed) for listed in ids)
  pictures = size or "2-20"
  data = (
    f"{name}: {seen} seen and {unseen} unseen subtypes of {pictures} pictures,"
    f" correlation {spread**2 / designs[0].variance:.2f}"
  )
  return case_lib.Case(data, truth, intervals, least, sets=400)


CASES = (
  _case("beverage", 0.7, 10, (-1.0, -0.4)),
  _case("beverage", 0.7, 0, (-1.0, -0.4)),
  _case("beverage", 1.5, 10, (-1.5, -0.4)),
  _case("beverage", 0.4, 50, (-2.0, -0.8)),
  _case("bear", 0.7, 10, (-1.0, -0.4)),
  _case("amphibian", 0.7, 10, (-1.0, -0.4)),
  _case("dog", 0.7, 10, (-1.0, -0.4)),
)

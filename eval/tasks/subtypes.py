"""Subtype robustness: broad types on subtypes seen in training, and on others.

Hendrycks & Dietterich 2019, Appendix G: the last layer of a frozen network is
fitted to broad types on pictures of seen subtypes (`config.model.last_layer`,
`eval/run/model/last_layer.py`). It is tested on other pictures of these and on
pictures of subtypes that were not in the training data. Cell metrics, whose 95 %
intervals draw whole subtypes (`eval/metrics/rates`):

  seen_subtype_accuracy, unseen_subtype_accuracy
  .../class=3      the same over the subtypes of one type

The headlines are `subtype_gap` and `subtype_gap/class=3`, seen minus unseen. Both
accuracies are drawn together, and the degrees of freedom are Welch's, since a type
may have 4 seen subtypes and 327 others. All pictures have equal weight, as in the
published script.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.metrics import rates, resampling
from eval.tasks import base
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import spread
from eval.tasks.parts import top_k
from robust_tfds import datasets, errors
from robust_tfds.building import subtypes
from robust_tfds.conditions import Condition

_METRICS = {
  subtypes.SEEN: "seen_subtype_accuracy",
  subtypes.UNSEEN: "unseen_subtype_accuracy",
}
_GAP = "subtype_gap"
_NAMED = 3  # maximum number of absent subtypes that a note names


class Subtypes(base.Task):
  """The task of accuracy on seen and unseen subtypes, and the gap between them."""

  facts = facts_lib.TaskFacts.for_task("subtypes")
  set_kind = "subtypes"
  corrupts = False
  no_baseline = (
    "Subtype robustness is not normalised: set config.baseline='', got {got}."
  )

  def __init__(self, setting: base.Setting):
    """Check the setting.

    Raises:
      UserError: `data.limit` is set.
    """
    super().__init__(setting)
    known = datasets.class_or_unknown(setting.dataset)
    self._set: type[subtypes.Builder] = subtypes.Builder
    if issubclass(known, subtypes.Builder):
      self._set = known
    if setting.data.get("limit"):
      raise errors.UserError(
        f"data.limit={setting.data.limit} would leave out the unseen subtypes,"
        " which come last; set it to 0, or choose examples by data.subset."
      )

  def conditions(self) -> list[Condition]:
    """Return the only condition: clean pictures.

    Raises:
      UserError: the data set has no subtypes.
    """
    if not self._set.SUBTYPES:
      raise errors.UserError(
        f"{self.setting.dataset} has no subtypes. Sets that have:"
        " imagenet22k_subtypes and, embedded, digits_subtypes."
      )
    return super().conditions()

  def cell_rows(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> list[table.Row]:
    """Return the accuracies of seen and unseen subtypes, then those of each type."""
    totals = self.totals(columns)
    shares = rates.shares(list(totals.values()))
    note = self._absent(set(columns["group_id"].tolist()))
    rows = [
      spread.rate_row(cell, metric, rate, total.groups.examples)
      for (metric, total), rate in zip(totals.items(), shares)
    ]
    return [row if "/" in row.metric else row.add_note(note) for row in rows]

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """Return metric -> totals, over all types and for each type."""
    right = top_k.hits_by_rank(columns["label"], columns["top5"])[""]
    groups, label = columns["group_id"], columns["label"]
    parts = np.array(
      [self._set.SUBTYPES.get(group, (0, ""))[1] for group in groups.tolist()]
    )
    chosen = {metric: parts == part for part, metric in _METRICS.items()}
    chosen |= {
      f"{metric}/class={kind}": rows & (label == kind)
      for kind in range(len(self._set.class_names()))
      for metric, rows in list(chosen.items())
    }
    return {
      metric: resampling.Totals.from_values(right[rows], groups[rows])
      for metric, rows in chosen.items()
      if rows.any()
    }

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return both accuracies and the gap, then the gap of each type."""
    (condition,) = cells
    suffixes = [
      f"/class={kind}" for kind in range(len(self._set.class_names()))
    ]
    return [
      *(
        headlines_lib.Headline.restating(metric, metric, condition)
        for metric in _METRICS.values()
      ),
      *(
        gap
        for suffix in ("", *suffixes)
        for gap in [_gap(condition, suffix)]
        if all(m in cells[condition] for m in gap.metrics)
      ),
    ]

  def _absent(self, present: set[str]) -> str:
    """Return a text that names the subtypes without a picture; '' if all have one."""
    absent = {
      split: [n for n in self._set.subtypes_of(split) if n not in present]
      for split in _METRICS
    }
    classes = self._set.subtypes_of
    return "; ".join(subtypes.absent_in_words(absent, classes, named=_NAMED))


def _gap(condition: Condition, suffix: str) -> headlines_lib.Headline:
  """Return the gap, seen minus unseen, of metrics with a suffix."""
  seen, unseen = (f"{metric}{suffix}" for metric in _METRICS.values())
  return headlines_lib.Headline(
    f"{_GAP}{suffix}",
    (seen, unseen),
    (condition,),
    lambda ours, _: ours[condition][seen] - ours[condition][unseen],
    disjoint_parts=True,
    difference=True,
  )

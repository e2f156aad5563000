"""The base class of tasks whose numbers are divided by a baseline's."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

from eval.metrics import corruption_error
from eval.tasks import base
from eval.tasks.headlines import baselines, departures, headlines


class NormalisedTask(base.Task):
  """A task that accepts a published baseline, or a model of the run."""

  def check_baseline(self, labels: Sequence[str]) -> None:
    """Raise UserError unless the baseline is empty, published for the set, or
    in the run.
    """
    setting = self.setting
    baselines.check(setting.baseline, labels, setting.dataset, setting.edition)

  @property
  def baseline(self) -> str:
    """The baseline in words, or why there is none."""
    setting = self.setting
    return baselines.describe(
      setting.baseline, setting.dataset, setting.edition, setting.codec
    )

  @property
  def note(self) -> str:
    """The codec, crop and data set in words, if the published numbers have others."""
    setting = self.setting
    crop = setting.data.get("geometry", "")
    departs = departures.note(setting.dataset, setting.codec, crop)
    other_set = baselines.note(setting.baseline, setting.dataset)
    return "; ".join(filter(None, (departs, other_set)))

  def published_reference(self) -> headlines.Reference:
    """Return the printed numbers of a published baseline."""
    baseline = self.setting.baseline
    if not baseline or baselines.model_label(baseline):
      return {}
    return self.published_cells(corruption_error.load_baseline(baseline))

  @abc.abstractmethod
  def published_cells(
    self, published: Mapping[str, Any]
  ) -> headlines.Reference:
    """Return the cells of a published baseline, from the content of its file."""

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return (clean error, normalised mean) by printed name."""
    mean = self.facts.ranked[0]
    from eval import papers

    return papers.marked_networks(self.setting.dataset, "clean_error", mean)

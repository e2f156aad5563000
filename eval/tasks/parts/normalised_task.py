"""Tasks whose numbers are divided by a baseline's."""

from __future__ import annotations

from collections.abc import Sequence

from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import baselines, departures


class NormalisedTask(base.Task):
  """A task that accepts a published baseline, or a model of the run."""

  def check_baseline(self, labels: Sequence[str]) -> None:
    """UserError unless it is published for the set, in this run, or empty."""
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
    """Codec and crop, where the published numbers are of others."""
    setting = self.setting
    crop = setting.data.get("geometry", "")
    return departures.note(setting.dataset, setting.codec, crop)

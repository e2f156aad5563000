"""Natural perturbations of detectors: mAP on anchors and on their worst frames.

The sets are those of the task `frames`, shown whole, and detections are stored
as in `detection`: this is that task with another metric (Shankar et al. 2021,
section 2.2, appendix L; `eval/metrics/pm_k/worst_frames.py`). There is one
condition and nothing is corrupted.

Cell metrics, the first three also as `localization/...`, all classes merged:

  map_orig, map_pmk, drop         mAP at IoU 0.50 on the anchors, on the frame of
                                  each set whose own AP is lowest, the difference
  map_orig/class=4, map_pmk/...   AP of one class on the same frames
  chosen/offset=-3                share of sets whose worst frame is there

mAP is not a mean over sets: its interval is from a jackknife over 100 blocks of
whole videos, the same for anchors, worst frames and all models. Which frame is
the worst only depends on its set, so a set is left out together with its worst
frame. The interval of a share of sets is Clopper-Pearson's if each video has
one set.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval import papers
from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.cells.cell_facts import Scalar
from eval.cells.files.overlay import Overlay
from eval.metrics import rates, resampling
from eval.metrics.detection import checks
from eval.pipeline import inputs
from eval.tasks import base, detection
from eval.tasks.detections import (
  anchor_sets,
  average_precision,
  result_lists,
  worst_frames,
)
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import spread
from eval.tasks.parts import source_videos
from robust_tfds import errors
from robust_tfds.building import frame_boxes

_METRICS = ("map_orig", "map_pmk", "drop")
# In the note of printed rows that are of the sets of 2015 alone.
_OTHER = "other subset"
_SHOWN = 6  # sets, in pictures
_OFFSETS = np.arange(-10, 11)


class FrameDetection(detection.Detection):
  """The task of mAP on anchors and worst frames; the data sets hold the
  perturbations.
  """

  facts = facts_lib.TaskFacts.for_task("frame_detection")
  set_kind = "frames"
  corrupts = False
  own_keys = ()
  no_baseline = "pm-k is not normalised: set config.baseline='', got {got}."

  def __init__(self, setting: base.Setting):
    """Check the setting.

    Raises:
      UserError: crops or unreviewed frames, or see `anchor_sets.check`.
    """
    super().__init__(setting)
    data = setting.data
    anchor_sets.check(data, setting.fly)
    for key, allowed in (("geometry", ""), ("config", "reviewed")):
      if data.get(key) not in (None, "", allowed):
        raise errors.UserError(
          f"data.{key}={data[key]!r}: boxes are those of whole frames that humans"
          f" reviewed. Set it to {allowed!r} for this task."
        )

  def data_facts(self) -> dict[str, Scalar]:
    """Return nothing: AP follows COCO's rules."""
    return {}

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Return the usual columns except the label; the ground truth numbers the
    frames.
    """
    columns = base.Task.example_columns(self, batch)
    del columns["label"]
    return columns

  def truth(self, source: inputs.Source) -> dict[str, Any]:
    """Return the ground truth and the sets, see `frame_boxes.truth`."""
    names = self.label_feature(source.builder.info.features).names
    return frame_boxes.truth(source.metadata(("image",)), names)

  def measure(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> base.Measured:
    """Return rows and replicates; frames are matched once for each kind of mAP."""
    checked = self._needed(truth)
    sets, videos = self._sets(checked)
    draws = resampling.Draws.from_groups(videos)
    scored = self._scored(columns, checked, draws)
    rows = [
      spread.number_row(
        cell, metric, number, self.facts.metric(metric).bounds, n
      )
      for kind_scores in scored
      for metric, (number, n) in kind_scores.numbers().items()
    ]
    rows += _chosen(cell, scored[0], videos)
    numbers = {
      metric: number
      for kind_scores in scored
      for metric, (number, _) in kind_scores.means().items()
    }
    return base.Measured(rows, numbers=numbers, groups=draws.ids)

  def group_ids(
    self, columns: base.Columns, truth: base.Truth = None
  ) -> np.ndarray:
    """Return the video of each frame, `[I]` texts: sets of one video are drawn
    together.
    """
    groups = [i["group_id"] for i in self._needed(truth)["images"]]
    return source_videos.video_ids(
      self.setting.dataset, np.array(groups, np.str_)
    )

  def replicates(
    self,
    columns: base.Columns,
    draws: resampling.Draws,
    truth: base.Truth = None,
  ) -> dict[str, resampling.Replicates]:
    """Return the headlines' numbers, and those without each block of videos."""
    return {
      metric: number
      for of_kind in self._scored(columns, self._needed(truth), draws)
      for metric, (number, _) in of_kind.means().items()
    }

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return both mAPs and their difference, for detection, then for localization."""
    (condition,) = cells
    return [
      headlines_lib.Headline.restating(metric, metric, condition)
      for kind in worst_frames.KINDS
      for metric in (f"{kind}{m}" for m in _METRICS)
      if metric in cells[condition]
    ]

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return both mAPs of detection, then of localization, by printed name (Table 3).

    The name of a network that was measured on other sets than the run says so.
    """
    metrics = [
      f"{kind}{m}" for kind in worst_frames.KINDS for m in _METRICS[:2]
    ]
    out = {}
    for network in papers.printed_networks(self.setting.dataset, every=True):
      listed = [network.numbers.get((metric, "")) for metric in metrics]
      rows = [row for row in listed if row]
      if len(rows) == len(metrics):
        other = (_OTHER in rows[0].note) != bool(self.subset)
        label = network.label + f", {_OTHER}" * other
        out[label] = [row.value for row in rows]
    return out

  def overlay_limit(
    self, columns: base.Columns, truth: Mapping[str, Any]
  ) -> tuple[float, str]:
    """Return the limit as in `detection`, over all frames."""
    numbered = worst_frames.numbered(columns, self._needed(truth))
    return super().overlay_limit(numbered, truth)

  def overlays(
    self,
    example_id: str,
    columns: base.Columns,
    truth: Mapping[str, Any],
    least_score: float,
  ) -> list[Overlay]:
    """Return a frame's hits, misses and false alarms."""
    numbered = worst_frames.numbered(columns, self._needed(truth))
    return super().overlays(example_id, numbered, truth, least_score)

  def overlaid(
    self, columns: base.Columns, truth: Mapping[str, Any]
  ) -> dict[str, list[str]]:
    """Return anchors and worst frames of the sets with the largest drop (Figure 4)."""
    checked = self._needed(truth)
    draws = resampling.Draws.from_groups(self._sets(checked)[1])
    first = self._scored(columns, checked, draws)[0]
    names = {i["id"]: i["file_name"] for i in checked["images"]}
    pairs = first.largest_drops(_SHOWN)
    return {
      "anchor": [names[anchor] for anchor, _ in pairs],
      "worst frame": [names[worst] for _, worst in pairs],
    }

  def _sets(self, truth: checks.Truth) -> tuple[frame_boxes.Sets, np.ndarray]:
    """Return the sets, and the video of each: `[A]` texts."""
    sets = frame_boxes.Sets.from_images(truth["images"])
    names = {i["id"]: i["group_id"] for i in truth["images"]}
    anchors = np.array([names[a] for a in sets.candidates], np.str_)
    return sets, source_videos.video_ids(self.setting.dataset, anchors)

  def _scored(
    self, columns: base.Columns, truth: checks.Truth, draws: resampling.Draws
  ) -> list[worst_frames.Scored]:
    """Return the numbers of detection, then of localization."""
    sets, _ = self._sets(truth)
    if not result_lists.holds_results(columns):
      columns = worst_frames.numbered(columns, truth)
    ids = np.array(sorted(sets.frame), np.int64)
    group = dict(
      zip([i["id"] for i in truth["images"]], self.group_ids(columns, truth))
    )
    pictures = average_precision.Pictures.from_ids(
      ids, np.array([group[i] for i in ids.tolist()], np.str_), draws
    )
    return worst_frames.scored(columns, truth, sets, pictures)


def _chosen(
  cell: cells_lib.Cell, scored: worst_frames.Scored, videos: np.ndarray
) -> list[table.Row]:
  """Return the share of sets whose worst frame is at each offset."""
  at = scored.offsets()[:, None] == _OFFSETS
  shares = rates.shares([resampling.Totals.from_values(at, videos)])
  return [
    spread.rate_row(cell, f"chosen/offset={offset:+d}", share, len(at))
    for offset, share in zip(_OFFSETS.tolist(), shares)
  ]

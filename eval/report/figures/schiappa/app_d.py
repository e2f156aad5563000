"""Appendix D: accuracy by the video that clips were cut from."""

from collections.abc import Iterator

import numpy as np

from eval.compare.sides import Side
from eval.metrics import intervals, rates, resampling
from eval.report.figures import base
from eval.report.figures.parts import own, sheet
from robust_tfds import errors
from robust_tfds.conditions import Condition

_MAX_VIDEOS = 30  # videos of a model in the Markdown: those with the most clips
_ALONE = "one clip, no interval"
_COLUMNS = (
  *("model", "source video", "clips", sheet.Column("clean accuracy")),
  *(sheet.Column("lo"), sheet.Column("hi")),
  *(sheet.Column("perturbed accuracy"), sheet.Column("lost"), "note", "source"),
)


class SourceVideos(base.PaperFigure):
  """A line per model and source video, those with the most clips first."""

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    sides = {
      (s.side.run.name, s.side.dataset, s.side.model): s.side
      for s in request.scored
    }
    lines: list[list[sheet.Cell]] = []
    shown: list[list[sheet.Cell]] = []
    for model in models:
      key = model.entry.run, model.board.dataset, model.entry.model
      listed = list(self._video_lines(model, sides[key]))
      lines += listed
      shown += listed[:_MAX_VIDEOS]
    caption = (
      "Clean accuracy of each source video, with the exact interval of its clips as"
      " draws of that one video: it says nothing of others. Perturbed: the mean of"
      " all perturbed cells."
      + f" The {_MAX_VIDEOS} videos with the most clips of each model; all are in"
      " the CSV." * (len(shown) < len(lines))
    )
    table = sheet.Sheet(_COLUMNS, shown, caption)
    return base.Drawn(None, (), sheet.Sheet(_COLUMNS, lines), table)

  def _video_lines(
    self, model: own.Own, side: Side
  ) -> Iterator[list[sheet.Cell]]:
    """Yield a line per video.

    Raises:
      UserError: it is unknown which clips are of the same video.
    """
    clean, *others = [_totals(side, c) for c in _conditions(side)]
    groups = clean.groups
    if groups.single:
      raise errors.UserError(
        f"{self.name}: {model.label}: no two clips have names of the same video;"
        " expected names like UCF101's v_<Class>_g<video>_c<clip>.avi."
      )
    right = clean.sums / groups.counts
    perturbed = _mean(groups.ids, others)
    lo, hi = intervals.clopper_pearson(clean.sums, groups.counts)
    for i in np.argsort(-groups.counts, kind="stable").tolist():
      n, alone = int(groups.counts[i]), bool(groups.counts[i] == 1)
      yield [
        *(model.label, str(groups.ids[i]), n, float(right[i])),
        *([None, None] if alone else [float(lo[i]), float(hi[i])]),
        float(perturbed[i]),
        float(right[i] - perturbed[i]),
        *(_ALONE * alone, model.source),
      ]


def _conditions(side: Side) -> list[Condition]:
  """Return the conditions of a side's cells, the clean one first."""
  listed = sorted(side.cells, key=lambda condition: not condition.clean)
  if not listed or not listed[0].clean:
    raise errors.UserError(f"{side.run.name}: {side.model} has no clean cell.")
  return listed


def _totals(side: Side, condition: Condition) -> resampling.Totals:
  columns = side.columns(condition)
  hits = columns["top5"][:, 0] == columns["label"]
  return resampling.Totals.from_values(hits, side.task.group_ids(columns))


def _mean(videos: np.ndarray, cells: list[resampling.Totals]) -> np.ndarray:
  """Return each video's mean over the cells that have it, else nan: `[V]`."""
  right = np.full((len(cells), len(videos)), np.nan)
  for cell_right, totals in zip(right, cells):
    at = np.searchsorted(videos, totals.groups.ids)
    cell_right[at] = totals.sums / totals.groups.counts
  there = ~np.isnan(right)
  count = there.sum(axis=0)
  return rates.ratio(np.where(there, right, 0).sum(axis=0), count)

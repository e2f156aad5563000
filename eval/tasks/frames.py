"""Natural perturbations: pm-k on sets of video frames around an anchor.

The data sets hold the perturbations; there is one condition and nothing is
corrupted. A model of another label space (the 1,000 ImageNet classes) is
projected by `eval/tasks/parts/label_space.py` inside the jitted step.

Cell metrics, each with its 95 % interval and n: Clopper-Pearson's if each video
has one trial, else from draws of whole videos (`eval/metrics/rates`):

  acc_orig, acc_pmk, drop         pm-0, pm-10 and their difference
  acc_pmk/k=3                     at every k from 0 to 10
  acc_pmk/without_anchor          exactly Eq. 1
  acc_orig/class=4, acc_pmk/...   anchors that show the class
  error/offset=-3                 share of wrong frames at the offset
  conditional/distance=3          right at exactly 3, given a right anchor
  acc_orig/frame_type=P, acc_pmk/..., .../without_frame_type=P, .../fps=29
  linf_cdf/pairs=0.25, linf_cdf/mistakes=0.25
                                  share of pairs, and of the wrong ones of right
                                  anchors, within an l-infinity distance
  acc_orig/unreviewed, acc_pmk/unreviewed, .../same_anchors
                                  before the review: config `all`
  ece, nll, ..., ece/anchors, nll/anchors, ...
                                  calibration of all frames, and of anchors alone
                                  (`parts/reliability`)

The last three groups of accuracies need a data set that has them; calibration
needs scores: any of a frame's labels is right, NLL and Brier score use its
first label. Over models: `acc_static_worst` (Appendix C; from two models up),
`effective_robustness` (distance above the line of the testbed's standard
models; on all anchors), and rows without a model for the lines: `trend_slope`,
`trend_intercept` (from three models up) and `published_trend_slope`,
`published_trend_intercept` of these standard models, and `paper_trend_...` of
the models in the paper's own table. Definitions: `eval/metrics/pm_k`,
`eval/metrics/natural_*`.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence

import jax
import numpy as np

from eval import papers
from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.cells.cell_facts import Scalar
from eval.metrics import (
  frame_scores,
  natural_labels,
  pm_k,
  resampling,
  trend,
)
from eval.metrics import natural_breakdowns as breakdowns
from eval.papers import testbed_kinds
from eval.pipeline import inputs, predict, programs
from eval.tasks import base
from eval.tasks.detections import anchor_sets
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import spread
from eval.tasks.parts import label_space, reliability, source_videos, top_k
from robust_tfds import errors, strings
from robust_tfds.conditions import Condition

K = frame_scores.K
_LABELS = 8  # no frame of the published sets shows more than three classes
_GALLERY_SETS = 5  # for each model
_ACCURACIES = ("acc_orig", "acc_pmk", "drop")

Columns = base.Columns


class Frames(base.Task):
  """The task of pm-k accuracy; the data sets hold the perturbations."""

  facts = facts_lib.TaskFacts.for_task("frames")
  set_kind = "frames"
  corrupts = False
  own_keys = ("label_space", "merge")
  has_label_maps = True
  no_baseline = "pm-k is not normalised: set config.baseline='', got {got}."

  def __init__(self, setting: base.Setting):
    """Check the setting.

    `data` may have `config` (`reviewed` or `all`), `label_space` (a data set's
    name or a JSON file; default: the data set's own, if it has one) and `merge`.

    Raises:
      UserError: an unknown label space or merge (with a suggestion), or see
        `anchor_sets.check`.
    """
    super().__init__(setting)
    anchor_sets.check(setting.data, setting.fly)
    data = setting.data
    self._space = data.get("label_space") or _default_space(setting.dataset)
    self._merge = data.get("merge") or "max"
    if self._space:
      label_space.get(self._space)
    if self._merge not in label_space.MERGES:
      raise errors.unknown_error("merge", self._merge, label_space.MERGES)

  def data_facts(self) -> dict[str, Scalar]:
    """Return how a model's classes are mapped to the set's."""
    space = label_space.get(self._space).mark if self._space else ""
    return {"label_space": space, "merge": self._merge}

  def model_classes(self, classes: int) -> tuple[int, ...]:
    """Return the class counts of models that can run: the set's and the space's."""
    if not self._space:
      return (classes,)
    space = label_space.get(self._space)
    if len(space.classes) != classes:
      raise errors.UserError(
        f"The label space {self._space!r} has {len(space.classes)} classes,"
        f" {self.setting.dataset} has {classes}."
      )
    return classes, space.source_classes

  def reducer(self, condition: Condition) -> predict.Reduce:
    """Return the reduction to top-5, NLL and Brier score of the projected logits.

    The true class of a frame with several labels is its `label`, the first one.
    """
    return _reducer(self._space, self._merge)

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Return the columns of a batch's examples that no model changes.

    Besides the usual: `labels` int32 `[N, 8]`, -1 pads; `reviewed` bool;
    `frame_type` str, `fps` and `linf` float32: empty, 0 and nan if not known.
    """
    columns, rows = super().example_columns(batch), batch.examples
    columns["labels"] = natural_labels.padded(
      columns["example_id"].tolist(), [r["labels"] for r in rows], _LABELS
    )
    columns["reviewed"] = np.array(
      [bool(r.get("reviewed", True)) for r in rows], bool
    )
    kinds = [strings.text(r.get("frame_type", "")) for r in rows]
    columns["frame_type"] = np.array(kinds, np.str_)
    for name, default in (("fps", 0), ("linf", np.nan)):
      values = [r.get(name, default) for r in rows]
      columns[name] = np.array(values, np.float32)
    return columns

  def cell_rows(
    self, cell: cells_lib.Cell, columns: Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return all metrics of one model, see the module."""
    scored = frame_scores.Frames.from_columns(columns, self.group_ids(columns))
    accuracies = [
      spread.rate_row(cell, metric, rate, n)
      for metric, (rate, n) in scored.metrics()
    ]
    return [*accuracies, *self._answer_rows(cell, columns)]

  def _answer_rows(
    self, cell: cells_lib.Cell, columns: Columns
  ) -> list[table.Row]:
    """Return metrics of the answers to all accepted frames, and to their anchors."""
    answers = reliability.answers(columns)
    if answers is None:
      return reliability.rows_from_answers(cell, None, self.facts.task)
    videos = source_videos.video_ids(self.setting.dataset, answers.groups)
    answers = dataclasses.replace(answers, groups=videos)
    anchors, task = answers.only(answers.frame == 0), self.facts.task
    return [
      *reliability.rows_from_answers(cell, answers, task),
      *reliability.rows_from_answers(cell, anchors, task, "/anchors"),
    ]

  def group_ids(self, columns: Columns, truth: base.Truth = None) -> np.ndarray:
    """Return the video of each frame: sets of one video are drawn together."""
    return source_videos.video_ids(self.setting.dataset, columns["group_id"])

  def totals(self, columns: Columns) -> dict[str, resampling.Totals]:
    """Return pm-0, pm-10 and their difference on frames that the review accepted."""
    scored = self._accepted(columns)
    return {
      metric: resampling.Totals.from_values(hits, scored.sets.video)
      for metric, hits in scored.hits().items()
    }

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return pm-0, pm-10, their difference, and the distance above the
    published line.
    """
    (condition,) = cells
    out = [
      headlines_lib.Headline.restating(metric, metric, condition)
      for metric in _ACCURACIES
    ]
    standard = _standard(self.setting.dataset)
    if not standard:
      return out
    line = trend.fit(*zip(*standard.values()))
    above = headlines_lib.Headline(
      "effective_robustness",
      ("acc_orig", "acc_pmk"),
      (condition,),
      lambda ours, _: line.above(
        ours[condition]["acc_orig"], ours[condition]["acc_pmk"]
      ),
    )
    return [*out, above]

  def _accepted(self, columns: Columns) -> frame_scores.Frames:
    videos = self.group_ids(columns)
    return frame_scores.Frames.from_columns(columns, videos).accepted()

  def inputs(self, columns: Columns) -> dict[str, np.ndarray]:
    """Return which frames are right, for the static worst frames."""
    scored = self._accepted(columns)
    names = ("example_id", "group_id", "frame")
    ids = {k: scored.predicted[k] for k in names}
    return {**ids, "correct": scored.correct, "video": scored.videos}

  def summary_rows(
    self, models: Sequence[headlines_lib.ModelCells]
  ) -> list[table.Row]:
    """Return headline numbers of every model, static worst frames and lines."""
    rows = [row for model in models for row in model.every_row]
    out = [
      dataclasses.replace(r, config="", severity=None)
      for r in rows
      if r.metric in _ACCURACIES
    ]
    summary = cells_lib.Summary.from_rows(rows)
    out += _static(summary, models)
    out += self._published_lines(summary, models)
    points = [
      [model.row_of(Condition(), m).value for m in ("acc_orig", "acc_pmk")]
      for model in models
    ]
    if len(points) > 2 and len({x for x, _ in points}) > 1:
      out += _line_rows(summary, "trend", trend.fit(*zip(*points)))
    return out

  def _published_lines(
    self, summary: cells_lib.Summary, models: Sequence[headlines_lib.ModelCells]
  ) -> list[table.Row]:
    """Return the published lines and each model's distance above the standard line."""
    standard = _standard(summary.dataset)
    if not standard:
      return []
    line = trend.fit(*zip(*standard.values()))
    printed = papers.networks(summary.dataset, "acc_orig", "acc_pmk")
    paper = trend.fit(*zip(*printed.values()))
    out = _line_rows(summary, "published_trend", line)
    out += _line_rows(summary, "paper_trend", paper)
    whole = papers.anchors(summary.dataset)
    for model in models:
      if model.row_of(Condition(), "acc_orig").n != whole:
        continue  # other sets: the authors' line says nothing about them
      *_, above = self.headlines(model.numbers, {})
      label = model.every_row[0].model
      out.append(model.row(above, dataclasses.replace(summary, model=label)))
    return out

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return (pm-0, pm-10) of the authors' testbed by name, for figures.

    The models of the paper's own table follow, with their printed intervals:
    (pm-0, pm-10, lo and hi of pm-0, lo and hi of pm-10).
    """
    dataset = self.setting.dataset
    testbed = papers.testbed(dataset)
    if not testbed:
      return {}
    metrics = "acc_orig", "acc_pmk"
    ends = papers.intervals(dataset, *metrics).values()
    printed = {
      f"{name}, printed": (*values, *of_name)
      for (name, values), of_name in zip(
        papers.marked_networks(dataset, *metrics).items(), ends, strict=True
      )
    }
    return {**testbed, **printed}

  def gallery(
    self,
    find: Callable[[Collection[str]], Mapping[str, np.ndarray]],
    columns: Mapping[str, Columns],
    class_names: Sequence[str],
  ) -> dict[str, list[tuple[np.ndarray, str]]]:
    """Return sets that each model fails (Figure 1): the anchor, then its nearest error.

    Args:
      find: example ids -> id -> frame.
      columns: model -> columns.
      class_names: names in label order; if empty, ids are shown.

    Returns:
      model -> (picture, caption) of anchor, failing frame, anchor, ... of the
      five sets whose wrong answer has the highest score.
    """
    rows_of = {label: _failures(c) for label, c in columns.items()}
    ids = {
      str(columns[label]["example_id"][row])
      for label, rows in rows_of.items()
      for row in rows
    }
    pixels = find(ids)
    out: dict[str, list[tuple[np.ndarray, str]]] = {}
    for label, rows in rows_of.items():
      for row in rows:
        name = str(columns[label]["example_id"][row])
        if name in pixels:
          caption = _caption(columns[label], row, class_names)
          out.setdefault(label, []).append((pixels[name], caption))
    return out


def _default_space(dataset: str) -> str:
  return dataset if dataset in label_space.names() else ""


@programs.cached
def _reducer(space_name: str, merge: str) -> predict.Reduce:
  if not space_name:
    return top_k.reduce
  space = label_space.get(space_name)

  def reduce(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
    return top_k.reduce(space.project(logits, merge), labels)

  return reduce


def _static(
  summary: cells_lib.Summary, models: Sequence[headlines_lib.ModelCells]
) -> list[table.Row]:
  """Return each model's accuracy on the frames that most of the run's models miss."""
  if len(models) < 2:
    return []
  inputs = [model.inputs[Condition()] for model in models]
  first = inputs[0]
  ids = first["example_id"].tolist()
  correct = [
    natural_labels.aligned(ids, c["example_id"].tolist(), c["correct"])
    for c in inputs
  ]
  sets = pm_k.group(first["group_id"], first["frame"], first["video"])
  worst = breakdowns.static_worst(np.stack(correct), sets)["accuracy"]
  out = []
  for model, (value, *ends) in zip(models, worst):
    model_summary = dataclasses.replace(summary, model=model.every_row[0].model)
    row = model_summary.row(
      "", "acc_static_worst", value, tuple(ends), len(sets)
    )
    out.append(spread.without_point(row))
  return out


def _standard(dataset: str) -> dict[str, tuple[float, float]]:
  """Return the models that Taori et al. 2020 fit their line to, as ours."""
  return papers.testbed(dataset, testbed_kinds.STANDARD)


def _line_rows(
  summary: cells_lib.Summary, name: str, line: trend.Trend
) -> list[table.Row]:
  """Return slope and intercept, which belong to no model."""
  summary_without_model = dataclasses.replace(summary, model="")
  return [
    summary_without_model.row(
      "", f"{name}_slope", line.slope, line.slope_interval, line.n
    ),
    summary_without_model.row(
      "", f"{name}_intercept", line.intercept, line.intercept_interval, line.n
    ),
  ]


def _failures(columns: Columns) -> list[int]:
  """Return the rows of right anchors and of their nearest wrong frames."""
  correct, reviewed = frame_scores.right(columns), columns["reviewed"]
  sets = pm_k.group(columns["group_id"], columns["frame"])
  failure = pm_k.first_failure(correct | ~reviewed, sets)
  failing = (failure > 0) & (failure <= K) & reviewed[sets.anchor]
  distance = np.abs(sets.frame)
  rows = np.flatnonzero(
    ~correct
    & reviewed
    & failing[sets.set_index]
    & (distance == failure[sets.set_index])
  )
  # One frame a set: of two at one distance the more certain mistake.
  if "score" in columns:
    rows = rows[np.argsort(-columns["score"][rows, 0], kind="stable")]
  _, first = np.unique(sets.set_index[rows], return_index=True)
  best = rows[np.sort(first)][:_GALLERY_SETS]
  return [
    int(r) for row in best for r in (sets.anchor[sets.set_index[row]], row)
  ]


def _caption(columns: Columns, row: int, names: Sequence[str]) -> str:
  top = int(columns["top5"][row, 0])
  name = names[top] if top < len(names) else str(top)
  offset = int(columns["frame"][row])
  where = f"{offset:+d}" if offset else "anchor"
  scores = columns["score"][row, :1] if "score" in columns else ()
  words = "".join(f" ({100 * score:.0f} %)" for score in scores)
  return f"{where}: {name.replace('_', ' ')}{words}"

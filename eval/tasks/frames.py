"""Natural perturbations: pm-k on sets of video frames around an anchor.

The data sets hold the perturbations; there is one condition and nothing is
corrupted. A model of another label space (the 1,000 ImageNet classes) is
projected by `eval/tasks/label_space.py` inside the jitted step.

Cell metrics, each with its 95 % Clopper-Pearson interval and n:

  acc_orig, acc_pmk, drop         pm-0, pm-10 and their difference
  acc_pmk/k=3                     at every k from 0 to 10
  acc_pmk/without_anchor          by the letter of Eq. 1
  acc_orig/class=4, acc_pmk/...   anchors that show the class
  error/offset=-3                 share of wrong frames at the offset
  conditional/distance=3          right at exactly 3, given a right anchor
  acc_orig/frame_type=P, acc_pmk/..., .../without_frame_type=P, .../fps=29
  linf_cdf/pairs=0.25, linf_cdf/mistakes=0.25
                                  share of pairs, and of the wrong ones of right
                                  anchors, within an l-infinity distance
  acc_orig/unreviewed, acc_pmk/unreviewed, .../same_anchors
                                  before the review: config `all`

The last three groups only where the data set knows. Over models:
`acc_static_worst` (Appendix C; from two models up), `effective_robustness`
(distance above the line of the authors' testbed; on all of its anchors), and
rows without a model for the lines: `trend_slope`, `trend_intercept` (from three
models up) and
`published_trend_slope`, `published_trend_intercept` of the authors' testbed, and
`paper_trend_...` of the models in the paper's own table. Definitions:
`eval/metrics/pm_k`, `eval/metrics/natural_*`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval import papers as published
from eval.metrics import frame_scores
from eval.metrics import natural_breakdowns as breakdowns
from eval.metrics import natural_labels
from eval.metrics import natural_trend
from eval.metrics import pm_k
from eval.pipeline import predict
from eval.results import provenance
from eval.results import table
from eval.tasks import Cell
from eval.tasks import Condition
from eval.tasks import classification
from eval.tasks import label_space
from robust_tfds import errors

COMMON = ()
FLY = ("clean", "raw")
K = frame_scores.K
_LABELS = 8  # no frame of the published sets shows more than three classes
_SHOWN = 5  # sets of the gallery, for each model

Columns = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Frames(Condition):
  """The only condition.

  Attributes:
    label_space: of models of other classes; empty where there is none.
    merge: how a class's members are merged.
  """

  label_space: str = ""
  merge: str = "max"


def conditions(data: Any) -> list[Condition]:
  """One: the frames as they are.

  Args:
    data: may have `config` (`reviewed` or `all`), `label_space` (a data set's
      name or a JSON file; default: the data set's own, if it has one) and
      `merge`.

  Raises:
    ValueError: an unknown label space or merge (with a suggestion), or a limit.
  """
  if data.get("limit"):
    raise ValueError(
      f"data.limit={data.limit} would cut anchor sets apart; set it to 0 for"
      " this task."
    )
  if data.source != "fly":
    raise ValueError(
      f"data.source={data.source!r}: frames are read as prepared and never"
      " corrupted; leave it at 'fly' and choose frames by data.config."
    )
  name = data.get("label_space") or _own_space(data.name)
  merge = data.get("merge") or "max"
  if name:
    label_space.get(name)
  if merge not in label_space.MERGES:
    raise errors.unknown("merge", merge, label_space.MERGES)
  return [Frames(label_space=name, merge=merge)]


def _own_space(dataset: str) -> str:
  return dataset if dataset in label_space.names() else ""


def model_classes(data: Any, classes: int) -> tuple[int, ...]:
  """Class counts of the models that can run: the set's own, the space's."""
  (condition,) = conditions(data)
  assert isinstance(condition, Frames)
  if not condition.label_space:
    return (classes,)
  space = label_space.get(condition.label_space)
  if len(space.classes) != classes:
    raise ValueError(
      f"The label space {condition.label_space!r} has {len(space.classes)}"
      f" classes, {data.name} has {classes}."
    )
  return classes, space.source_classes


def groups(names: Sequence[str]) -> dict[str, str]:
  """None: there are no corruptions."""
  del names
  return {}


def frames(condition: Condition, edition: str) -> int:
  """One image an example."""
  del condition, edition
  return 1


def transform(where: Mesh, edition: str, codec: str) -> predict.Transform:
  """The frames as they are."""
  del where, edition, codec
  return lambda images, sizes, condition, keys: images


def reducer(condition: Condition) -> predict.Reduce:
  """Top-5 of the projected logits."""
  assert isinstance(condition, Frames)
  return _reducer(condition.label_space, condition.merge)


@functools.cache
def _reducer(name: str, merge: str) -> predict.Reduce:
  if not name:
    return classification.reduce
  space = label_space.get(name)
  return lambda logits: classification.reduce(space.project(logits, merge))


def columns(
  batch: Any, outputs: Mapping[str, np.ndarray], condition: Condition
) -> dict[str, np.ndarray]:
  """The batch's valid rows as predictions' columns.

  Besides the usual ones: `labels` int32 `[N, 8]`, -1 pads; `reviewed` bool;
  `frame_type` str, `fps` and `linf` float32: empty, 0 and nan if not known.
  """
  out = classification.columns(batch, outputs, condition)
  rows = batch.examples
  out["labels"] = np.full((len(rows), _LABELS), -1, np.int32)
  for i, row in enumerate(rows):
    known = np.asarray(row["labels"])
    if not 0 < len(known) <= _LABELS:
      raise ValueError(
        f"{out['example_id'][i]} has {len(known)} labels; 1 to {_LABELS} can be"
        " kept."
      )
    out["labels"][i, : len(known)] = known
  out["reviewed"] = np.array([bool(r.get("reviewed", True)) for r in rows])
  kinds = [_text(r.get("frame_type", "")) for r in rows]
  out["frame_type"] = np.array(kinds, np.str_)
  for name, default in (("fps", 0), ("linf", np.nan)):
    out[name] = np.array([r.get(name, default) for r in rows], np.float32)
  return out


def _text(value: Any) -> str:
  return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def cell_rows(cell: Cell, predicted: Columns) -> list[table.Row]:
  """All metrics of one model: see the header."""
  scored = frame_scores.Scored.of(predicted)
  return [_row(cell, name, *found) for name, found in scored.all_of_them()]


def _row(
  cell: Cell, metric: str, value: tuple[float, float, float], n: int
) -> table.Row:
  number, lo, hi = value
  return table.Row(**vars(cell), metric=metric, value=number, lo=lo, hi=hi, n=n)


def keep(predicted: Columns) -> dict[str, np.ndarray]:
  """What the static worst frames need: who is right where."""
  scored = frame_scores.Scored.of(predicted).reviewed()
  kept = {k: scored.predicted[k] for k in ("example_id", "group_id", "frame")}
  return {**kept, "correct": scored.correct}


def check_baseline(baseline: str, labels: Sequence[str]) -> None:
  """ValueError unless empty: pm-k is not normalised."""
  del labels
  if baseline:
    raise ValueError(
      f"pm-k is not normalised: set config.baseline='', got {baseline!r}."
    )


def summary_rows(
  rows: Sequence[table.Row],
  baseline: str,
  order: Sequence[str],
  kept: Mapping[tuple[str, Condition], Columns],
) -> list[table.Row]:
  """Headline numbers of every model, static worst frames, lines."""
  del baseline, order
  out = [
    dataclasses.replace(r, config="", severity=None)
    for r in rows
    if r.metric in ("acc_orig", "acc_pmk", "drop")
  ]
  perturbed = {r.model: r.value for r in rows if r.metric == "acc_pmk"}
  points = {
    r.model: (r.value, perturbed[r.model])
    for r in rows
    if r.metric == "acc_orig"
  }
  first = rows[0]
  mark = provenance.fingerprint(
    {"cells": sorted({r.fingerprint for r in rows})}
  )
  over = dataclasses.replace(
    first,
    config="",
    severity=None,
    lo=None,
    hi=None,
    n=None,
    fingerprint=mark,
  )
  out += _static(over, kept)
  anchors = {r.model: r.n for r in rows if r.metric == "acc_orig"}
  out += _beside_published(over, points, anchors)
  if len(points) > 2 and len({x for x, _ in points.values()}) > 1:
    out += _line(over, "trend", natural_trend.fit(*zip(*points.values())))
  return out


def _beside_published(
  over: table.Row,
  points: Mapping[str, tuple[float, float]],
  anchors: Mapping[str, int | None],
) -> list[table.Row]:
  """The authors' lines, and how far above the testbed's each model lies."""
  bed = published.testbed(over.dataset)
  if not bed:
    return []
  line = natural_trend.fit(*zip(*bed.values()))
  printed = published.networks(over.dataset, "acc_orig", "acc_pmk")
  paper = natural_trend.fit(*zip(*printed.values()))
  out = _line(over, "published_trend", line)
  out += _line(over, "paper_trend", paper)
  whole = published.load_of(over.dataset)["anchors"]
  for model, (x, y) in points.items():
    if anchors[model] != whole:
      continue  # other sets: the authors' line says nothing about them
    above = natural_trend.effective_robustness([x], [y], line)[0]
    out.append(
      dataclasses.replace(
        over, model=model, metric="effective_robustness", value=float(above)
      )
    )
  return out


def _static(over: table.Row, kept: Mapping) -> list[table.Row]:
  """Accuracy of each model on the frames that most of the run's models miss."""
  if len(kept) < 2:
    return []
  first = next(iter(kept.values()))
  ids = first["example_id"].tolist()
  correct = [
    natural_labels.aligned(ids, c["example_id"].tolist(), c["correct"])
    for c in kept.values()
  ]
  sets = pm_k.group(first["group_id"], first["frame"])
  found = breakdowns.static_worst(np.stack(correct), sets)["accuracy"]
  return [
    dataclasses.replace(
      over,
      model=model,
      metric="acc_static_worst",
      value=value,
      lo=lo,
      hi=hi,
      n=len(sets),
    )
    for (model, _), (value, lo, hi) in zip(kept, found)
  ]


def _line(
  over: table.Row, name: str, line: natural_trend.Trend
) -> list[table.Row]:
  return [
    dataclasses.replace(
      over,
      model="",
      metric=f"{name}_{part}",
      value=getattr(line, part),
      lo=getattr(line, f"{part}_interval")[0],
      hi=getattr(line, f"{part}_interval")[1],
      n=line.n,
    )
    for part in ("slope", "intercept")
  ]


def published_networks(dataset: str) -> dict[str, tuple[float, ...]]:
  """Name -> (pm-0, pm-10) of the authors' testbed, for figures.

  The models of the paper's own table follow, with their printed intervals:
  (pm-0, pm-10, lo and hi of pm-0, lo and hi of pm-10).
  """
  if not published.testbed(dataset):
    return {}
  metrics = "acc_orig", "acc_pmk"
  ends = published.intervals(dataset, *metrics)
  printed = {
    f"{name}, printed": (*values, *ends[name])
    for name, values in published.networks(dataset, *metrics).items()
  }
  return {**published.testbed(dataset), **printed}


def samples(
  image: np.ndarray,
  key: Callable[[Condition], jax.Array],
  wanted: Sequence[Condition],
  edition: str,
) -> dict[tuple[str, int], np.ndarray]:
  """The first frame as it is."""
  del key, wanted, edition
  return {("", 0): image}


def gallery(
  batches: Iterable[Any],
  predicted: Mapping[str, Columns],
  class_names: Sequence[str],
) -> dict[str, list[tuple[np.ndarray, str]]]:
  """Sets that each model fails (Figure 1): the anchor, then its nearest error.

  Args:
    batches: of the frames.
    predicted: model -> columns.
    class_names: in label order; ids are shown where empty.

  Returns:
    model -> (picture, caption) of anchor, failing frame, anchor, ... of the five
    sets whose wrong answer has the highest score.
  """
  chosen = {label: _failures(c) for label, c in predicted.items()}
  wanted = {
    str(predicted[label]["example_id"][row])
    for label, rows in chosen.items()
    for row in rows
  }
  pixels = {}
  for batch in batches:
    for name, image in zip(batch.example_id, batch.image):
      if name in wanted:
        pixels[name] = np.array(image)
  return {
    label: [
      (
        pixels[str(predicted[label]["example_id"][row])],
        _caption(predicted[label], row, class_names),
      )
      for row in rows
      if str(predicted[label]["example_id"][row]) in pixels
    ]
    for label, rows in chosen.items()
    if rows
  }


def _failures(predicted: Columns) -> list[int]:
  """Rows of anchors that are right and of their nearest wrong frames."""
  correct, kept = frame_scores.right(predicted), predicted["reviewed"]
  sets = pm_k.group(predicted["group_id"], predicted["frame"])
  failure = pm_k.first_failure(correct | ~kept, sets)
  failing = (failure > 0) & (failure <= K) & kept[sets.anchor]
  distance = np.abs(sets.frame)
  rows = np.flatnonzero(
    ~correct & kept & failing[sets.of] & (distance == failure[sets.of])
  )
  # One frame a set: of two at one distance the more certain mistake.
  rows = rows[np.argsort(-predicted["score"][rows, 0], kind="stable")]
  _, first = np.unique(sets.of[rows], return_index=True)
  best = rows[np.sort(first)][:_SHOWN]
  return [int(r) for row in best for r in (sets.anchor[sets.of[row]], row)]


def _caption(predicted: Columns, row: int, names: Sequence[str]) -> str:
  top = int(predicted["top5"][row, 0])
  shown = names[top] if top < len(names) else str(top)
  score = float(predicted["score"][row, 0])
  offset = int(predicted["frame"][row])
  where = f"{offset:+d}" if offset else "anchor"
  return f"{where}: {shown.replace('_', ' ')} ({100 * score:.0f} %)"

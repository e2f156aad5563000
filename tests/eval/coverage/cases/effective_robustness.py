"""Effective robustness of a board's models, above lines of three references."""

import dataclasses
from collections.abc import Mapping

import ml_collections
import numpy as np
from scipy import special

from eval.cells.cell import Cell
from eval.cells.number import Key, Number
from eval.compare.boards import board as board_lib
from eval.compare.boards import effective
from eval.metrics.replicates import Replicates
from eval.tasks import base, frames
from robust_tfds.conditions import Condition
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent
from tests.eval.coverage.cases import classification as pictures
from tests.eval.coverage.cases import frames as anchors
from tests.eval.report.figures import boards

WORDS = (
  "On logit axes, as boards print it: above a line that is held fixed (the standard"
  " models of the testbed, the printed networks), and above one of the run's own four"
  " models, which is fitted in every draw. Their clean accuracies are 3 to 4 points"
  " apart, one and the next, and chance moves one of 200 examples by 3: their line is"
  " hardly known then. The interval of such a line holds the percentiles of its draws."
)
# Of the models: what is added to the thresholds of clean and of corrupted pictures.
_MODELS = ((0.0, -0.1), (0.15, 0.3), (0.3, 0.35), (-0.2, -0.1))


def _intervals(
  task: str,
  dataset: str,
  reference: str,
  headlines: Mapping[str, Mapping[Key, Replicates]],
) -> case_lib.Interval:
  """The first model's on a board of all."""
  entries = [
    board_lib.Entry(
      key=model,
      label=model,
      model=model,
      run="run",
      numbers={key: Number(float(r.value)) for key, r in of.items()},
    )
    for model, of in headlines.items()
  ]
  board = dataclasses.replace(boards.board(task), entries=entries)
  board = boards.beside(board, dataset)
  line = effective.reference(board, reference)
  number = effective.numbers(board, line, headlines)[entries[0].key]
  assert number.value is not None
  return case_lib.Interval(number.value, number.lo, number.hi)


def _above(x: float, y: float, points: np.ndarray) -> float:
  """y above the least-squares line of logits of points `[N, 2]`."""
  line = np.polyfit(*special.logit(points).T, 1)
  return float(y - special.expit(np.polyval(line, special.logit(x))))


def _thresholds(clean: float, corrupted: float) -> np.ndarray:
  added = np.full(76, corrupted)
  added[0] = clean
  return pictures.thresholds() + added


def _of_pictures(design: latent.Design) -> case_lib.Case:
  axes = effective.AXES["classification"].metrics
  task = pictures.task("imagenet_c", {m: {"metric": m} for m in axes})
  conditions = task.conditions()
  every = [_thresholds(*added) for added in _MODELS]

  def truth() -> Mapping[str, float]:
    right = [1 - design.errors(of) for of in every]
    points = np.array([[of[0], of[1:].mean()] for of in right])
    printed = effective.printed_points("classification", "imagenet_c")
    return {
      "line of the runs": _above(*points[0], points),
      "line of printed networks": _above(
        *points[0], np.array(list(printed.values()))
      ),
    }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = design.draw(rng, np.concatenate(every))
    cells = [
      Cell(f"m{i}", "imagenet_c", c)
      for i in range(len(every))
      for c in conditions
    ]
    headlines = task.score(
      (cell, pictures.columns(of, groups)) for cell, of in zip(cells, wrong.T)
    ).headlines
    return {
      words: _intervals("classification", "imagenet_c", name, headlines)
      for words, name in (
        ("line of the runs", effective.RUNS),
        ("line of printed networks", effective.PRINTED),
      )
    }

  words = f"pictures: {design.words}"
  return case_lib.Case(words, truth, intervals)


def _of_frames(videos: anchors.Videos) -> case_lib.Case:
  task = frames.Frames(
    base.Setting("ytbb_robust", data=ml_collections.ConfigDict())
  )
  number = "line of the testbed"

  def truth() -> Mapping[str, float]:
    known = anchors.truth()
    points = effective.fitted(
      "frames", "ytbb_robust", effective.STANDARD
    ).points
    listed = np.array(list(points.values()))
    return {number: _above(known["pm-0"], known["pm-10"], listed)}

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    cell = Cell("m", "ytbb_robust", Condition())
    headlines = task.score([(cell, videos.draw(rng))]).headlines
    of = _intervals("frames", "ytbb_robust", effective.STANDARD, headlines)
    return {number: of}

  words = f"anchor sets: {videos.words}"
  return case_lib.Case(words, truth, intervals)


CASES = (
  _of_pictures(latent.Design(200)),
  _of_pictures(latent.Design(50, 0.7)),
  _of_frames(anchors.Videos(100, 2)),
)

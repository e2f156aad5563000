"""The accuracy of a network under every pair of corruptions, measured.

The first pictures of the set, in their calibration crop, pass through the first
corruption, then the second, then JPEG. Every finished pair is kept, so that a
measurement that was stopped goes on.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from eval.run.ccc import matrix as matrix_lib
from eval.run.ccc import models as models_lib
from eval.run.ccc import stream
from eval.run.keywords import DEFAULTS
from models import weights_file
from robust_tfds import errors, reading
from robust_tfds.building import geometry
from robust_tfds.building import pictures as building
from robust_tfds.storage import disk, paths

_SEED = 0
_NO_CLASS = -1
_CALIBRATION = "calibration"  # part of every key
# Quarters between measured severities; between, a line.
_STEPS_APART = 1, 2, 4, 5, 10


@dataclasses.dataclass(frozen=True)
class Pictures:
  """The pictures that are measured.

  Attributes:
    images: uint8 `[N, S, S, 3]`.
    labels: int `[N]`.
    ids: of each.
  """

  images: np.ndarray
  labels: np.ndarray
  ids: Sequence[str]

  def part(self, start: int, count: int) -> Pictures:
    """Return `count` pictures from `start`; beyond the last, one without a class."""
    rows = np.arange(start, start + count)
    inside = np.minimum(rows, len(self.labels) - 1)
    labels = np.where(rows == inside, self.labels[inside], _NO_CLASS)
    return Pictures(self.images[inside], labels, [self.ids[i] for i in inside])


def run(
  predict: Any,
  dataset: str,
  *,
  difficulty: str,
  count: int,
  apart: float,
  out: str | os.PathLike,
  **keywords: Any,
) -> matrix_lib.Matrix:
  """Measure a network for a set's streams; go on with an unfinished file.

  Args:
    predict: as `evaluate` takes it, one model.
    dataset: a name of `models.SETS`.
    difficulty: whose corruptions are measured.
    count: pictures of a cell.
    apart: see `measure`.
    out: the file.
    **keywords: of `evaluate`: `checkpoint`, `manual_dir`, ...

  Raises:
    UserError: a model or file that cannot be used, or pictures that are missing.
  """
  if difficulty not in matrix_lib.DIFFICULTIES:
    raise errors.unknown_error(
      "difficulty", difficulty, matrix_lib.DIFFICULTIES
    )
  names = matrix_lib.DIFFICULTIES[difficulty][1]
  of, values = models_lib.SETS[dataset], {**DEFAULTS, **keywords}
  models_lib.check_frost(names, values)
  listed = of.sources(os.fspath(values["manual_dir"] or ""))
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as folder:
    ((label, (model, variables)),) = models_lib.loaded(
      predict, of, values, folder
    ).items()
  facts = (
    f"{label} ({weights_file.sha256(variables)[:12]}), {dataset}, {count}"
    f" pictures, severities {apart / 4:g} apart, {', '.join(names)}"
  )
  return measure(
    models_lib.Network(model, variables),
    pictures(listed, of.side_px, count),
    names,
    apart=apart,
    out=out,
    facts=facts,
  )


def pictures(
  sources: Sequence[building.Source], side_px: int, count: int
) -> Pictures:
  """Return so many pictures, evenly spread over the set, in its own crop."""
  if not 1 <= count <= len(sources):
    raise errors.UserError(
      f"--pictures={count}: expected 1 to {len(sources)}, the set's pictures."
    )
  chosen = [sources[i * len(sources) // count] for i in range(count)]
  rule = f"short{side_px * 8 // 7}_crop{side_px}"
  images = [_squared(s.picture.read(), side_px, rule) for s in chosen]
  labels = np.array([s.label for s in chosen])
  return Pictures(np.stack(images), labels, [s.example_id for s in chosen])


def measure(
  network: models_lib.Network,
  of: Pictures,
  names: Sequence[str],
  *,
  apart: float,
  out: str | os.PathLike,
  facts: str,
) -> matrix_lib.Matrix:
  """Measure all pairs that a file lacks, and write them one by one.

  Args:
    network: the source network.
    of: the pictures.
    names: the corruptions.
    apart: quarters of a severity from one measured severity to the next.
    out: the file.
    facts: what the numbers depend on, which an unfinished file must agree with.

  Raises:
    UserError: a file of other facts.
  """
  if apart not in _STEPS_APART:
    raise errors.UserError(
      f"--step={apart / 4:g}: expected {', '.join(f'{s / 4:g}' for s in _STEPS_APART)}."
    )
  matrix = _begun(out, names, facts)
  for first, second in matrix_lib.pairs(names):
    place = names.index(first), names.index(second)
    if np.isnan(matrix.accuracy[place]).any():
      matrix.accuracy[place] = _pair(network, of, first, second, int(apart))
      _write(out, matrix, facts)
      print(
        f"{first}, then {second}: {_words(matrix.accuracy[place])}", flush=True
      )
  return matrix


def _words(accuracy: np.ndarray) -> str:
  return f"{100 * accuracy[0, 0]:.0f} % clean, {100 * accuracy[-1, -1]:.0f} % at 5 + 5"


def _pair(
  network: models_lib.Network,
  of: Pictures,
  first: str,
  second: str,
  apart: int,
) -> np.ndarray:
  """Return the accuracies of a pair, `[21, 21]`; between measured ones a line."""
  at = list(range(0, matrix_lib.STEPS, apart))
  right = np.zeros((len(at), len(at)))
  for start in range(0, len(of.labels), stream.AT_ONCE):
    part = of.part(start, min(stream.AT_ONCE, len(of.labels)))
    right += _right(network, part, first, second, at)
  measured = right / len(of.labels)
  every = np.arange(matrix_lib.STEPS)
  across = [np.interp(every, at, row) for row in measured]
  down = [np.interp(every, at, column) for column in np.transpose(across)]
  return np.transpose(down)


def _right(
  network: models_lib.Network,
  of: Pictures,
  first: str,
  second: str,
  at: Sequence[int],
) -> np.ndarray:
  """Return the right answers in each cell; the first corruption is made once."""
  out = np.zeros((len(at), len(at)))
  draws = _SEED, _CALIBRATION, of.ids
  for i, quarter in enumerate(at):
    once = stream.corrupted_once(
      jax.numpy.asarray(of.images), first, quarter / 4, *draws
    )
    for j, other in enumerate(at):
      twice = stream.corrupted_once(once, second, other / 4, *draws)
      shown = np.asarray(stream.stored(twice))
      out[i, j] = network.right(shown, of.labels, 0).sum()
  return out


def _begun(
  out: str | os.PathLike, names: Sequence[str], facts: str
) -> matrix_lib.Matrix:
  """Return what a file has measured; nan where it has not."""
  place = paths.parse(out, "--out")
  shape = (len(names), len(names), matrix_lib.STEPS, matrix_lib.STEPS)
  nothing = np.full(shape, np.nan)
  if not disk.exists(place):
    return matrix_lib.Matrix(tuple(names), nothing)
  arrays = reading.npz_file(place)
  before = str(arrays.get("facts", ""))
  if before != facts:
    raise errors.UserError(
      f"{place}: measured of {before or 'something unknown'}, and asked for is"
      f" {facts}. Name another file, or remove this one."
    )
  return matrix_lib.Matrix(tuple(names), np.array(arrays["accuracy"]))


def _write(
  out: str | os.PathLike, matrix: matrix_lib.Matrix, facts: str
) -> None:
  place = paths.parse(out, "--out")
  with disk.whole_file(place) as file:
    np.savez(
      file,
      names=np.array(matrix.names),
      accuracy=matrix.accuracy,
      facts=np.array(facts),
    )


def _squared(pixels: np.ndarray, side: int, rule: str) -> np.ndarray:
  if pixels.shape[:2] == (side, side):
    return pixels
  return geometry.apply(pixels, rule)

"""Semantic segmentation: IoU over a set of pictures, and degradation under
corruption.

Every number comes from sums of pixels over the whole set, never from a mean over
pictures. docs/evidence/specs/segmentation.md; the degradations are those of
Kamann & Rother 2020 (arXiv:1908.05005), section 4.
"""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eval.metrics import rates
from robust_tfds import errors

_ZERO = 1e-12  # a sum up to this is 0 except for rounding
_BYTE = 256
IGNORE = 255  # the label of pixels that no benchmark counts
# Columns of `areas`.
INTERSECTION, UNION, LABELLED = range(3)


class Summary(NamedTuple):
  """The metrics of a set of pictures, fractions; nan where nothing is labelled.

  Attributes:
    iou: by class, float64 `[classes]`; nan where a class is in neither truth nor
      prediction.
    miou: mean IoU over the classes that have one.
    aacc: share of the labelled pixels that are right.
    macc: mean over the classes with labelled pixels of the share that is right.
  """

  iou: np.ndarray
  miou: float
  aacc: float
  macc: float


class Degradation(NamedTuple):
  """The losses of a model under corruption, as fractions.

  Attributes:
    cd: corruption degradation by corruption: the sum over severities of
      1 - mIoU, over the reference's.
    rcd: relative corruption degradation: the sum of what mIoU loses, over what
      the reference loses; nan where the reference loses nothing.
    mcd: mean of `cd`.
    mrcd: mean of `rcd` over the corruptions that have one.
    mean_miou: mean over corruptions of the mean mIoU over severities.
    retention: `mean_miou` over the clean mIoU.
    gam: the smallest mean mIoU of a corruption.
  """

  cd: dict[str, float]
  rcd: dict[str, float]
  mcd: float
  mrcd: float
  mean_miou: float
  retention: float
  gam: float


def confusion(
  truth: np.typing.ArrayLike,
  predicted: np.typing.ArrayLike,
  num_classes: int,
  ignore: int = IGNORE,
) -> np.ndarray:
  """Count the pixels of each pair of classes.

  Args:
    truth: class ids, integers `[H, W]`, or `ignore`.
    predicted: class ids of the same shape; those under ignored pixels do not
      count, whatever they are.
    num_classes: number of classes.
    ignore: the label of pixels that do not count.

  Returns:
    int64 `[num_classes, num_classes]`: rows are the truth, columns the
    predictions.

  Raises:
    UserError: the shapes differ, an array has no integers, or an id is no class.

  >>> confusion([[0, 1], [1, 255]], [[0, 0], [1, 7]], num_classes=2)
  array([[1, 0],
         [1, 1]])
  """
  truth, predicted = np.asarray(truth), np.asarray(predicted)
  for what, ids in (("truth", truth), ("predicted", predicted)):
    if ids.dtype.kind not in "iu":
      raise errors.UserError(
        f"{what} must be class ids, integers; got {ids.dtype}."
      )
  if not isinstance(ignore, numbers.Integral):
    raise errors.UserError(
      f"ignore={ignore!r}, expected the id of pixels that do not count. If all"
      " count, give one that is in no mask, such as -1."
    )
  if truth.shape != predicted.shape:
    raise errors.UserError(
      f"truth {list(truth.shape)} and predicted {list(predicted.shape)} have"
      " different shapes. Resize the prediction to the mask."
    )
  small, answers = _bytes(truth), _bytes(predicted)
  if small is not None and answers is not None and 0 <= ignore < _BYTE:
    return _byte_confusion(small, answers, num_classes, ignore)
  counted = truth != ignore
  # int64: ids of few bits would wrap below.
  pairs = [ids[counted].astype(np.int64) for ids in (truth, predicted)]
  for what, ids in zip(("truth", "predicted"), pairs, strict=True):
    outside = (ids < 0) | (ids >= num_classes)
    if outside.any():
      raise _no_class(what, ids[outside][0], num_classes, ignore)
  flat = num_classes * pairs[0] + pairs[1]
  counts = np.bincount(flat, minlength=num_classes**2)
  return counts.reshape(num_classes, num_classes).astype(np.int64)


def _bytes(ids: np.ndarray) -> np.ndarray | None:
  """Return ids as uint8; None if some do not fit."""
  if ids.dtype == np.uint8:
    return ids
  fits = ids.size and 0 <= ids.min() and ids.max() < _BYTE
  return ids.astype(np.uint8) if fits else None


def _byte_confusion(
  truth: np.ndarray, predicted: np.ndarray, num_classes: int, ignore: int
) -> np.ndarray:
  """Return the confusion of ids of 8 bits, in a quarter of the time of others."""
  pairs = truth.astype(np.uint16) << 8
  pairs |= predicted
  counts = np.bincount(pairs.ravel(), minlength=_BYTE**2)
  table = counts.reshape(_BYTE, _BYTE).astype(np.int64)
  table[ignore] = 0
  for what, pixels in (("truth", table.sum(1)), ("predicted", table.sum(0))):
    outside = np.flatnonzero(pixels[num_classes:])
    if len(outside):
      raise _no_class(what, num_classes + outside[0], num_classes, ignore)
  out = np.zeros((num_classes, num_classes), np.int64)
  known = min(num_classes, _BYTE)
  out[:known, :known] = table[:known, :known]
  return out


def _no_class(
  what: str, number: Any, num_classes: int, ignore: int
) -> errors.UserError:
  ignored = f", or {ignore} for ignored pixels" * (what == "truth")
  return errors.UserError(
    f"{what} holds the id {number}, expected 0 to {num_classes - 1}{ignored}."
  )


def areas(matrix: np.ndarray) -> np.ndarray:
  """Return intersection, union and labelled pixels by class.

  Args:
    matrix: confusions, int64 `[..., classes, classes]`.

  Returns:
    int64 `[..., classes, 3]`; those of several pictures add up.
  """
  right = np.diagonal(matrix, axis1=-2, axis2=-1)
  labelled, predicted = matrix.sum(-1), matrix.sum(-2)
  return np.stack([right, labelled + predicted - right, labelled], axis=-1)


def summarize(matrix: np.typing.ArrayLike) -> Summary:
  """Summarize a confusion of a whole set.

  Args:
    matrix: as from `confusion`, summed over the pictures.

  Raises:
    UserError: it has another shape, or no counts of pixels.

  >>> summary = summarize([[1, 0], [1, 1]])
  >>> summary.iou.tolist(), float(summary.miou)
  ([0.5, 0.5], 0.5)
  """
  matrix = np.asarray(matrix)
  if matrix.ndim != 2 or len(set(matrix.shape)) != 1:
    raise errors.UserError(
      f"matrix is {list(matrix.shape)}, expected [classes, classes]. Sum the"
      " confusions of several pictures first."
    )
  counts = matrix.astype(np.int64) if matrix.dtype.kind in "iuf" else None
  if counts is None or (counts != matrix).any() or (counts < 0).any():
    raise errors.UserError(
      f"matrix holds {matrix.dtype} that are no counts of pixels, expected whole"
      " numbers of 0 or more. Do not normalize the confusion."
    )
  return from_areas(areas(counts))


def from_areas(total: np.ndarray) -> Summary:
  """Summarize areas of a whole set, `[classes, 3]`, see `areas`.

  Of `[..., classes, 3]`, such as draws, every number is an array `[...]`.
  """
  right, union, labelled = np.moveaxis(total, -1, 0)
  iou, accuracy = rates.ratio(right, union), rates.ratio(right, labelled)
  return Summary(
    iou,
    _mean(iou),
    _number(rates.ratio(right.sum(-1), labelled.sum(-1))),
    _mean(accuracy),
  )


def cd(ours: np.ndarray, reference: np.ndarray) -> np.ndarray:
  """Compute the corruption degradation of one corruption.

  Args:
    ours: mIoU by severity, `[severities, ...]`.
    reference: that of the reference.
  """
  return rates.ratio((1 - ours).sum(0), (1 - reference).sum(0))


def rcd(
  ours: np.ndarray,
  clean: np.typing.ArrayLike,
  reference: np.ndarray,
  reference_clean: np.typing.ArrayLike,
) -> np.ndarray:
  """Compute the relative corruption degradation; nan if the reference loses 0.

  The sign is that of the reference's loss: it may gain, as under brightness.
  """
  lost, reference_lost = (
    np.asarray((clean_miou - miou).sum(0))
    for clean_miou, miou in ((clean, ours), (reference_clean, reference))
  )
  known = np.abs(reference_lost) > _ZERO
  out = np.full(np.broadcast(lost, reference_lost).shape, np.nan)
  return np.divide(lost, reference_lost, out=out, where=known)


def degradation(
  cells: Mapping[str, Sequence[float]],
  clean: float,
  reference: Mapping[str, Sequence[float]],
  reference_clean: float,
) -> Degradation:
  """Compute how much a model loses under corruption beside a reference.

  Args:
    cells: mIoU by corruption and severity, fractions.
    clean: mIoU of the clean pictures.
    reference: mIoU of the reference under the same corruptions and severities.
    reference_clean: mIoU of the reference on the clean pictures.

  Raises:
    UserError: the reference lacks a corruption or severity, there are no
      corruptions, or a value is no fraction.

  >>> d = degradation({"fog": [0.7, 0.6]}, 0.8, {"fog": [0.6, 0.5]}, 0.7)
  >>> round(d.cd["fog"], 4), round(d.rcd["fog"], 4), round(d.gam, 4)
  (0.7778, 1.0, 0.65)
  """
  _check(cells, clean, reference, reference_clean)
  cds, rcds, means = {}, {}, {}
  for name, of_name in cells.items():
    ours, theirs = (np.array(v, np.float64) for v in (of_name, reference[name]))
    cds[name] = float(cd(ours, theirs))
    rcds[name] = float(rcd(ours, clean, theirs, reference_clean))
    means[name] = float(ours.mean())
  mean = float(np.mean([*means.values()]))
  return Degradation(
    cds,
    rcds,
    _mean(np.array([*cds.values()])),
    _mean(np.array([*rcds.values()])),
    mean,
    float(rates.ratio(mean, clean)),
    min(means.values()),
  )


def _check(
  cells: Mapping[str, Sequence[float]],
  clean: float,
  reference: Mapping[str, Sequence[float]],
  reference_clean: float,
) -> None:
  if not cells:
    raise errors.UserError(
      "cells: got no corruptions, expected mIoU by corruption and severity."
    )
  for name, of_name in cells.items():
    shapes = {np.shape(of_name), np.shape(reference.get(name, [0.0]))}
    if any(len(shape) != 1 or not shape[0] for shape in shapes):
      raise errors.UserError(
        f"{name}: expected a list of one mIoU by severity, such as [0.7, 0.6], of"
        f" the model and the reference; got {of_name!r} and"
        f" {reference.get(name)!r}."
      )
    severities = len(reference.get(name, ()))
    if severities != len(of_name):
      raise errors.UserError(
        f"{name}: the reference has {severities} severities, expected"
        f" {len(of_name)} as the model has."
      )
  every = [clean, reference_clean]
  every += [
    v for c in (cells, reference) for of_name in c.values() for v in of_name
  ]
  for value in every:
    if not 0 <= value <= 1:
      raise errors.UserError(
        f"mIoU must be a fraction, 0 to 1; got {value}. Divide percent by 100."
      )


def _mean(values: np.ndarray) -> Any:
  """Average the numbers of the last axis that are not nan; nan without any."""
  known = ~np.isnan(values)
  return _number(rates.ratio(values.sum(-1, where=known), known.sum(-1)))


def _number(array: np.ndarray) -> Any:
  """Return a float, or the array if it has axes."""
  return array[()]

"""Whether two answers of a model to the same inputs are alike.

Bytes differ between devices and compilers, so numbers are compared: logits to
1e-3 of their range; detections pair by pair, scores and corners to 1e-3 of the
largest; of class ids one pixel in 1000 may differ. One detection of a picture's 25
may be in one answer alone: it lay at a threshold.
"""

from collections.abc import Mapping

import numpy as np

TOLERANCE = 1e-3
_EDGE = 25

Answers = Mapping[str, np.ndarray]


def difference(
  before: Answers, now: Answers, tolerance: float = TOLERANCE
) -> str:
  """Return a text about the difference of two answers; empty if they agree.

  Args:
    before: `logits` `[B, classes]`, or a detector's `boxes` `[B, N, 4]`, `scores`
      `[B, N]`, `classes` `[B, N]`, `valid` `[B, N]`; or a segmenter's `classes`
      `[B, H, W]`.
    now: outputs of the same inputs. If it has fewer rows, only these are compared.
    tolerance: share of the range, or of the largest, that may lie between them.
  """
  if before.keys() != now.keys():
    return f"it gave {', '.join(before)}, and now {', '.join(now)}"
  if "logits" in before:
    return _logit_difference(before["logits"], now["logits"], tolerance)
  if "valid" not in before:
    if before.keys() == {"classes"}:
      return _class_difference(before["classes"], now["classes"])
    differ = (_array_difference(before[k], now[k], tolerance) for k in before)
    return next(filter(None, differ), "")
  pictures = zip(_pictures(before), _pictures(now))
  for number, (first, second) in enumerate(pictures, 1):
    words = _detection_difference(first, second, tolerance)
    if words:
      return f"of picture {number}, {words}"
  return ""


def _logit_difference(
  before: np.ndarray, now: np.ndarray, tolerance: float
) -> str:
  if before.shape[1:] != now.shape[1:]:
    return f"it gave {before.shape[1:]} logits, and now {now.shape[1:]}"
  rows = min(len(before), len(now))
  before, now = (x[:rows].astype(np.float64) for x in (before, now))
  scale = np.ptp(before)
  # A model of one answer has no range: then its size, to rounding.
  allowed = max(tolerance * scale, 1e-6 * float(np.abs(before).max()))
  distance = float(np.abs(before - now).max())
  if distance <= allowed:
    return ""
  share = f", {distance / scale:.2g} of their range" if scale else ""
  return f"its logits differ by up to {distance:.3g}{share}"


def _array_difference(
  before: np.ndarray, now: np.ndarray, tolerance: float
) -> str:
  """Return how arrays of any kind differ; NaN is like NaN."""
  rows = min(len(before), len(now))
  before, now = before[:rows], now[:rows]
  if before.dtype.kind == "U" or before.shape != now.shape:
    return (
      "" if np.array_equal(before, now) else "it gave other texts or shapes"
    )
  nan = np.isnan(before.astype(np.float64)) & np.isnan(now.astype(np.float64))
  one, two = (np.where(nan, 0, x).reshape(rows, -1) for x in (before, now))
  words = _logit_difference(one, two, tolerance)
  return words.replace("logits", "answers")


def _class_difference(before: np.ndarray, now: np.ndarray) -> str:
  rows = min(len(before), len(now))
  share = float((before[:rows] != now[:rows]).mean())
  return f"{share:.2%} of its pixels differ" if share > TOLERANCE else ""


def _pictures(answer: Answers) -> list[dict[str, np.ndarray]]:
  """Return the valid detections of each picture."""
  valid = answer["valid"]
  return [
    {k: v[i][valid[i]] for k, v in answer.items() if k != "valid"}
    for i in range(len(valid))
  ]


def _detection_difference(
  before: Answers, now: Answers, tolerance: float
) -> str:
  """Return how the detections of a picture differ."""
  pairs = _agreement(before, now, tolerance)
  for detections, matched, when in (
    (before, np.asarray(pairs.any(axis=1)), "before"),
    (now, np.asarray(pairs.any(axis=0)), "now"),
  ):
    unmatched = np.flatnonzero(~matched)
    if len(unmatched) > len(matched) // _EDGE:
      i = int(unmatched[0])
      return (
        f"a detection of class {detections['classes'][i]} with score"
        f" {detections['scores'][i]:.3f} was there {when} alone"
      )
  return ""


def _agreement(before: Answers, now: Answers, tolerance: float) -> np.ndarray:
  """Return which detections agree: bool `[len(before), len(now)]`."""
  agree = before["classes"][:, None] == now["classes"][None]
  for key, axes in (("boxes", (2,)), ("scores", ())):
    size = max(float(np.abs(d[key]).max(initial=0)) for d in (before, now))
    distances = np.abs(before[key][:, None] - now[key][None]).max(axes)
    agree &= distances <= tolerance * size
  if "masks" in before:
    for i, k in zip(*np.nonzero(agree)):
      distance = np.abs(before["masks"][i] - now["masks"][k]).mean()
      agree[i, k] = distance <= tolerance
  return agree

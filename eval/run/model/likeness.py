"""Whether two answers of a model to the same inputs are alike.

Bytes differ between devices and compilers, so numbers are compared: logits to
1e-3 of their range; detections pair by pair, scores and corners to 1e-3 of the
largest. One detection of a picture's 25 may be in one answer alone: it lay at a
threshold.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

TOLERANCE = 1e-3
_EDGE = 25

Answers = Mapping[str, np.ndarray]


def difference(
  one: Answers, other: Answers, tolerance: float = TOLERANCE
) -> str:
  """How two answers differ, as words; empty where they are alike.

  Args:
    one: `logits` `[B, classes]`, or a detector's `boxes` `[B, N, 4]`, `scores`
      `[B, N]`, `classes` `[B, N]`, `valid` `[B, N]`.
    other: of the same inputs. Where it has fewer rows these alone are compared.
    tolerance: share of the range, or of the largest, that may lie between them.
  """
  if one.keys() != other.keys():
    return f"it gave {', '.join(one)}, and now {', '.join(other)}"
  if "logits" in one:
    return _of_logits(one["logits"], other["logits"], tolerance)
  for i, (first, second) in enumerate(zip(_pictures(one), _pictures(other))):
    words = _of_detections(first, second, tolerance)
    if words:
      return f"of picture {i + 1}, {words}"
  return ""


def _of_logits(one: np.ndarray, other: np.ndarray, tolerance: float) -> str:
  if one.shape[1:] != other.shape[1:]:
    return f"it gave {one.shape[1:]} logits, and now {other.shape[1:]}"
  rows = min(len(one), len(other))
  one, other = one[:rows].astype(np.float64), other[:rows].astype(np.float64)
  scale = np.ptp(one)
  # A model of one answer has no range: then its size, to rounding.
  allowed = max(tolerance * scale, 1e-6 * float(np.abs(one).max()))
  apart = float(np.abs(one - other).max())
  if apart <= allowed:
    return ""
  share = f", {apart / scale:.2g} of their range" if scale else ""
  return f"its logits differ by up to {apart:.3g}{share}"


def _pictures(answer: Answers) -> list[dict[str, np.ndarray]]:
  """The valid detections of each picture."""
  valid = answer["valid"]
  return [
    {k: v[i][valid[i]] for k, v in answer.items() if k != "valid"}
    for i in range(len(valid))
  ]


def _of_detections(one: Answers, other: Answers, tolerance: float) -> str:
  """How the detections of one picture differ."""
  for first, second, when in ((one, other, "before"), (other, one, "now")):
    lonely = np.asarray(~_partners(first, second, tolerance).any(axis=1))
    if lonely.sum() > len(lonely) // _EDGE:
      i = int(np.argmax(lonely))
      return (
        f"a detection of class {first['classes'][i]} with score"
        f" {first['scores'][i]:.3f} was there {when} alone"
      )
  return ""


def _partners(one: Answers, other: Answers, tolerance: float) -> np.ndarray:
  """Which detections of two lists are alike: bool `[len(one), len(other)]`."""
  alike = one["classes"][:, None] == other["classes"][None]
  for key, axes in (("boxes", (2,)), ("scores", ())):
    size = max(float(np.abs(d[key]).max(initial=0)) for d in (one, other))
    apart = np.abs(one[key][:, None] - other[key][None]).max(axes)
    alike &= apart <= tolerance * size
  if "masks" in one:
    for i, k in zip(*np.nonzero(alike)):
      apart = np.abs(one["masks"][i] - other["masks"][k]).mean()
      alike[i, k] = apart <= tolerance
  return alike

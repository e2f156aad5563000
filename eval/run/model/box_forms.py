"""Checks of a detector's boxes and classes against the probe's annotations.

Other libraries give boxes as (x, y, width, height), as centres, rows first or as
shares of the picture, and count classes otherwise: all of it can be scored, with an
average precision near 0.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics.detection import voc
from eval.pipeline import inputs
from eval.run.model import probe
from robust_tfds import errors

_IOU = 0.5  # from here on an annotated box is found
_SHARES_PX = 1.5  # boxes that all end here are shares of their pictures
_MIN_BOXES = 3  # boxes that are found, before their classes are judged
_COCO = "(x, y, width, height)"
# Form -> (x1, y1, x2, y2) of its four columns.
_FORMS = {
  _COCO: lambda x, y, w, h: (x, y, x + w, y + h),
  "(centre x, centre y, width, height)": lambda x, y, w, h: (
    (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
  ),
  "(y1, x1, y2, x2)": lambda y1, x1, y2, x2: (x1, y1, x2, y2),
}


def check(
  label: str, answers: probe.Answers, clean: inputs.Source, names: Sequence[str]
) -> list[str]:
  """Return the warning about a detector that finds nothing or other classes.

  Args:
    label: label of the model.
    answers: to the probe, in the data set's classes; the best boxes first.
    clean: the clean cell, whose first pictures were shown.
    names: names of the data set's classes; empty if unknown.

  Raises:
    UserError: its boxes are shares, or most annotated ones are found in another
      form and hardly any in that which is expected.
  """
  examples = itertools.islice(clean.metadata((clean.pixels,)), probe.ROWS)
  truth = [example["objects"] for example in examples]
  valid = answers["valid"].astype(bool)
  found = [b[v] for b, v in zip(answers["boxes"], valid)]
  ends = np.concatenate(found)
  if ends.size and 0 < ends.max() <= _SHARES_PX:
    raise errors.UserError(
      f"{label}: all {len(ends)} boxes on the first pictures lie within"
      f" {_SHARES_PX} px. Expected (x1, y1, x2, y2) in px: multiply shares of a"
      " picture by its width and height."
    )
  hits = [_hits(t, boxes) for t, boxes in zip(truth, found)]
  total, count = sum(map(len, hits)), sum(h.any(1).sum() for h in hits)
  for form in _FORMS:
    # As many as are annotated: of a hundred some are found by chance.
    best = [_corners(form, b[: len(h)]) for b, h in zip(found, hits)]
    others = sum(_hits(t, boxes).any(1).sum() for t, boxes in zip(truth, best))
    if others >= max(2, total / 2, 4 * count):
      raise errors.UserError(
        f"{label}: of {total} annotated boxes on the first pictures {count} are"
        f" found (IoU of {_IOU} or more), and {others} if its boxes are read as"
        f" {form}. Expected (x1, y1, x2, y2) in px."
      )
  pairs = [  # the best box of each object that was found
    (t["label"][i], c[v][hit[i].argmax()])
    for t, c, v, hit in zip(truth, answers["classes"], valid, hits)
    for i in np.flatnonzero(hit.any(1))
  ]
  if total >= _MIN_BOXES and not count:
    return [
      f"finds none of {total} annotated boxes on the first pictures (IoU of {_IOU}"
      f" or more), with {len(ends)} boxes. Expected (x1, y1, x2, y2) in px of the"
      " picture as it is handed over, not as the network resizes it"
    ]
  wrong = [pair for pair in pairs if pair[0] != pair[1]]
  if count < _MIN_BOXES or 2 * len(wrong) <= len(pairs):
    return []
  shown = [names[i] if i < len(names) else str(i) for i in wrong[0]]
  right = len(pairs) - len(wrong)
  return [
    f"finds {count} of {total} annotated boxes on the first pictures, and"
    f" {right or 'none'} as its class, e.g. {shown[0]!r} as {shown[1]!r}: if its"
    " outputs have another order, say so by classes= (--config.model.classes)"
  ]


def _hits(objects: Mapping[str, Any], boxes: np.ndarray) -> np.ndarray:
  """Return which boxes find which objects: bool `[objects, boxes]`."""
  truth = _corners(_COCO, np.asarray(objects["bbox_px"]).reshape(-1, 4))
  rows = np.repeat(truth, len(boxes), 0), np.tile(boxes, (len(truth), 1))
  return (voc.box_iou(*rows, 0) >= _IOU).reshape(len(truth), len(boxes))


def _corners(form: str, boxes: np.ndarray) -> np.ndarray:
  return np.stack(_FORMS[form](*boxes.T), 1)

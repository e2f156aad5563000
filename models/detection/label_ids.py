"""Label ids of detectors from elsewhere, and the classes that they stand for.

Packages count differently: torchvision's detectors from 1, as 0 is their
background; models of COCO use its category ids 1..90, of which ten belong to no
class. A model does not tell which: the user says it.
"""

from collections.abc import Mapping

import numpy as np

from models.detection import labels as heads
from models.detection.spec import DetectorSpec
from robust_tfds import errors

NAMES = ("from_zero", "from_one", "coco91")
_COCO = 80

Labels = str | Mapping[int, int]


def classes(
  name: str, spec: DetectorSpec, labels: Labels | None
) -> dict[int, int]:
  """Return the class in 0..num_classes-1 of each label id, -1 for an id of no class.

  Args:
    name: name of the model, for errors.
    spec: spec of the model.

    labels: `from_zero` (an id is a class), `from_one` (id 1 is class 0, id 0 the
      background), `coco91` (COCO's category ids, gaps included, of its 80
      classes), or the mapping itself.

  Raises:
    UserError: `labels` is none of these, or a class is out of range.

  >>> classes("mine", DetectorSpec(num_classes=2), "from_one")
  {0: -1, 1: 0, 2: 1}
  >>> coco = classes("mine", DetectorSpec(), "coco91")
  >>> coco[1], coco[12], coco[90]
  (0, -1, 79)
  """
  count = spec.num_classes
  if isinstance(labels, Mapping):
    return _checked(name, count, labels)
  if labels not in NAMES:
    raise errors.UserError(
      f"{name} got labels={labels!r}, expected what its label ids stand for:"
      f" {', '.join(map(repr, NAMES))} or a dict of label id to class"
      f" (0..{count - 1}). torchvision's detectors of COCO, and DETR, are"
      " 'coco91'; torchvision's of your own classes 'from_one'."
    )
  if labels == "coco91" and count != _COCO:
    raise errors.UserError(
      f"{name} got labels='coco91', which has {_COCO} classes, and a spec with"
      f" num_classes={count}."
    )
  if labels == "from_zero":
    return {i: i for i in range(count)}
  if labels == "from_one":
    return {0: heads.NONE, **{i + 1: i for i in range(count)}}
  return dict(enumerate(heads.table("torchvision", count)))


def to_classes(
  name: str, ids: np.ndarray, classes_by_id: Mapping[int, int]
) -> np.ndarray:
  """Return the classes of label ids, int64 `[n]`; -1 for an id of no class.

  Raises:
    UserError: an id is unknown.
  """
  listed = np.asarray(ids).tolist()
  strange = sorted({i for i in listed if i not in classes_by_id})
  if strange:
    raise errors.UserError(
      f"{name} gave the label ids {str(strange[:5])[1:-1]}, expected"
      f" {min(classes_by_id)}..{max(classes_by_id)}: say what they stand for, labels="
      f"{', '.join(map(repr, NAMES))} or a dict of label id to class."
    )
  return np.array([classes_by_id[i] for i in listed], np.int64)


def _checked(
  name: str, count: int, labels: Mapping[int, int]
) -> dict[int, int]:
  bad = {k: v for k, v in labels.items() if v not in range(-1, count)}
  if bad or not labels:
    raise errors.UserError(
      f"{name} got labels {bad or labels}, expected a dict of label id to class"
      f" in 0..{count - 1}, or -1 for ids of no class."
    )
  return dict(labels)

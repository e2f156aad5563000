"""The class of each output of a detector's head.

Heads differ in the place of the background and in the gaps of COCO's numbering;
a table holds the class of each output.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from robust_tfds import errors

# docs/evidence/specs/detection.md section 4: COCO's category ids are 1..90 without
# these.
_COCO_GAPS = (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)
_COCO_IDS = tuple(i for i in range(1, 91) if i not in _COCO_GAPS)
NONE = -1


def table(style: str, num_classes: int) -> tuple[int, ...]:
  """Return the class of each output of a head; -1 for an output of no class.

  Args:
    style: `plain` (no background), `last` or `first` (the background is that
      output), `torchvision` (as `first`; and with COCO's 80 classes the outputs
      follow the category ids 0..90, gaps included).
    num_classes: number of classes of objects.

  Raises:
    ValueError: the style is unknown.

  >>> table("torchvision", 2)
  (-1, 0, 1)
  >>> coco = table("torchvision", 80)
  >>> len(coco), coco[1], coco[90]
  (91, 0, 79)
  """
  classes = tuple(range(num_classes))
  if style == "plain":
    return classes
  if style == "last":
    return (*classes, NONE)
  if style not in ("first", "torchvision"):
    raise errors.UserError(
      f"Got style {style!r}, expected plain, last, first or torchvision."
    )
  if style == "first" or num_classes != len(_COCO_IDS):
    return (NONE, *classes)
  return tuple(
    _COCO_IDS.index(i) if i in _COCO_IDS else NONE for i in range(91)
  )


def outputs(labels: Sequence[int], classes: jax.Array) -> jax.Array:
  """Return the output of each class, int32; the background's for classes below 0.

  Args:
    labels: class of each output, see `table`.
    classes: int32.

  >>> outputs((-1, 0, 1), jnp.array([1, -1])).tolist()
  [2, 0]
  """
  there = [labels.index(i) for i in range(max(labels) + 1)]
  none = labels.index(NONE) if NONE in labels else NONE
  return jnp.where(classes >= 0, jnp.array(there, jnp.int32)[classes], none)

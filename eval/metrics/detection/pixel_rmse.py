"""The pixel distance of corrupted from clean images: a corrected RMSE of Figure 6.

The authors' script subtracts and squares in uint8, which wraps at 256 and cannot
exceed 16 (docs/evidence/specs/detection.md section 5); their figure follows from their
printed table alone. This is the RMSE in levels 0..255, in floating point.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from robust_tfds import errors


def rmse(clean: np.ndarray, corrupted: np.ndarray) -> float:
  """Compute the root mean squared difference of two images, in levels 0..255.

  Args:
    clean: uint8 `[H, W, 3]`.
    corrupted: the same shape.

  Raises:
    UserError: the images differ in shape, have no pixels, or hold no numbers.

  >>> rmse(np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 200, np.uint8))
  200.0
  """
  if clean.shape != corrupted.shape:
    raise errors.UserError(
      f"Images of one shape expected, got {clean.shape} and {corrupted.shape}."
    )
  for image in (clean, corrupted):
    if not image.size or image.dtype.kind not in "uif":
      raise errors.UserError(
        "Images [H, W, 3] of numbers expected, got"
        f" {image.dtype} {list(image.shape)}."
      )
  difference = clean.astype(np.float64) - corrupted
  return float(np.sqrt(np.mean(np.square(difference))))


def rmse_table(
  pairs: Iterable[tuple[str, int, np.ndarray, np.ndarray]],
) -> Mapping[tuple[str, int], float]:
  """Compute the mean over images of `rmse`, by (corruption, severity).

  Args:
    pairs: tuples of corruption, severity, clean and corrupted image.
  """
  by_cell: dict[tuple[str, int], list[float]] = {}
  for corruption, severity, clean, corrupted in pairs:
    distances = by_cell.setdefault((corruption, severity), [])
    distances.append(rmse(clean, corrupted))
  return {cell: float(np.mean(values)) for cell, values in by_cell.items()}

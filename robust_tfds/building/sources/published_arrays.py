"""The published CIFAR-10-C, -C-bar, CIFAR-100-C and -P: npy arrays, memory mapped.

`<name>-C/<corruption>.npy` (`CIFAR-10-C-Bar/`) holds the test set five times,
once a severity, and `labels.npy` the labels of all of it
(docs/evidence/specs/corruptions.md section 0). `<name>-P/<perturbation>.npy`
holds a sequence for each test image (docs/evidence/specs/imagenet_p.md section
4). A pickle is never loaded.
"""

import os
from collections.abc import Iterator, Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions, errors, reading
from robust_tfds.building import pictures
from robust_tfds.building.sources import cifar as cifar_lib
from robust_tfds.storage import paths

IMAGES = 10_000  # test images of either set
_PICTURE = (cifar_lib.SIDE_PX, cifar_lib.SIDE_PX, 3)


def corrupted(
  manual_dir: os.PathLike | str,
  set_folder: str,
  cifar: cifar_lib.Cifar,
  condition: conditions.Condition,
) -> Iterator[pictures.Row]:
  """Yield the rows of one severity of the authors' array, as PNG, in test
  order.

  Raises:
    FileNotFoundError: an array is missing.
    UserError: an unexpected shape or dtype, labels that are no classes, or that
      differ between the severities.
  """
  folder = paths.parse(manual_dir) / set_folder
  length = IMAGES * len(conditions.SEVERITIES)
  array = _mapped(folder / f"{condition.name}.npy", (length, *_PICTURE), cifar)
  labels = _labels(folder / "labels.npy", length, cifar)
  start = IMAGES * (condition.level - 1)
  for row, label in enumerate(labels):
    data = pictures.encode(array[start + row], pictures.RAW)
    yield cifar_lib.example_id(row), int(label), data


def sequences(
  manual_dir: os.PathLike | str,
  cifar: cifar_lib.Cifar,
  config: str,
  labels: np.ndarray,
  frames: Sequence[int],
) -> Iterator[tuple[str, int, np.ndarray]]:
  """Yield (id, label, frames) of the authors' array of one perturbation.

  Args:
    manual_dir: the parent of the folder.
    config: `<perturbation>`, or with `_2` or `_3`.
    labels: labels of the test images; the published arrays have none.
    frames: shape of a sequence.

  Raises:
    FileNotFoundError: the array is missing.
    UserError: an unexpected shape or dtype.
  """
  root = paths.parse(manual_dir)
  path = root / f"{cifar.name}-P" / f"{config}.npy"
  array = _mapped(path, (len(labels), *frames), cifar)
  for row, label in enumerate(labels):
    yield cifar_lib.example_id(row), int(label), np.asarray(array[row])


def _labels(
  path: epath.Path, length: int, cifar: cifar_lib.Cifar
) -> np.ndarray:
  """Return the labels of the test images, which every severity has: int `[N]`."""
  labels = np.asarray(_mapped(path, (length,), cifar, kinds="iu"))
  classes = len(cifar.classes)
  if labels.min() < 0 or labels.max() >= classes:
    raise errors.UserError(
      f"{path}: labels 0..{classes - 1} expected, got {labels.min()}.."
      f"{labels.max()}."
    )
  slices = labels.reshape(len(conditions.SEVERITIES), -1)
  for severity, others in zip(conditions.SEVERITIES, slices, strict=True):
    differing = np.flatnonzero(others != slices[0])
    if len(differing):
      raise errors.UserError(
        f"{path}: the labels of severity {severity} are not those of severity 1,"
        f" first at image {differing[0]} ({others[differing[0]]} and"
        f" {slices[0][differing[0]]}). Every severity holds the same images in"
        " the same order; unpack the official archive again."
      )
  return slices[0]


def _mapped(
  path: epath.Path,
  shape: tuple[int, ...],
  cifar: cifar_lib.Cifar,
  *,
  kinds: str = "",
) -> np.ndarray:
  """Return a memory-mapped array: uint8, or any integers with `kinds`."""
  if not path.exists():
    raise FileNotFoundError(
      f"No published data at {path}.\n{cifar.instructions}"
    )
  array = reading.npy_file(path, mmap=True)
  fits = array.dtype.kind in kinds if kinds else array.dtype == np.uint8
  if not fits or array.shape != shape:
    raise errors.UserError(
      f"{path}: {'integers' if kinds else 'uint8'} {list(shape)} expected, got"
      f" {array.dtype} {list(array.shape)}."
    )
  return array

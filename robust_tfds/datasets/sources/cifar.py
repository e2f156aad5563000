"""Where CIFAR-10 and the published CIFAR-10-P lie."""

from __future__ import annotations

import functools
import os
import pathlib
import tarfile
from collections.abc import Iterator

import numpy as np

from robust_tfds import errors
from robust_tfds.datasets import pictures

# batches.meta.txt of the archive.
CLASSES = (
  "airplane",
  "automobile",
  "bird",
  "cat",
  "deer",
  "dog",
  "frog",
  "horse",
  "ship",
  "truck",
)
_ARCHIVE = "cifar-10-binary.tar.gz"
_BATCH = "cifar-10-batches-bin/test_batch.bin"
SIDE_PX = 32
_RECORD = 1 + 3 * SIDE_PX * SIDE_PX  # label, then planes of red, green, blue

INSTRUCTIONS = f"""\
CIFAR-10's binary version in the manual dir: {_ARCHIVE}
(https://www.cs.toronto.edu/~kriz/{_ARCHIVE}) as it is, or extracted to {_BATCH}.
(The Python version is pickles, which are never loaded here.)
The published CIFAR-10-P (config suffix `_published`): CIFAR-10-P/<perturbation>.npy
from the authors' page, https://github.com/hendrycks/robustness."""


def example_id(row: int) -> str:
  """Stable id of a test image: `test_00042`."""
  return f"test_{row:05d}"


def test_images(
  manual_dir: os.PathLike | str,
) -> tuple[np.ndarray, np.ndarray]:
  """Labels uint8 `[N]` and images uint8 `[N, 32, 32, 3]`, in test order.

  Raises:
    FileNotFoundError: neither the archive nor the extracted file is there.
    UserError: the file is cut off or not of this format.
  """
  data = _bytes(pathlib.Path(os.fspath(manual_dir)))
  if not data or len(data) % _RECORD:
    raise errors.UserError(
      f"{_BATCH} has {len(data)} bytes, expected a multiple of {_RECORD}; it is"
      " truncated, or not CIFAR-10's binary version."
    )
  rows = np.frombuffer(data, np.uint8).reshape(-1, _RECORD)
  if rows[:, 0].max() >= len(CLASSES):
    raise errors.UserError(
      f"{_BATCH}: label {rows[:, 0].max()} is not in 0..9."
    )
  planes = rows[:, 1:].reshape(-1, 3, SIDE_PX, SIDE_PX)
  return rows[:, 0], planes.transpose(0, 2, 3, 1)


def sources(manual_dir: os.PathLike | str) -> list[pictures.Source]:
  """The test images, in their order; see `test_images`."""
  labels, images = test_images(manual_dir)
  return [
    pictures.Source(example_id(i), int(label), functools.partial(_same, image))
    for i, (label, image) in enumerate(zip(labels, images, strict=True))
  ]


def published(
  manual_dir: os.PathLike | str, config: str, frames: int
) -> Iterator[tuple[str, int, np.ndarray]]:
  """(id, label, frames) of the authors' array of one condition.

  Raises:
    FileNotFoundError: the array is not there.
    UserError: another shape, dtype or number of frames than it should have.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  path = root / "CIFAR-10-P" / f"{config}.npy"
  if not path.exists():
    raise FileNotFoundError(
      f"No published sequences of {config} at {path}.\n{INSTRUCTIONS}"
    )
  labels, _ = test_images(manual_dir)
  try:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
  except ValueError as e:
    raise errors.UserError(f"{path} is not a whole npy array ({e}).") from e
  expected = (len(labels), frames, SIDE_PX, SIDE_PX, 3)
  if array.dtype != np.uint8 or array.shape != expected:
    raise errors.UserError(
      f"{path}: uint8 {list(expected)} expected, got {array.dtype}"
      f" {list(array.shape)}."
    )
  for i, label in enumerate(labels):
    yield example_id(i), int(label), np.asarray(array[i])


def _bytes(root: pathlib.Path) -> bytes:
  if (root / _BATCH).exists():
    return (root / _BATCH).read_bytes()
  archive = root / _ARCHIVE
  if not archive.exists():
    raise FileNotFoundError(
      f"No CIFAR-10 in {root}. Looked for {_BATCH} and {_ARCHIVE}."
      f"\n{INSTRUCTIONS}"
    )
  try:
    with tarfile.open(archive) as tar:
      member = tar.extractfile(_BATCH)
      if member is None:
        raise errors.UserError(f"{archive}: {_BATCH} is not a file.")
      return member.read()
  except (tarfile.TarError, KeyError, EOFError, OSError) as e:
    raise errors.UserError(
      f"{archive} is not whole, or holds no {_BATCH} ({e})."
    ) from e


def _same(image: np.ndarray) -> np.ndarray:
  return image

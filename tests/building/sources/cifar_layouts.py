"""CIFAR's binary version and the published arrays, written small for tests."""

import pathlib

import numpy as np

from robust_tfds import conditions
from robust_tfds.building.sources import cifar as cifar_lib


def write_binary(
  root: pathlib.Path,
  cifar: cifar_lib.Cifar,
  images: np.ndarray,
  labels: np.ndarray,
) -> bytes:
  """The test batch: records of labels (a coarse one is 0) and planes."""
  planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
  columns = np.zeros((len(images), cifar.label_bytes), np.uint8)
  columns[:, -1] = labels
  data = np.concatenate([columns, planes], 1).tobytes()
  path = root / cifar.batch
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_bytes(data)
  return data


def write_published(
  root: pathlib.Path,
  cifar: cifar_lib.Cifar,
  name: str,
  by_severity: np.ndarray,
  labels: np.ndarray,
) -> None:
  """`<name>.npy` of uint8 `[5, N, 32, 32, 3]`, and `labels.npy`."""
  folder = root / f"{cifar.name}-C"
  folder.mkdir(exist_ok=True)
  np.save(folder / f"{name}.npy", by_severity.reshape(-1, 32, 32, 3))
  times = len(conditions.SEVERITIES)
  np.save(folder / "labels.npy", np.tile(labels.astype(np.uint8), times))

"""Writes arrays as the bytes of a `.npz` file: equal ones are equal bytes."""

import io
import zipfile
from collections.abc import Mapping

import numpy as np


def archived(arrays: Mapping[str, np.ndarray]) -> bytes:
  """Pack arrays of any names into the bytes of a `.npz` file, without pickles."""
  file = io.BytesIO()
  with zipfile.ZipFile(file, "w") as archive:
    for name, array in sorted(arrays.items()):
      write(archive, name, array)
  return file.getvalue()


def write(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
  """Write an array into an open `.npz` file: equal ones are equal bytes.

  Not as `np.savez`, which notes the time of day.
  """
  member = zipfile.ZipInfo(f"{name}.npy")
  with archive.open(member, "w", force_zip64=True) as out:
    array = np.ascontiguousarray(array)  # one order in memory
    np.lib.format.write_array(out, array, allow_pickle=False)

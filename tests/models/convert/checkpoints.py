"""Checkpoints of drawn arrays in every layout, for tests of converting."""

import pathlib
import struct

import numpy as np
from absl.testing import parameterized

from models import model as model_lib
from models import variables as variables_lib
from robust_tfds import models

_LEAF = {
  "kernel": "weight",
  "scale": "weight",
  "mean": "running_mean",
  "var": "running_var",
}


def drawn(of: str | model_lib.NetworkModel, seed: int = 0) -> dict:
  """Random variables of a model or its name, all different, in our layout."""
  rng = np.random.default_rng(seed)
  model = models.get(of) if isinstance(of, str) else of
  return {
    path: np.asarray(rng.standard_normal(shape, np.float32))
    for path, shape in model.shapes().items()
  }


def as_torch(flat: dict) -> dict[str, np.ndarray]:
  """Our variables as a torch state dict would name and lay them out."""
  out = {}
  for path, array in flat.items():
    if path[-1] == "kernel":
      array = np.moveaxis(array, (-1, -2), (0, 1))
    name = ".".join([*path[:-1], _LEAF.get(path[-1], path[-1])])
    out[name] = np.ascontiguousarray(array)
  return out


class Case(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def npz(self, arrays, name="weights.npz"):
    path = self.folder / name
    np.savez(path, **arrays)
    return path

  def same(self, variables, flat):
    got = variables_lib.flatten(variables)
    self.assertEqual(set(got), set(flat))
    for path, want in flat.items():
      self.assertEqual(got[path].dtype, np.float32)
      np.testing.assert_array_equal(got[path], want, err_msg=str(path))


def _varint(value: int) -> bytes:
  out = b""
  while value > 0x7F:
    out += bytes([value & 0x7F | 0x80])
    value >>= 7
  return out + bytes([value])


def _field(number: int, payload: bytes) -> bytes:
  return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def caffemodel(arrays: dict[str, np.ndarray], old: bool) -> bytes:
  """A NetParameter as Caffe writes it; `old` is the V1 layout."""
  layers: dict[str, list[np.ndarray]] = {}
  for name, array in arrays.items():
    layers.setdefault(name.rpartition(".")[0], []).append(array)
  out = _field(1, b"net")
  for name, blobs in layers.items():
    # Weights come before biases.
    blobs = sorted(blobs, key=lambda a: -a.ndim)
    layer = _field(4 if old else 1, name.replace(".", "/").encode())
    for blob in blobs:
      data = _field(5, struct.pack(f"<{blob.size}f", *blob.ravel()))
      if old:
        shape = (1,) * (4 - blob.ndim) + blob.shape
        head = b"".join(
          _varint(i << 3) + _varint(n) for i, n in enumerate(shape, 1)
        )
      else:
        head = _field(7, _field(1, b"".join(map(_varint, blob.shape))))
      layer += _field(6 if old else 7, head + data)
    out += _field(2 if old else 100, layer)
  return out

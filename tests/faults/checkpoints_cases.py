"""Checkpoints of every format, `models.convert.load`.

Wrong names, shapes, types and values are in tests/models/convert/formats_test.py.
"""

import functools
import io
import json
import pathlib
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests import tiny_files
from tests.faults import case, mutations
from tests.faults.case import Case
from tests.models.convert import checkpoints

_NAME = "digits_linear"


def cases() -> Iterator[Case]:
  """npz, safetensors, torch, caffe, orbax; and odd ones."""
  tensors = functools.partial(_load_bytes, "mine.safetensors")
  yield from _npz_cases()
  yield Case(
    "odd: safetensors: whole", lambda f: tensors(_tensors(), f), right=_loads
  )
  yield from _torch()
  yield from _others()
  data = tiny_files.npz(_arrays())
  act = functools.partial(_load_bytes, "mine.npz")
  yield from mutations.cases("mine.npz", data, act, _as_valid)
  yield from mutations.cases("mine.safetensors", _tensors(), tensors, _loads)


def _load(path: pathlib.Path) -> Any:
  from models import convert

  return convert.load(_NAME, path)


def _load_bytes(name: str, data: bytes, folder: pathlib.Path) -> Any:
  (folder / name).write_bytes(data)
  return _load(folder / name)


@functools.cache
def _flat() -> Any:
  return checkpoints.drawn(_NAME)


def _arrays() -> dict[str, np.ndarray]:
  return {"/".join(p): np.asarray(a) for p, a in _flat().items()}


def _leaves(variables: Any) -> list[np.ndarray]:
  import jax

  return [np.asarray(x) for x in jax.tree.leaves(variables)]


def _as_valid(variables: Any) -> bool:
  """Whether the numbers are the file's."""
  got = sorted((a.shape, float(a.sum())) for a in _leaves(variables))
  want = sorted((a.shape, float(a.sum())) for a in _arrays().values())
  return np.allclose([s for _, s in got], [s for _, s in want], atol=1e-3)


def _loads(variables: Any) -> bool:
  """Formats without checksums: all arrays, finite, in their shapes."""
  shapes = sorted(a.shape for a in _leaves(variables))
  finite = all(np.isfinite(a).all() for a in _leaves(variables))
  return finite and shapes == sorted(a.shape for a in _arrays().values())


def _npz_cases() -> Iterator[Case]:
  def put(make: Callable[[np.ndarray], Any], folder: pathlib.Path) -> Any:
    """Loads a file with another array in the place of the largest."""
    arrays = _arrays()
    name = max(arrays, key=lambda k: arrays[k].size)
    arrays[name] = make(arrays[name])
    return _load_bytes("mine.npz", tiny_files.npz(arrays), folder)

  yield from case.rows(
    put,
    ("npz: turned", lambda v: v.reshape(-1), "mine.npz"),
    ("npz: one axis more", lambda v: v[None], "mine.npz", _as_valid),
    ("odd: npz: float64", lambda v: v.astype(np.float64), _as_valid),
    ("odd: npz: big endian", lambda v: v.astype(">f4"), _as_valid),
    ("odd: npz: column by column", np.asfortranarray, _as_valid),
  )
  yield from case.rows(
    lambda make, folder: _load_bytes("mine.npz", make(), folder),
    ("nothing", lambda: tiny_files.npz({})),
    ("members that leave", _leaving),
    ("a zip bomb", _bomb),
    kinds="npz: {}",
    names=("mine.npz",),
  )


def _member(shape: tuple[int, ...], body: bytes) -> bytes:
  out = io.BytesIO()
  fields = {"descr": "<f4", "fortran_order": False, "shape": shape}
  np.lib.format.write_array_header_1_0(out, fields)
  return out.getvalue() + body


def _leaving() -> bytes:
  return tiny_files.zipped([("../../x.npy", _member((2,), bytes(8)))])


def _bomb() -> bytes:
  size = 1 << 28
  body = _member((size,), b"") + bytes(size * 4)
  members = [("params/a.npy", body)]
  return tiny_files.zipped(members, compression=zipfile.ZIP_DEFLATED)


def _tensors() -> bytes:
  """A safetensors file."""
  header, body = {}, b""
  for name, array in checkpoints.as_torch(_flat()).items():
    data = np.ascontiguousarray(array, np.float32).tobytes()
    header[name] = {
      "dtype": "F32",
      "shape": list(array.shape),
      "data_offsets": [len(body), len(body) + len(data)],
    }
    body += data
  text = json.dumps(header).encode()
  return struct.pack("<Q", len(text)) + text + body


class _Evil:
  """A pickle that writes a file when it is loaded."""

  def __reduce__(self) -> Any:
    return (exec, ("open('/tmp/robust_tfds_pickle_ran', 'w')",))


def _torch() -> Iterator[Case]:
  evil = pickle.dumps(_Evil())
  archive = [("archive/data.pkl", evil), ("archive/version", b"3")]

  def act(name: str, folder: pathlib.Path) -> Any:
    data = tiny_files.zipped(archive) if name == "zip.pth" else evil
    mark = pathlib.Path("/tmp/robust_tfds_pickle_ran")
    mark.unlink(missing_ok=True)
    try:
      return _load_bytes(name, data, folder)
    finally:
      assert not mark.exists(), "the pickle ran"

  endings = "pth pt pyth pkl npz safetensors".split()
  names = ["zip.pth", *(f"mine.{ending}" for ending in endings)]
  yield from case.rows(
    act, *((n, n, n) for n in names), kinds="{}: a pickle that runs code"
  )


def _others() -> Iterator[Case]:
  yield from case.rows(
    lambda name, folder: _load_bytes(name, b"hello", folder),
    *((name, name, name) for name in ("mine.h5", "mine", "mine.zip")),
    kinds="a file called {}",
  )
  yield Case(
    "no such file", lambda f: _load(f / "nowhere.npz"), ("nowhere.npz",)
  )

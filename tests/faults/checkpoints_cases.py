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
  yield from _npz_cases()
  yield from _safetensors()
  yield from _torch()
  yield from _others()
  data = tiny_files.npz(_arrays())
  act = functools.partial(_load_bytes, "mine.npz")
  yield from mutations.cases("mine.npz", data, act, _as_valid)
  tensors = functools.partial(_load_bytes, "mine.safetensors")
  yield from mutations.cases("mine.safetensors", _tensors(), tensors, _loads)


def _load(path: pathlib.Path) -> Any:
  from models import convert

  return convert.load(_NAME, path)


def _load_bytes(name: str, data: bytes, folder: pathlib.Path) -> Any:
  (folder / name).write_bytes(data)
  return _load(folder / name)


def _load_made(name: str) -> Callable[[Callable[[], bytes], pathlib.Path], Any]:
  return lambda make, folder: _load_bytes(name, make(), folder)


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
  def changed(
    change: Callable[[dict[str, Any]], Any], folder: pathlib.Path
  ) -> Any:
    arrays = _arrays()
    change(arrays)
    return _load_bytes("mine.npz", tiny_files.npz(arrays), folder)

  def put(make: Callable[[np.ndarray], Any]) -> Callable[[dict], Any]:
    """Another array in the place of the largest."""

    def change(arrays: dict[str, np.ndarray]) -> None:
      name = sorted(arrays, key=lambda k: arrays[k].size)[-1]
      arrays[name] = make(arrays[name])

    return change

  yield from case.rows(
    changed,
    ("turned", put(lambda v: v.reshape(-1))),
    ("one axis more", put(lambda v: v[None]), _as_valid),
    ("nothing", lambda a: a.clear()),
    kinds="npz: {}",
    names=("mine.npz",),
  )
  yield from case.rows(
    changed,
    ("float64", put(lambda v: v.astype(np.float64))),
    ("big endian", put(lambda v: v.astype(">f4"))),
    ("column by column", put(np.asfortranarray)),
    kinds="odd: npz: {}",
    right=_as_valid,
  )
  yield from case.rows(
    _load_made("mine.npz"),
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


def _safetensors() -> Iterator[Case]:
  yield from case.rows(
    _load_made("mine.safetensors"),
    ("odd: safetensors: whole", _tensors, _loads),
  )


class _Evil:
  """A pickle that writes a file when it is loaded."""

  def __reduce__(self) -> Any:
    return (exec, ("open('/tmp/robust_tfds_pickle_ran', 'w')",))


def _torch() -> Iterator[Case]:
  evil = pickle.dumps(_Evil())

  def act(name: str, data: bytes, folder: pathlib.Path) -> Any:
    mark = pathlib.Path("/tmp/robust_tfds_pickle_ran")
    mark.unlink(missing_ok=True)
    try:
      return _load_bytes(name, data, folder)
    finally:
      assert not mark.exists(), "the pickle ran"

  for kind, name, data in (
    ("a pickle that runs code", "mine.pth", evil),
    ("a pickle that runs code, in a zip", "mine.pth",
     tiny_files.zipped([("archive/data.pkl", evil), ("archive/version", b"3")])),
    ("a pickle that runs code", "mine.pt", evil),
    ("a pickle that runs code", "mine.pyth", evil),
    ("a pickle that runs code", "mine.pkl", evil),
    ("a pickle that runs code", "mine.npz", evil),
    ("a pickle that runs code", "mine.safetensors", evil),
  ):  # fmt: skip
    yield Case(f"{name}: {kind}", functools.partial(act, name, data), (name,))


def _others() -> Iterator[Case]:
  for name in ("mine.h5", "mine", "mine.zip", "mine.csv"):
    yield Case(
      f"a file called {name}",
      functools.partial(_load_bytes, name, b"hello"),
      (name,),
    )
  yield Case(
    "no such file", lambda f: _load(f / "nowhere.npz"), ("nowhere.npz",)
  )

"""Checkpoints of every format, `models.convert.load` and the command."""

from __future__ import annotations

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
from tests.faults import mutations
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
  from robust_tfds.models import convert

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
  def changed(
    change: Callable[[dict[str, Any]], Any], folder: pathlib.Path
  ) -> Any:
    arrays = _arrays()
    change(arrays)
    return _load_bytes("mine.npz", tiny_files.npz(arrays), folder)

  def first(arrays: dict[str, np.ndarray]) -> str:
    return sorted(arrays, key=lambda k: arrays[k].size)[-1]

  def put(make: Callable[[np.ndarray], Any]) -> Callable[[dict], Any]:
    return lambda a: a.update({first(a): make(a[first(a)])})

  for kind, change in (
    ("an array lacks", lambda a: a.pop(first(a))),
    ("an array more", lambda a: a.update(more=np.zeros((7, 9)))),
    ("another shape", put(lambda v: v[:-1])),
    ("turned", put(lambda v: v.reshape(-1))),
    ("one axis more", put(lambda v: v[None])),
    ("NaN", put(lambda v: v * np.nan)),
    ("one inf", put(lambda v: np.where(v == v.max(), np.inf, v))),
    ("complex", put(lambda v: v + 1j)),
    ("words", put(lambda v: v.astype("U8"))),
    ("booleans", put(lambda v: v > 0)),
    ("integers", put(lambda v: (v * 100).astype(np.int64))),
    ("dates", put(lambda v: (v * 100).astype("datetime64[D]"))),
    ("a pickle", put(lambda v: v.astype(object))),
    ("nothing", lambda a: a.clear()),
    ("too large for float32", put(lambda v: v.astype(np.float64) * 1e300)),
  ):  # fmt: skip
    right = _as_valid if kind == "one axis more" else None
    act = functools.partial(changed, change)
    yield Case(f"npz: {kind}", act, ("mine.npz",), right)
  for kind, change in (
    ("float64", put(lambda v: v.astype(np.float64))),
    ("big endian", put(lambda v: v.astype(">f4"))),
    ("column by column", put(lambda v: np.asfortranarray(v))),
  ):
    yield Case(
      f"odd: npz: {kind}", functools.partial(changed, change), right=_as_valid
    )
  for kind, make in (
    ("cut", lambda: tiny_files.npz(_arrays())[:-300]),
    ("empty", lambda: b""),
    ("text", lambda: b"hello"),
    ("HTML", lambda: b"<html>"),
    ("a promise of 29 TiB", _huge),
    ("members that leave", _leaving),
    ("a member twice", _twice),
    ("a zip bomb", _bomb),
  ):

    def act(folder, make=make):
      return _load_bytes("mine.npz", make(), folder)

    yield Case(f"npz: {kind}", act, ("mine.npz",))


def _member(shape: tuple[int, ...], body: bytes) -> bytes:
  out = io.BytesIO()
  fields = {"descr": "<f4", "fortran_order": False, "shape": shape}
  np.lib.format.write_array_header_1_0(out, fields)
  return out.getvalue() + body


def _huge() -> bytes:
  return tiny_files.zipped(
    [(f"{k}.npy", _member((8 * 10**12,), bytes(8))) for k in _arrays()]
  )


def _leaving() -> bytes:
  return tiny_files.zipped([("../../x.npy", _member((2,), bytes(8)))])


def _twice() -> bytes:
  names = list(_arrays())
  members = [
    (f"{k}.npy", _member(a.shape, a.tobytes())) for k, a in _arrays().items()
  ]
  return tiny_files.zipped(
    [*members, (f"{names[0]}.npy", members[0][1][:-4] + bytes(4))]
  )


def _bomb() -> bytes:
  size = 1 << 28
  body = _member((size,), b"") + bytes(size * 4)
  members = [("params/a.npy", body)]
  return tiny_files.zipped(members, compression=zipfile.ZIP_DEFLATED)


def _tensors(change: Callable[[dict], Any] | None = None) -> bytes:
  """A safetensors file; its header may be changed."""
  header, body = {}, b""
  for name, array in checkpoints.as_torch(_flat()).items():
    data = np.ascontiguousarray(array, np.float32).tobytes()
    header[name] = {
      "dtype": "F32",
      "shape": list(array.shape),
      "data_offsets": [len(body), len(body) + len(data)],
    }
    body += data
  if change:
    change(header)
  text = json.dumps(header).encode()
  return struct.pack("<Q", len(text)) + text + body


def _safetensors() -> Iterator[Case]:
  def one(header: dict) -> dict:
    return header[sorted(header)[0]]

  for kind, make in (
    ("cut", lambda: _tensors()[:-20]),
    ("empty", lambda: b""),
    ("eight bytes", lambda: bytes(8)),
    ("a header of 2**60 bytes", lambda: struct.pack("<Q", 2**60) + b"{}"),
    ("a header of no JSON", lambda: struct.pack("<Q", 5) + b"hello"),
    ("an unknown dtype", lambda: _tensors(lambda h: one(h).update(dtype="F33"))),
    ("offsets beyond the end", lambda: _tensors(
      lambda h: one(h).update(data_offsets=[0, 10**9]))),
    ("offsets turned", lambda: _tensors(lambda h: one(h).update(data_offsets=[40, 0]))),
    ("a negative shape", lambda: _tensors(lambda h: one(h).update(shape=[-1, 10]))),
    ("a tensor lacks", lambda: _tensors(lambda h: h.pop(sorted(h)[0]))),
  ):  # fmt: skip

    def act(folder, make=make):
      return _load_bytes("mine.safetensors", make(), folder)

    yield Case(f"safetensors: {kind}", act, ("mine.safetensors",))
  yield Case(
    "odd: safetensors: whole",
    lambda folder: _load_bytes("mine.safetensors", _tensors(), folder),
    right=_loads,
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
    ("empty", "mine.pth", b""),
    ("text", "mine.pth", b"hello"),
    ("a zip of nothing", "mine.pth", tiny_files.zipped([])),
    ("a pickle that runs code", "mine.pt", evil),
    ("a pickle that runs code", "mine.pyth", evil),
    ("a pickle that runs code", "mine.pkl", evil),
    ("a pickle that runs code", "mine.npz", evil),
    ("a pickle that runs code", "mine.safetensors", evil),
    ("cut", "mine.pth",
     tiny_files.zipped([("archive/data.pkl", b"\x80\x02}q\x00.")])[:60]),
  ):  # fmt: skip
    yield Case(f"{name}: {kind}", functools.partial(act, name, data), (name,))


def _others() -> Iterator[Case]:
  whole = checkpoints.caffemodel(checkpoints.as_torch(_flat()), False)
  for kind, data in (
    ("empty", b""),
    ("cut", whole[: len(whole) // 2]),
    ("0xff", b"\xff" * 100),
    ("text", b"hello"),
    ("a length of 2**40", b"\xa2\x06" + b"\x80\x80\x80\x80\x80\x20" + b"x"),
  ):
    yield Case(
      f"caffemodel: {kind}",
      functools.partial(_load_bytes, "mine.caffemodel", data),
      ("mine.caffemodel",),
    )

  def folder_of(files: dict[str, bytes], folder: pathlib.Path) -> Any:
    (folder / "orbax").mkdir()
    for name, data in files.items():
      (folder / "orbax" / name).write_bytes(data)
    return _load(folder / "orbax")

  for kind, files in (
    ("an empty folder", {}),
    ("a folder of other files", {"notes.txt": b"x"}),
    ("a broken _METADATA", {"_METADATA": b"{", "manifest.ocdbt": b"x"}),
    ("an empty manifest", {"_METADATA": b"{}", "manifest.ocdbt": b""}),
    (
      "a _METADATA nested",
      {"_METADATA": b"[" * 100_000, "manifest.ocdbt": b"x"},
    ),
  ):
    yield Case(
      f"orbax: {kind}", functools.partial(folder_of, files), ("orbax",)
    )
  for name in ("mine.h5", "mine.onnx", "mine", "mine.zip", "mine.csv"):
    yield Case(
      f"a file called {name}",
      functools.partial(_load_bytes, name, b"hello"),
      (name,),
    )
  yield Case(
    "no such file", lambda f: _load(f / "nowhere.npz"), ("nowhere.npz",)
  )

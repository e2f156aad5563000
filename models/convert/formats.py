"""Reads checkpoint files as name -> float32 numpy array, in the file's order.

The endings decide. No reader executes anything of the file: npz without
pickles, torch with `weights_only`, the rest are plain formats.
"""

from __future__ import annotations

import os
import pathlib
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from robust_tfds import errors

Arrays = dict[str, np.ndarray]

# Where training scripts put the weights among other things.
_WRAPPERS = (
  "state_dict",
  "model_state_dict",
  "model_state",
  "model",
  "ema_state_dict",
)


def read(checkpoint: str | os.PathLike[str]) -> Arrays:
  """All arrays of a checkpoint.

  Raises:
    FileNotFoundError: it is not there.
    UserError: its ending is not known, or it is damaged or refused.
    ImportError: its reader is not installed.
  """
  path = pathlib.Path(checkpoint).expanduser()
  if not path.exists():
    raise FileNotFoundError(f"No checkpoint at {path.absolute()}.")
  if path.is_dir():
    return _plain(path, _orbax(path))
  if path.suffix not in _READERS:
    raise errors.UserError(
      f"Got {path.name}, expected one of {', '.join(_READERS)} or an orbax"
      " directory."
    )
  return _plain(path, _READERS[path.suffix](path))


def _npz(path: pathlib.Path) -> Mapping[str, Any]:
  try:
    file = np.load(path, allow_pickle=False)
    if not isinstance(file, np.lib.npyio.NpzFile):
      raise errors.UserError("a single array, not an npz")
    with file:
      return {name: file[name] for name in file.files}
  except (zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
    raise _damaged(path, error) from error


def _safetensors(path: pathlib.Path) -> Mapping[str, Any]:
  import safetensors

  try:
    with safetensors.safe_open(path, framework="flax") as file:
      names = sorted(file.keys(), key=_offsets(path).__getitem__)
      return {name: np.asarray(file.get_tensor(name)) for name in names}
  except (safetensors.SafetensorError, struct.error, ValueError) as error:
    raise _damaged(path, error) from error


def _offsets(path: pathlib.Path) -> dict[str, int]:
  """Where each array starts: the order of writing is the network's order."""
  import json

  with path.open("rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
  return {
    name: entry["data_offsets"][0]
    for name, entry in header.items()
    if name != "__metadata__"
  }


def _torch(path: pathlib.Path) -> Mapping[str, Any]:
  import pickle

  try:
    import torch
  except ImportError as error:
    raise errors.missing_package(
      "torch",
      "convert",
      f"{path.name}, a torch checkpoint (or convert it once elsewhere to"
      " .safetensors or .npz),",
    ) from error
  try:
    loaded = torch.load(path, map_location="cpu", weights_only=True)
  except pickle.UnpicklingError as error:
    raise errors.UserError(
      f"{path} holds more than arrays and was refused: a pickle can run code"
      " when it is read. Save its state_dict() alone, or as .safetensors."
      f" torch said: {str(error).splitlines()[0][:200]}"
    ) from error
  except (RuntimeError, EOFError, OSError, ValueError) as error:
    raise _damaged(path, error) from error
  tensors = _unwrap(path, loaded)
  return {
    name: value.to(torch.float32).numpy()
    if value.is_floating_point()
    else value.numpy()
    for name, value in tensors.items()
    if isinstance(value, torch.Tensor)
  }


def _unwrap(path: pathlib.Path, loaded: Any) -> Mapping[str, Any]:
  for key in _WRAPPERS:
    if isinstance(loaded, Mapping) and isinstance(loaded.get(key), Mapping):
      loaded = loaded[key]
  if not isinstance(loaded, Mapping):
    raise errors.UserError(
      f"{path} holds a {type(loaded).__name__}, expected a state dict."
    )
  return loaded


def _caffemodel(path: pathlib.Path) -> Mapping[str, Any]:
  from robust_tfds.models.convert import caffemodel

  try:
    return caffemodel.read(path.read_bytes())
  except (ValueError, IndexError) as error:
    raise _damaged(path, error) from error


def _orbax(path: pathlib.Path) -> Mapping[str, Any]:
  import orbax.checkpoint as ocp

  from robust_tfds.models import variables

  try:
    with ocp.PyTreeCheckpointer() as checkpointer:
      tree = checkpointer.restore(path.absolute())
  except (ValueError, OSError, KeyError) as error:
    raise _damaged(path, error) from error
  return {"/".join(p): leaf for p, leaf in variables.flatten(tree).items()}


_READERS = {
  ".npz": _npz,
  ".safetensors": _safetensors,
  ".pth": _torch,
  ".pt": _torch,
  ".bin": _torch,
  ".pyth": _torch,  # PySlowFast's
  ".tar": _torch,  # .pth.tar, as the ImageNet training scripts name it
  ".caffemodel": _caffemodel,
}


def _plain(path: pathlib.Path, arrays: Mapping[str, Any]) -> Arrays:
  """Float arrays as float32; refuses what is no number."""
  out = {}
  for name, value in arrays.items():
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
      raise errors.UserError(
        f"{path}: {name} is {array.dtype}, expected numbers."
      )
    if array.dtype.kind not in "iub":
      array = array.astype(np.float32)
    out[name] = array
  if not out:
    raise errors.UserError(f"{path} holds no arrays.")
  return out


def _damaged(path: pathlib.Path, error: Exception) -> errors.UserError:
  size = "directory"
  if path.is_file():
    size = f"{path.stat().st_size:,} bytes"
  reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
  return errors.UserError(
    f"{path} ({size}) cannot be read as {path.suffix or 'orbax'}: {reason}."
    " It is truncated, or of another format: fetch it again and compare its"
    " checksum."
  )

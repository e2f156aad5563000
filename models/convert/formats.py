"""Readers of checkpoint files: float32 numpy arrays by name, in the file's order.

The endings decide. A checkpoint in several files is named by its index
(`model.safetensors.index.json`), or by the folder that holds it. No reader
executes anything in the file: npz is read without pickles, torch with
`weights_only`, and the rest are plain formats.
"""

import contextlib
import math
import os
import pathlib
import pickle
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from models import weights_file
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.storage import paths

Arrays = dict[str, np.ndarray]

INDEX = ".index.json"
# Files that a training hands over, first the one that validation judged;
# huggingface_hub's and timm's names for the checkpoint of a repository.
_HUB_NAMES = (
  weights_file.EMA_FILE,
  weights_file.FILE,
  "model.safetensors",
  f"model.safetensors{INDEX}",
  "open_clip_model.safetensors",
  "pytorch_model.bin",
  f"pytorch_model.bin{INDEX}",
  "open_clip_pytorch_model.bin",
)
# A file that a workdir of `robust-tfds train` holds from its start, and a key
# of it.
_TRAINING_MARK = ("config.json", "config.recipe.name")

# Where training scripts put the weights among other things.
_WRAPPERS = (
  "state_dict",
  "model_state_dict",
  "model_state",
  "model",
  "ema_state_dict",
)


def read(checkpoint: str | os.PathLike[str]) -> Arrays:
  """Read all arrays of a checkpoint.

  Raises:
    FileNotFoundError: it is not there.
    UserError: its ending is unknown, or it is damaged or refused.
    ImportError: its reader is not installed.
  """
  path = existing(checkpoint)
  try:
    with paths.local_copy(path) as place:
      return _read_local(pathlib.Path(place), path)
  except MemoryError as e:
    raise errors.UserError(
      f"{path}: its arrays need more memory than there is. It is damaged, or of a"
      " much larger model."
    ) from e


def _read_local(place: pathlib.Path, path: epath.Path) -> Arrays:
  """Read a local file; refusals name the path that it was copied from."""
  try:
    return _read(place)
  except errors.UserError as e:
    if paths.is_local(path):
      raise
    raise type(e)(str(e).replace(str(place), str(path))) from e


def metadata(checkpoint: str | os.PathLike[str]) -> Mapping[str, str]:
  """Return the metadata of a `.safetensors` file; {} for other files.

  Raises:
    UserError: its header is damaged.
  """
  path = paths.parse(checkpoint)
  if path.suffix.lower() != ".safetensors" or not paths.is_file(path):
    return {}
  texts = _header(path).get("__metadata__") or {}
  if not isinstance(texts, dict):
    raise _damaged_error(path, ValueError("its metadata is no JSON object"))
  return {str(key): str(value) for key, value in texts.items()}


def training_note(checkpoint: str | os.PathLike[str], key: str) -> str:
  """Return a note that a training left in a file; '' if there is none.

  Args:
    checkpoint: `.safetensors` with metadata, or torch's with `meta` beside the
      state dict, as mmcv writes it.

  Raises:
    UserError: it is damaged.
    ImportError: its reader is not installed.
  """
  path = paths.parse(checkpoint)
  if _READERS.get(path.suffix.lower()) is not _torch:
    return metadata(checkpoint).get(key, "")
  with paths.local_copy(path) as place:
    loaded = _load_torch(pathlib.Path(place))
  meta = loaded.get("meta") if isinstance(loaded, Mapping) else None
  return str(meta.get(key, "")) if isinstance(meta, Mapping) else ""


def _read(path: pathlib.Path) -> Arrays:
  if path.is_dir():
    inside = file_of(epath.Path(path))
    if inside is None:
      _check_ended(path)
      return _plain(path, _orbax(path))
    return _read(pathlib.Path(inside))
  if path.name.endswith(INDEX):
    return _shards(path)
  suffix = path.suffix.lower()
  if suffix not in _READERS:
    raise errors.UserError(
      f"{path}: got the ending {path.suffix!r}, expected one of"
      f" {', '.join(_READERS)} or an orbax directory. If the file is such a checkpoint,"
      " give it that ending."
    )
  reading.file_size(
    path
  )  # refuses pipes and devices, which would wait for ever
  return _plain(path, _READERS[suffix](path))


def existing(checkpoint: str | os.PathLike[str]) -> epath.Path:
  """Return a path that exists.

  Raises:
    FileNotFoundError: nothing is there.
    UserError: `checkpoint` is no path.

  """
  if not isinstance(checkpoint, (str, os.PathLike)) or not str(checkpoint):
    raise errors.UserError(
      f"Got {checkpoint!r} as a checkpoint, expected a path."
    )
  try:
    path = paths.parse(checkpoint).expanduser()
    if path.exists():
      return path
    linked = ""
    if paths.is_local(path):
      linked = (
        f": a link to {os.readlink(path)}" if os.path.islink(path) else ""
      )
      with contextlib.suppress(FileNotFoundError):
        os.stat(path)  # says what else is wrong with the name
  except errors.UserError:
    raise
  except (OSError, ValueError, RuntimeError) as e:
    raise errors.UserError(
      f"{str(checkpoint)[:300]}: no path of a checkpoint: {e}."
    ) from e
  raise FileNotFoundError(f"No checkpoint at {path.resolve()}{linked}.")


def hub_order(names: Iterable[str]) -> list[str]:
  """Return names of a hub's files for one checkpoint, the first to read first.

  Safetensors come before torch's files, and a single file before the index of
  several.

  >>> hub_order(["pytorch_model.bin", "model.safetensors", "README.md"])
  ['model.safetensors', 'pytorch_model.bin']
  """
  present = set(names)
  return [name for name in _HUB_NAMES if name in present]


def file_of(checkpoint: epath.Path) -> epath.Path | None:
  """Return the file that holds a checkpoint, or its index; None for orbax folders."""
  if not checkpoint.is_dir():
    return checkpoint
  present = hub_order(paths.names(checkpoint))
  _check_mean(checkpoint, present)
  return checkpoint / present[0] if present else None


def classes_of_training(checkpoint: str | os.PathLike[str]) -> int | None:
  """Return the number of classes of a training, from its workdir or weights in it.

  The result is None for other checkpoints.
  """
  folder = weights_file.folder_of(existing(checkpoint))
  disclosure = folder / weights_file.DISCLOSURE
  listed = reading.json_file(disclosure) if disclosure.exists() else {}
  return len(listed.get("classes", ())) or None


def _check_mean(folder: epath.Path, present: Sequence[str]) -> None:
  """Refuse a training's workdir whose mean of the weights is missing."""
  disclosure = folder / weights_file.DISCLOSURE
  if weights_file.EMA_FILE in present or not disclosure.exists():
    return
  if reading.json_file(disclosure).get("weights_ema"):
    raise errors.UserError(
      f"{folder}: {weights_file.EMA_FILE} is missing, the weights that"
      f" {weights_file.DISCLOSURE} describes. Bring it back, or"
      f" name the weights of the last step: {folder / weights_file.FILE}."
    )


def _check_ended(folder: pathlib.Path) -> None:
  """Refuse the workdir of a training that has no weights yet."""
  name, key = _TRAINING_MARK
  record = reading.json_file(folder / name) if (folder / name).exists() else ()
  if key in record:
    raise errors.UserError(
      f"{folder}: the training there has not ended: it has no {weights_file.FILE}"
      " yet. Run its robust-tfds train command again, which continues it."
    )


def _shards(path: pathlib.Path) -> Arrays:
  """Read the arrays of all files that an index names."""
  arrays: Arrays = {}
  for name in shard_names(path):
    part = _read(path.with_name(name))
    twice = sorted(set(part) & set(arrays))
    if twice:
      raise errors.UserError(
        f"{path}: {twice[0]} stands in two of its files, once more in {name}."
      )
    arrays |= part
  return arrays


def shard_names(index: str | os.PathLike[str]) -> list[str]:
  """Return the names of the files in the same folder that an index lists.

  Raises:
    UserError: it is no index of files, or a name leaves the folder.
  """
  facts = reading.json_file(index)
  places = facts.get("weight_map") if isinstance(facts, dict) else None
  if not isinstance(places, dict) or not places:
    raise errors.UserError(
      f"{index}: no index of a checkpoint's files, expected a weight_map: name"
      " of an array -> file."
    )
  names = list(dict.fromkeys(places.values()))
  for name in names:
    plain = isinstance(name, str) and name == pathlib.PurePath(name).name
    if not plain or not name.endswith((".safetensors", ".bin")):
      raise errors.UserError(
        f"{index}: weight_map: got {str(name)[:80]!r}, expected the name of a"
        " .safetensors or .bin file in its own folder."
      )
  return names


def _npz(path: pathlib.Path) -> Mapping[str, Any]:
  return reading.npz_file(path)


def _safetensors(path: pathlib.Path) -> Mapping[str, Any]:
  import safetensors

  offsets = _offsets(path)
  try:
    with safetensors.safe_open(path, framework="flax") as file:
      names = sorted(file.keys(), key=offsets.__getitem__)
      return {name: np.asarray(file.get_tensor(name)) for name in names}
  except AttributeError as e:  # how it says that NumPy has no such numbers
    raise errors.UserError(
      f"{path}: holds numbers that are not read here ({e}), expected float32,"
      " float16 or bfloat16. Convert them first."
    ) from e
  except (safetensors.SafetensorError, ValueError, TypeError, KeyError) as e:
    raise _damaged_error(path, e) from e


def _header(path: pathlib.Path | epath.Path) -> dict[str, Any]:
  """Read the JSON object before the arrays of a `.safetensors` file."""
  size = reading.file_size(path)
  with paths.opened(path) as file:
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if len(head) < 8 or length > size - 8:
      raise _damaged_error(path, ValueError("it ends inside its header"))
    header = reading.json_text(file.read(length), f"{path}: its header")
  if not isinstance(header, dict):
    raise _damaged_error(path, ValueError("its header is no JSON object"))
  return header


def _offsets(path: pathlib.Path) -> dict[str, int]:
  """Return where each array starts: the order of writing is the network's order."""
  starts = {}
  for name, entry in _header(path).items():
    if name == "__metadata__":
      continue
    places = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not isinstance(places, list) or not places:
      raise _damaged_error(
        path, ValueError(f"the header does not say where {name} lies")
      )
    starts[name] = places[0]
  return starts


def _torch(path: pathlib.Path) -> Mapping[str, Any]:
  loaded = _load_torch(path)
  import torch

  arrays = {}
  for name, value in _unwrap(path, loaded).items():
    if isinstance(value, torch.Tensor):
      arrays[_name(path, name)] = _tensor_array(path, name, value)
  return arrays


def _load_torch(path: pathlib.Path) -> Any:
  """Load what torch saved, only arrays and plain values."""
  try:
    import torch
  except ImportError as error:
    raise errors.missing_package_error(
      "torch",
      "convert",
      f"{path.name}, a torch checkpoint (or convert it once elsewhere to"
      " .safetensors or .npz),",
    ) from error
  try:
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")  # about archives that are refused below
      return torch.load(path, map_location="cpu", weights_only=True)
  except MemoryError:
    raise
  except Exception as error:  # torch has no error of its own
    raise _refused_error(path, error) from error


def _refused_error(path: pathlib.Path, error: Exception) -> errors.UserError:
  """Return the error for code or damage, without torch's advice on how to run
  the code.
  """
  named = re.search(r"GLOBAL ([\w.]+)", str(error))
  what = f" (here {named[1]})" if named else ""
  if "TorchScript" in str(error):
    what = " (it is a TorchScript archive)"
  if not what and isinstance(error, pickle.UnpicklingError):
    return _damaged_error(path, ValueError("its pickle is broken"))
  if not what:
    return _damaged_error(path, error)
  return errors.UserError(
    f"{path} holds more than arrays{what} and was refused: a pickle can run code"
    " when it is read. Save its state_dict() alone, or as .safetensors."
  )


def _name(path: pathlib.Path, name: Any) -> str:
  if not isinstance(name, str):
    raise errors.UserError(
      f"{path}: the key {name!r} is a {type(name).__name__}, expected the name of"
      " an array."
    )
  return name


def _tensor_array(path: pathlib.Path, name: str, value: Any) -> np.ndarray:
  import torch

  if value.layout != torch.strided or value.is_quantized or value.is_meta:
    kind = value.dtype if value.is_quantized else value.layout
    raise errors.UserError(
      f"{path}: {name} is a tensor of {'no data' if value.is_meta else kind},"
      " expected a plain one: convert it before it is saved."
    )
  value = value.detach().resolve_conj()
  if value.is_floating_point():
    value = value.to(torch.float32)
  array: np.ndarray = value.numpy()
  return array


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
  from models.convert import caffemodel

  try:
    return caffemodel.read(path.read_bytes())
  except ValueError as error:
    raise _damaged_error(path, error) from error


def _orbax(path: pathlib.Path) -> Mapping[str, Any]:
  import orbax.checkpoint as ocp

  from models import variables

  try:
    with _without_echo(), ocp.PyTreeCheckpointer() as checkpointer:
      _check_promises(path, checkpointer.metadata(path.absolute()))
      tree = checkpointer.restore(path.absolute())
  except errors.UserError:
    raise
  except Exception as error:  # its stores have no error of their own
    raise _damaged_error(path, error) from error
  return {"/".join(p): leaf for p, leaf in variables.flatten(tree).items()}


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
  """Suppress the errors of further arrays after the first one that fails.

  Orbax closes its event loop then, while they are still being read.
  """
  before = sys.unraisablehook

  def hook(unraisable: Any) -> None:
    if "Event loop is closed" not in str(unraisable.exc_value):
      before(unraisable)

  sys.unraisablehook = hook
  try:
    yield
  except BaseException:
    time.sleep(0.1)  # for those that are being read
    raise
  finally:
    sys.unraisablehook = before


def _check_promises(path: pathlib.Path, metadata: Any) -> None:
  """Refuse arrays that the folder's files cannot hold; they would end the process."""
  import jax
  import orbax.checkpoint as ocp

  tree = metadata.item_metadata
  leaves = [
    leaf
    for leaf in jax.tree.leaves(tree and tree.tree)
    if isinstance(leaf, ocp.metadata.ArrayMetadata)
  ]
  promised = sum(
    math.prod(x.shape) * np.dtype(x.dtype).itemsize for x in leaves
  )
  held = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
  if promised > limits.UNPACKED_RATIO * held:
    largest = max(leaves, key=lambda x: math.prod(x.shape))
    raise errors.UserError(
      f"{path}: the arrays promise {promised:,} bytes, e.g. {largest.name} of"
      f" shape {largest.shape}, and its files have {held:,}. It is damaged: fetch"
      " it again."
    )
  limits.check_arrays(promised, str(path))


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
ENDINGS = tuple(_READERS)


def _plain(path: pathlib.Path, arrays: Mapping[str, Any]) -> Arrays:
  """Return float arrays as float32; refuse anything that is no number."""
  out = {}
  for name, value in arrays.items():
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
      raise errors.UserError(
        f"{path}: {name} is {array.dtype}, expected real numbers."
      )
    if array.dtype.kind not in "iub":
      with np.errstate(over="ignore"):  # infinite then, which is refused
        array = array.astype(np.float32)
    out[name] = array
  if not out:
    raise errors.UserError(f"{path} holds no arrays.")
  return out


def _format(path: pathlib.Path | epath.Path) -> str:
  return "orbax" if path.is_dir() else path.suffix


def _damaged_error(
  path: pathlib.Path | epath.Path, error: Exception
) -> errors.UserError:
  size = "directory"
  if path.is_file():
    size = f"{path.stat().st_size:,} bytes"
  lines = str(error).strip().splitlines() or ["its reader gives no reason"]
  reason = lines[0][:200]
  return errors.UserError(
    f"{path} ({size}) cannot be read as {_format(path)}: {reason}."
    " It is truncated, or of another format: fetch it again and compare its"
    " checksum."
  )

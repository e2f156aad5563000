"""How fast pictures are read: ours beside bare Pillow and torch, on the same cores.

  taskset -c 0,1 python -m benchmarks.input [--pictures=FOLDER] [--count=300]

Photographs (made ones, or a folder's JPEG files again and again) from a folder, a
tar, a prepared set and a training's folder. For evaluation each becomes its central
224 px of 256, for training a random crop of 224. Beside them what Pillow alone takes
for the same, in this process and in one process a core, and a torch DataLoader of
as many. Each first pass counts after what it imports is there; of processes, the
second. Prints pictures/s, also a core, the share of Pillow's in as many processes,
and the CPU of this process.
"""

from __future__ import annotations

import concurrent.futures
import functools
import importlib.util
import multiprocessing
import pathlib
import random
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from absl import flags
from PIL import Image

from benchmarks import pictures
from eval.pipeline import inputs
from models.training import data as training_data
from robust_tfds import command, cores, datasets
from robust_tfds.building.sources import imagenet

_SHORT, _SIDE, _BATCH = 256, 224, 64
_FOLDERS = ("folder", "train")


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_integer("count", 300, "Pictures.")
  flags.DEFINE_string("pictures", "", "Folder of JPEG files.")


def central(path: str) -> np.ndarray:
  """Return what Pillow makes of a file for evaluation: uint8 `[224, 224, 3]`."""
  picture = Image.open(path).convert("RGB")
  scale = _SHORT / min(picture.size)
  width, height = (round(n * scale) for n in picture.size)
  small = picture.resize((width, height), Image.Resampling.BILINEAR)
  left, top = (width - _SIDE) // 2, (height - _SIDE) // 2
  return np.asarray(small.crop((left, top, left + _SIDE, top + _SIDE)))


def cropped(path: str) -> np.ndarray:
  """Return what Pillow makes of a file for training: uint8 `[224, 224, 3]`."""
  picture = Image.open(path).convert("RGB")
  part = random.uniform(0.08, 1) ** 0.5
  width, height = (max(int(n * part), 1) for n in picture.size)
  left = random.randint(0, picture.width - width)
  top = random.randint(0, picture.height - height)
  box = (left, top, left + width, top + height)
  side = (_SIDE, _SIDE)
  return np.asarray(picture.resize(side, Image.Resampling.BILINEAR, box))


def used(make: Callable[[str], np.ndarray], path: str) -> int:
  """Return one level of a picture: pixels stay in the process."""
  return int(make(path)[0, 0, 0])


class Files:
  """A torch Dataset of files."""

  def __init__(self, paths: Sequence[str], make: Callable[[str], np.ndarray]):
    """Keep what is read, and how."""
    self._paths, self._make = paths, make

  def __len__(self) -> int:
    """Return the number of files."""
    return len(self._paths)

  def __getitem__(self, place: int) -> np.ndarray:
    """Return a file's pixels."""
    return self._make(self._paths[place]).copy()  # torch wants to own them


def evaluation(root: pathlib.Path, name: str) -> Callable[[], int]:
  """Return a pass of a run over the pictures of a folder or a tar."""
  options = {"codec": "raw", "data_dir": root / "none"}
  builder: Any = datasets.builder("imagenet_c", "clean", **options)
  listed = builder.unprepared(root / name)
  source = inputs.FromFiles(builder, builder.SPLIT, listed, batch_size=_BATCH)
  return lambda: sum(int(batch.mask.sum()) for batch in source.batches())


def prepared(root: pathlib.Path) -> Callable[[], int]:
  """Return a pass of a run over a prepared set."""
  options = {"codec": "raw", "data_dir": root / "sets"}
  folder = root / _FOLDERS[0]
  builder = datasets.prepare(
    "imagenet_c", "clean", manual_dir=folder, say=_silent, **options
  )
  source = inputs.Source(builder, "validation", batch_size=_BATCH)
  return lambda: sum(int(batch.mask.sum()) for batch in source.batches())


def _silent(line: str) -> None:
  del line


def training(root: pathlib.Path, cache: str = "") -> Callable[[], int]:
  """Return an epoch of a training from a folder, or from a cache beside it."""
  source = training_data.open(
    training_data.Config(
      source=f"folder:{root / _FOLDERS[1]}",
      crop=f"random_resized{_SIDE}",
      geometry=f"short{_SHORT}_crop{_SIDE}",
      cache=cache,
    )
  )
  once = {"batch_size": _BATCH, "seed": 0, "epoch": 0, "remainder": "keep"}
  return lambda: sum(len(batch["id"]) for batch in source.batches(**once))


def write(root: pathlib.Path, count: int, folder: str) -> list[str]:
  """Write the pictures as a folder, a tar and a training's; return their paths."""
  pictures.write(root / "folder" / "val" / "n01440764", count, folder)
  files = sorted((root / "folder").rglob("*.JPEG"))
  (root / "tar").mkdir()
  with tarfile.open(root / "tar" / imagenet.VALIDATION_TAR, "w") as archive:
    for file in files:
      archive.add(file, file.name)
  for place, file in enumerate(files):
    copy = root / "train" / f"class_{place % 2}" / file.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    # No two alike: what follows a JPEG's end is not read.
    copy.write_bytes(file.read_bytes() + str(place).encode())
  return [str(file) for file in files]


def took(call: Callable[[], object]) -> tuple[float, float]:
  """Return the seconds of the clock and of this process' CPU."""
  wall, cpu = time.perf_counter(), time.process_time()
  call()
  return time.perf_counter() - wall, time.process_time() - cpu


def by_processes(
  paths: Sequence[str], make: Callable[[str], np.ndarray], count: int
) -> tuple[float, float]:
  """Return what Pillow takes in several processes that have started."""
  context = multiprocessing.get_context("spawn")
  work = functools.partial(used, make)
  with concurrent.futures.ProcessPoolExecutor(count, context) as pool:
    list(pool.map(work, paths, chunksize=8))
    return took(lambda: list(pool.map(work, paths, chunksize=8)))


def by_torch(
  paths: Sequence[str], make: Callable[[str], np.ndarray], count: int
) -> tuple[float, float] | None:
  """Return what a DataLoader takes whose processes have started."""
  if not importlib.util.find_spec("torch"):
    return None
  from torch.utils import data

  loader = data.DataLoader(
    Files(paths, make),  # type: ignore[arg-type]
    batch_size=_BATCH,
    num_workers=count,
    multiprocessing_context="spawn",
    persistent_workers=True,
  )
  list(loader)
  return took(lambda: list(loader))


def measured(root: pathlib.Path, count: int) -> dict[str, Any]:
  """Return the (clock, CPU) seconds of every way to read the pictures."""
  paths = write(root, count, flags.FLAGS.pictures)
  out: dict[str, Any] = {}
  threads = cores.usable()
  for make in (central, cropped):
    what = make.__name__
    out[f"{what}, Pillow"] = took(lambda m=make: [m(path) for path in paths])
    out[f"{what}, Pillow, {threads} processes"] = by_processes(
      paths, make, threads
    )
    out[f"{what}, torch DataLoader"] = by_torch(paths, make, threads)
  out["central, ours from a folder"] = took(evaluation(root, "folder"))
  out["central, ours from a tar"] = took(evaluation(root, "tar"))
  out["central, ours prepared"] = took(prepared(root))
  training(root)()  # what it imports and compiles
  out["cropped, ours from a folder"] = took(training(root))
  kept = training(root, str(root / "cache"))
  kept()  # fills it
  out["cropped, ours from the cache"] = took(kept)
  return out


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  count, threads = flags.FLAGS.count, cores.usable()
  with tempfile.TemporaryDirectory() as root:
    rows = measured(pathlib.Path(root), count)
  print(f"{count} pictures, {threads} cores")
  print(f"{'':36s}{'/s':>8s}{'/s a core':>11s}{'of Pillow':>11s}{'CPU ms':>8s}")
  for name, seconds in rows.items():
    if seconds is None:
      print(f"{name:36s} not installed")
      continue
    wall, cpu = seconds
    pillow, _ = rows[f"{name.partition(',')[0]}, Pillow, {threads} processes"]
    print(
      f"{name:36s}{count / wall:8.0f}{count / wall / threads:11.0f}"
      f"{pillow / wall:11.2f}{1e3 * cpu / count:8.2f}"
    )


if __name__ == "__main__":
  command.run(main, define_flags)

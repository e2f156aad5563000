"""How fast pictures are read: ours beside Pillow, torch, tf.data and grain.

  taskset -c 0,1 python -m benchmarks.input [--pictures=FOLDER] [--count=300]

Photographs (made ones, or a folder's JPEG files again and again) from a folder, a
tar, sets prepared as ArrayRecord and as TFRecord, a training's folder, sets of TFDS
of the same files, and a training's cache. For
evaluation each becomes its central 224 px of 256, for training a random crop of 224.
Beside them what others take for the same on the same cores: Pillow alone, in this
process and in one process a core; a torch DataLoader of as many, around Pillow and
around torchvision's transforms; grain's threads around Pillow; tf.data, which decodes
and resizes by itself, to other pixels. A pass counts once what it imports and starts
is there. Prints pictures/s, also a core, the share of Pillow's in as many processes;
and CPU ms a picture, of child processes too, beside Pillow's in this process, which
hardly depend on what else the machine does.
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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import psutil
import tensorflow_datasets as tfds
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


def central_torchvision(path: str) -> np.ndarray:
  """Return what torchvision makes of a file for evaluation."""
  from torchvision import transforms

  picture = Image.open(path).convert("RGB")
  steps = transforms.Resize(_SHORT), transforms.CenterCrop(_SIDE)
  return np.asarray(transforms.Compose(steps)(picture))


def cropped_torchvision(path: str) -> np.ndarray:
  """Return what torchvision makes of a file for training."""
  from torchvision import transforms

  picture = Image.open(path).convert("RGB")
  return np.asarray(transforms.RandomResizedCrop(_SIDE)(picture))


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


def prepared(root: pathlib.Path, file_format: str) -> Callable[[], int]:
  """Return a pass of a run over a prepared set."""
  options = {"codec": "raw", "data_dir": root / file_format}
  builder = datasets.prepare(
    "imagenet_c",
    "clean",
    manual_dir=root / _FOLDERS[0],
    say=_silent,
    file_format=file_format,
    **options,
  )
  source = inputs.Source(builder, "validation", batch_size=_BATCH)
  return lambda: sum(int(batch.mask.sum()) for batch in source.batches())


def _silent(line: str) -> None:
  del line


class BenchmarkPhotographs(tfds.core.GeneratorBasedBuilder):
  """A training's pictures as a set of TFDS, which lies beside their folder."""

  VERSION = tfds.core.Version("1.0.0")
  pkg_dir_path = None

  def _info(self) -> tfds.core.DatasetInfo:
    features = {
      "image": tfds.features.Image(encoding_format="jpeg"),
      "label": tfds.features.ClassLabel(num_classes=2),
    }
    return tfds.core.DatasetInfo(
      builder=self, features=tfds.features.FeaturesDict(features)
    )

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    del dl_manager
    return {"train": self._generate_examples()}

  def _generate_examples(self) -> Iterator[tuple[int, dict[str, Any]]]:
    root = pathlib.Path(self._data_dir_root).parent / _FOLDERS[1]
    for place, file in enumerate(sorted(root.rglob("*.JPEG"))):
      yield place, {"image": file, "label": place % 2}


def training(
  root: pathlib.Path, cache: str = "", file_format: str = ""
) -> Callable[[], int]:
  """Return an epoch of a training from a folder, a set of TFDS or a cache."""
  where = {"source": f"folder:{root / _FOLDERS[1]}"}
  if file_format:
    place = str(root / f"train_{file_format}")
    kind: Any = BenchmarkPhotographs
    made = kind(data_dir=place, file_format=file_format)
    made.download_and_prepare()
    where = {"source": f"tfds:{made.name}", "data_dir": place}
  source = training_data.open(
    training_data.Config(
      **where,
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
  """Return the seconds of the clock and of CPUs, of living child processes too."""
  wall, cpu = time.perf_counter(), _cpu()
  call()
  return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
  """Return the CPU seconds of this process and its children."""
  family = [psutil.Process(), *psutil.Process().children(recursive=True)]
  return sum(sum(process.cpu_times()[:2]) for process in family)


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


def by_grain(
  paths: Sequence[str], make: Callable[[str], np.ndarray], count: int
) -> tuple[float, float]:
  """Return what grain's threads take around Pillow."""
  import grain

  options = grain.ReadOptions(num_threads=count, prefetch_buffer_size=_BATCH)
  made = grain.MapDataset.source(paths).map(make).to_iter_dataset(options)
  return took(lambda: sum(1 for _ in made))


def by_tf_data(paths: Sequence[str], count: int) -> tuple[float, float] | None:
  """Return what tf.data takes for central crops, without antialiasing."""
  if not importlib.util.find_spec("tensorflow"):
    return None
  import tensorflow as tf

  tf.config.set_visible_devices([], "GPU")

  @tf.autograph.experimental.do_not_convert
  def make(path: Any) -> Any:
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    sides = tf.cast(tf.shape(picture)[:2], tf.float32)
    scaled = tf.round(sides * _SHORT / tf.reduce_min(sides))
    small = tf.image.resize(picture, tf.cast(scaled, tf.int32))
    return tf.cast(
      tf.image.resize_with_crop_or_pad(small, _SIDE, _SIDE), tf.uint8
    )

  paths_set = tf.data.Dataset.from_tensor_slices(list(paths))
  made = paths_set.map(make, count, deterministic=True).batch(_BATCH)
  list(made.take(1))
  return took(lambda: sum(1 for _ in made.as_numpy_iterator()))


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
    out[f"{what}, grain"] = by_grain(paths, make, threads)
  for make in (central_torchvision, cropped_torchvision):
    if importlib.util.find_spec("torchvision"):
      what = make.__name__.replace("_", ", ")
      out[what] = by_torch(paths, make, threads)
  out["central, tf.data"] = by_tf_data(paths, threads)
  out["central, ours from a folder"] = took(evaluation(root, "folder"))
  out["central, ours from a tar"] = took(evaluation(root, "tar"))
  for name in ("array_record", "tfrecord"):
    if name != "tfrecord" or importlib.util.find_spec("tensorflow"):
      out[f"central, ours from {name}"] = took(prepared(root, name))
  training(root)()  # what it imports and compiles
  out["cropped, ours from a folder"] = took(training(root))
  for name in ("array_record", "tfrecord"):
    if name != "tfrecord" or importlib.util.find_spec("tensorflow"):
      training(root, "", name)()
      out[f"cropped, ours from {name}"] = took(training(root, "", name))
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
  heads = ("/s", 8), ("/s a core", 11), ("of Pillow", 11), ("CPU ms", 8)
  print(
    " " * 36, *(f"{w:>{n}s}" for w, n in (*heads, ("x Pillow", 10))), sep=""
  )
  for name, seconds in rows.items():
    if seconds is None:
      print(f"{name:36s} not installed")
      continue
    wall, cpu = seconds
    what = name.partition(",")[0]
    pillow, _ = rows[f"{what}, Pillow, {threads} processes"]
    print(
      f"{name:36s}{count / wall:8.0f}{count / wall / threads:11.0f}"
      f"{pillow / wall:11.2f}{1e3 * cpu / count:8.2f}"
      f"{cpu / rows[f'{what}, Pillow'][1]:10.2f}"
    )


if __name__ == "__main__":
  command.run(main, define_flags)

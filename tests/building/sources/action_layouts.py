"""Small clips, and a case that lays them out as official sets."""

import json

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import datasets, movies
from tests import in_folder, tiny_files


def clip(seed=0, frames=6):
  rng = np.random.default_rng(seed)
  still = np.kron(rng.integers(0, 256, (4, 5, 3)), np.ones((8, 8, 1)))
  still = still.astype(np.uint8)
  return np.stack([np.roll(still, 2 * i, 1) for i in range(frames)])


def avi(seed=0, fps=25.0):
  return movies.encode(
    clip(seed),
    codec="ffv1",
    options={},
    pixel_format="bgr0",
    container="avi",
    fps=fps,
  )


def class_names(count: int, *names: str) -> list[str]:
  """As many classes as a benchmark has: these, then made ones."""
  return [*names, *(f"Class{i}" for i in range(len(names), count))]


def class_ind(*names: str) -> str:
  """UCF101's classInd.txt, which begins with these classes."""
  listed = enumerate(class_names(101, *names), 1)
  return "".join(f"{number} {name}\n" for number, name in listed)


def ssv2_labels(*templates: str) -> str:
  """Something-Something's 174 labels, which begin with these templates."""
  listed = enumerate(class_names(174, *templates))
  return json.dumps({name: str(number) for number, name in listed})


class Layout(in_folder.TestCase):
  """A set's sources in their official layout, below `root`."""

  NAME = ""
  SPLIT = "test"

  def _put(self, path, data):
    tiny_files.put(self.root, {path: data})

  def _write(self, files):
    tiny_files.put(self.root, files)

  def _prepared(self, config="clean", **options):
    return datasets.prepare(
      self.NAME,
      config,
      data_dir=self.create_tempdir().full_path,
      manual_dir=self.root,
      **options,
    )

  def _rows(self, config="clean", **options):
    built = self._prepared(config, **options)
    return list(tfds.as_numpy(built.as_dataset(split=self.SPLIT)))

  def _build(self, config="clean", **options):
    rows = self._rows(config, **options)
    return {e["example_id"].decode(): e for e in rows}

  def _labels(self):
    return {k: int(v["label"]) for k, v in self._build().items()}


class ObjectsLayout(Layout):
  """Of a set of objects: its examples by the numbers of their images."""

  SPLIT = "validation"

  def _build(self, config="clean", **options):
    rows = self._rows(config, **options)
    return {int(e["image_id"]): e for e in rows}

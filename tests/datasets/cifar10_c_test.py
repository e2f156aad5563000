"""CIFAR-10-C made and published: the authors' pixels, and a run of both ways."""

import functools
import pathlib
import shutil
import tempfile
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

import robust_tfds
from configs import cifar10_c as cifar10_c_config
from eval.cells import table
from eval.readers import base as readers_base
from eval.run import plan as plan_lib
from eval.run import runner
from eval.run.results import rescore
from models import adapters
from models.spec import Spec
from robust_tfds import conditions, corruptions, datasets
from robust_tfds.building.sources import cifar, published_arrays
from robust_tfds.datasets.digits import digits_dataset_builder
from tests.building.sources import cifar_layouts
from tests.datasets import golden_pictures

_N = 24
_NAMES = ("gaussian_noise", "contrast")
_SEVERITIES = (2, 4)  # of a run; the published files have all


def build() -> adapters.Adapted:
  """A model of another program: whole numbers, so that NumPy agrees exactly."""
  spec = Spec(
    input_px=32,
    resize="squash",
    resize_px=32,
    scale=1.0,
    mean=(0, 0, 0),
    std=(1, 1, 1),
    num_classes=10,
    label_space="cifar10",
  )
  return adapters.get("callable")(_logits, spec, name="few_pixels")


def _logits(batch: jax.Array) -> jax.Array:
  weights = jnp.asarray(_weights(), jnp.float32)
  return jnp.matmul(_few(batch), weights, precision=jax.lax.Precision.HIGHEST)


def _top1(images: np.ndarray) -> np.ndarray:
  """The same model in NumPy: class ids of uint8 `[N, 32, 32, 3]`."""
  return (_few(images).astype(np.int64) @ _weights()).argmax(1)


def _few(images):
  """Some pixels of `[N, 32, 32, 3]`: `[N, 192]`."""
  return images[:, 1::4, 1::4].reshape(-1, 192)


@functools.cache
def _weights() -> np.ndarray:
  """How other digits of a class differ from the mean: int `[192, 10]`."""
  others = digits_dataset_builder.sources("test")[_N:]
  pixels = _few(np.stack([s.picture.read() for s in others]))
  labels = np.array([s.label for s in others])
  means = np.stack([pixels[labels == k].mean(0) for k in range(10)], 1)
  return np.rint((means - means.mean(1, keepdims=True)) / 16).astype(np.int64)


def _by_id(builder) -> dict[str, tuple[int, np.ndarray]]:
  rows = tfds.as_numpy(builder.as_dataset(split="test"))
  return {r["example_id"].decode(): (int(r["label"]), r["image"]) for r in rows}


class GoldenTest(absltest.TestCase):
  def test_the_authors_pixels_through_the_builder(self):
    few = ("brightness", "contrast", "pixelate")  # the rest are slow to compile
    self._check_pixels({n: golden_pictures.ONE_SEVERITY[n] for n in few})

  @pytest.mark.slow
  def test_the_authors_pixels_of_every_severity(self):
    self._check_pixels(golden_pictures.ALL_SEVERITIES)

  def _check_pixels(self, severities):
    image = golden_pictures.picture("cifar32")
    manual = pathlib.Path(self.create_tempdir().full_path)
    label = np.array([3], np.uint8)
    cifar_layouts.write_binary(manual, cifar.CIFAR10, image[None], label)
    for name in severities:
      for severity, expected in golden_pictures.outputs("cifar32", name):
        if severity not in severities[name]:
          continue
        built = datasets.prepare(
          "cifar10_c",
          f"{name}_{severity}",
          data_dir=self.create_tempdir().full_path,
          manual_dir=manual,
        )
        ((_, stored),) = _by_id(built).values()
        golden_pictures.check(self, name, stored, expected)


class BothWaysTest(parameterized.TestCase):
  """Digits in CIFAR's layout: corrupted by us, and as if published."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = pathlib.Path(tempfile.mkdtemp(prefix="cifar10_c"))
    cls.addClassCleanup(shutil.rmtree, cls.root)
    small = mock.patch.object(published_arrays, "IMAGES", _N)
    small.start()
    cls.addClassCleanup(small.stop)
    cls.manual = cls.root / "manual"
    cls.manual.mkdir()
    sources = digits_dataset_builder.sources("test")[:_N]
    cls.images = np.stack([s.picture.read() for s in sources])
    cls.labels = np.array([s.label for s in sources])
    cls.ids = [cifar.example_id(i) for i in range(_N)]
    cifar_layouts.write_binary(
      cls.manual, cifar.CIFAR10, cls.images, cls.labels
    )
    for name in _NAMES:
      cifar_layouts.write_published(
        cls.manual, cifar.CIFAR10, name, cls._corrupted(name), cls.labels
      )

  @classmethod
  def _corrupted(cls, name: str) -> np.ndarray:
    """All severities by the library: uint8 `[5, N, 32, 32, 3]`."""
    out = []
    for severity in conditions.SEVERITIES:
      condition = conditions.Condition(name, severity)
      keys = jnp.asarray(condition.keys(0, "cifar10_c", cls.ids))
      out.append(
        corruptions.corrupt_batch(
          cls.images, name, severity, edition="cifar10", keys=keys
        )
      )
    return np.stack([np.asarray(o) for o in out])

  def _run(self, folder: str, **data) -> list[table.Row]:
    config = cifar10_c_config.get_config(f"{__name__}:build").unlock()
    config.model.label = "mine"
    config.data.manual_dir = str(self.manual)
    config.data.data_dir = str(self.root / "data")
    config.data.corruptions = ",".join(_NAMES)
    config.data.severities = _SEVERITIES
    config.reports = folder != "made"
    config.data.update(data)
    workdir = self.root / folder
    return runner.Runner(plan_lib.make(config.lock()), workdir).run()

  def _score(self) -> tuple[str, list[table.Row]]:
    """Predictions that NumPy makes of the arrays as they lie on disk."""
    lines = ["model,corruption,severity,example_id,label,top1"]

    def add(name, severity, images):
      for i, top1 in enumerate(_top1(images)):
        lines.append(
          f"mine,{name},{severity},{self.ids[i]},{self.labels[i]},{top1}"
        )

    add("", 0, self.images)
    for name in _NAMES:
      array = np.load(self.manual / "CIFAR-10-C" / f"{name}.npy")
      for severity in _SEVERITIES:
        add(name, severity, array[_N * (severity - 1) : _N * severity])
    path = self.root / "theirs.csv"
    path.write_text("\n".join(lines) + "\n")
    chosen = self.root / "chosen.txt"
    chosen.write_text("\n".join(map(str, self.ids)))
    options = readers_base.Options(dataset="cifar10_c", subset=str(chosen))
    text = rescore.score([path], self.root / "scored", options)
    return text, table.read(self.root / "scored" / "table.csv")

  @pytest.mark.slow
  def test_a_run_of_both_ways_and_a_score_agree(self):
    fly = _numbers(self._run("fly"))
    made = _numbers(self._run("made", source="prepared"))
    published = _numbers(
      self._run("published", source="prepared", codec="published")
    )
    text, rows = self._score()
    self.assertLen(fly, 5 + 2 + 1)  # cells, means of corruptions, clean error
    self.assertGreater(len(set(fly.values())), 3)
    self.assertEqual(fly, made)
    self.assertEqual(fly, published)
    self.assertEqual(fly, _numbers(rows))
    why = (
      "plain means only; AlexNet's published numbers are of imagenet_c and"
      " imagenet_p, not of cifar10_c"
    )
    self.assertIn(why, text)
    for folder in ("fly", "published"):
      summary = self.root / folder / "reports" / "summary.txt"
      self.assertIn(why, summary.read_text())

  def test_a_model_as_baseline(self):
    config = cifar10_c_config.get_config(f"{__name__}:build").unlock()
    config.baseline = "model:few_pixels"
    plan_lib.make(config)
    config.baseline = "alexnet"
    with self.assertRaisesRegex(ValueError, "not of cifar10_c. Leave the"):
      plan_lib.make(config)

  def test_load_reads_the_arrays_and_nothing_else(self):
    alone = pathlib.Path(self.create_tempdir().full_path)
    (alone / "CIFAR-10-C").mkdir()
    for name in ("gaussian_noise.npy", "labels.npy"):
      shutil.copy(self.manual / "CIFAR-10-C" / name, alone / "CIFAR-10-C")
    loaded = robust_tfds.load(
      "cifar10_c/gaussian_noise_4_published",
      split="test",
      data_dir=self.create_tempdir().full_path,
      download_and_prepare_kwargs={
        "download_config": tfds.download.DownloadConfig(manual_dir=alone)
      },
    )
    array = np.load(alone / "CIFAR-10-C" / "gaussian_noise.npy")
    rows = list(tfds.as_numpy(loaded))
    self.assertLen(rows, _N)
    for row in rows:
      i = int(row["example_id"].decode().removeprefix("test_"))
      np.testing.assert_array_equal(row["image"], array[3 * _N + i])
      self.assertEqual(row["label"], self.labels[i])


def _numbers(rows) -> dict[tuple, float]:
  metrics = ("error", "mean_error", "clean_error")
  return {
    (r.config, r.corruption, r.metric): r.value
    for r in rows
    if r.metric in metrics
  }

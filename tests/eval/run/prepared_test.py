"""On the fly equals prepared: for every corrupted set, pixel for pixel."""

import pathlib
import tempfile

import jax
import ml_collections
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import conditions
from robust_tfds import datasets
from robust_tfds.eval import tasks
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.run import cells
from robust_tfds.eval.tasks import base
from robust_tfds.models.video.spec import VideoSpec
from tests.datasets.sources import small_sets

_NAMES = [n for n in datasets.names() if datasets.builder_class(n).FAMILY]
_TASKS = {
  "pictures": "classification",
  "sequences": "sequences",
  "videos": "video",
}
_OBJECTS = ("cityscapes_c", "coco_c", "digits_detection_c", "pascal_c")
# Noise: the pixels depend on every part of an example's key.
_CONFIGS = {
  "pictures": "gaussian_noise_3",
  "sequences": "shot_noise_2",
  "videos": "speckle_noise_2",
}
# The library's JPEG is decoded by Pillow's rules; TensorFlow reads the prepared
# files with rules of its own.
_LOSSLESS = {"pictures": "raw", "sequences": "png", "videos": "lossless"}
_CLIP = VideoSpec(num_classes=2, frames=4, rate=1, input_px=16, resize_px=16)


def _task(
  name: str, *, fly: bool, seed: int = 0, geometry: str = ""
) -> base.Task:
  family = datasets.builder_class(name).FAMILY
  task = "detection" if name in _OBJECTS else _TASKS[family.kind]
  codec = _LOSSLESS[family.kind]
  setting = base.Setting(
    dataset=name,
    edition=datasets.edition(name, geometry),
    codec="" if fly and task == "video" else codec,
    fly=fly,
    seed=seed,
    data=ml_collections.ConfigDict({"views": 2}),
  )
  return tasks.get(task)(setting)


class PreparedTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    cls.mesh = devices.mesh(jax.local_devices()[:1])

  def _source(self, name, config, codec, **options) -> inputs.Source:
    root = self.folder / name
    root.mkdir(exist_ok=True)
    if codec:
      options["codec"] = codec
    builder = datasets.prepare(
      name,
      config,
      data_dir=self.folder / "data",
      manual_dir=small_sets.MAKERS[name](root),
      limit=3,
      **options,
    )
    (split,) = builder.info.splits
    return inputs.Source(builder, split, batch_size=4)

  def _shown(self, name, condition, *, fly: bool, seed: int = 0, geometry=""):
    """(batch, pixels) that the evaluator shows to a model."""
    task = _task(name, fly=fly, seed=seed, geometry=geometry)
    options = {"geometry": geometry} if geometry else {}
    if fly:
      source = self._source(
        name, task.clean_config, task.clean_codec, **options
      )
    else:
      codec = task.setting.codec
      options["seed"] = seed
      source = self._source(name, condition.config, codec, **options)
    batches = source
    if task.per_model:
      batches = task.batches(source, condition, _CLIP)
    batch = next(iter(batches.batches()))
    images = cells.show(task, condition, batches, batch, self.mesh)
    return batch, images[batch.mask]

  def test_every_set_is_here(self):
    self.assertCountEqual(_NAMES, small_sets.MAKERS)

  @parameterized.parameters(*_NAMES)
  def test_on_the_fly_equals_prepared(self, name):
    family = datasets.builder_class(name).FAMILY
    condition = family.parse(_CONFIGS[family.kind])
    fly, fly_pixels = self._shown(name, condition, fly=True)
    prepared, prepared_pixels = self._shown(name, condition, fly=False)
    self.assertEqual(list(fly.example_id), list(prepared.example_id))
    np.testing.assert_array_equal(fly.frame, prepared.frame)
    np.testing.assert_array_equal(fly_pixels, prepared_pixels)
    clean, clean_pixels = self._shown(name, conditions.Condition(), fly=False)
    self.assertEqual(list(clean.example_id), list(prepared.example_id))
    # A canvas may be black where its picture ends.
    self.assertGreater(np.mean(_first(clean_pixels) != _last(fly_pixels)), 0.1)

  @parameterized.parameters("imagenet_c", "imagenet_p")
  def test_at_299_px(self, name):
    family = datasets.builder_class(name).FAMILY
    condition = family.parse(_CONFIGS[family.kind])
    options = {"geometry": "inception"}
    fly, fly_pixels = self._shown(name, condition, fly=True, **options)
    prepared, pixels = self._shown(name, condition, fly=False, **options)
    self.assertEqual(list(fly.example_id), list(prepared.example_id))
    self.assertEqual(fly_pixels.shape[-3:], (299, 299, 3))
    np.testing.assert_array_equal(fly_pixels, pixels)

  def test_frames_other_than_0(self):
    condition = conditions.Condition("gaussian_noise", 3)
    batch, _ = self._shown("cityscapes_c", condition, fly=True)
    self.assertGreater(batch.frame.max(), 0)

  @parameterized.parameters("digits_c", "digits_p")
  def test_a_seed_of_ones_own(self, name):
    family = datasets.builder_class(name).FAMILY
    condition = family.parse(_CONFIGS[family.kind])
    _, fly = self._shown(name, condition, fly=True, seed=7)
    _, prepared = self._shown(name, condition, fly=False, seed=7)
    _, other = self._shown(name, condition, fly=False, seed=0)
    np.testing.assert_array_equal(fly, prepared)
    self.assertTrue((other != prepared).any())


def _first(pixels: np.ndarray) -> np.ndarray:
  """Pictures as they are; of sequences and clips the first frame."""
  return pixels.reshape(len(pixels), -1, *pixels.shape[-3:])[:, 0]


def _last(pixels: np.ndarray) -> np.ndarray:
  return pixels.reshape(len(pixels), -1, *pixels.shape[-3:])[:, -1]


if __name__ == "__main__":
  absltest.main()

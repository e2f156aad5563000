"""On the fly equals prepared: for every set and codec, byte for byte.

Three things are held equal: what `tfds.load` gives of a condition, what the
evaluator shows of that set to a model, and what it makes of the clean set on the
fly where its task can make the codec.
"""

import pathlib
import tempfile
from unittest import mock

import jax
import ml_collections
import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized

from eval import tasks
from eval.pipeline import inputs
from eval.tasks import base
from models.video.spec import VideoSpec
from robust_tfds import conditions, datasets, devices
from robust_tfds.building import sequences, videos
from robust_tfds.building.sources import cifar, published_arrays
from robust_tfds.reading import videos as video_files
from tests import contracts, quick
from tests.building.sources import cifar_layouts, small_sets
from tests.datasets import natural_videos

_NAMES = [n for n in datasets.names() if datasets.builder_class(n).FAMILY]
_TASKS = {
  "pictures": "classification",
  "sequences": "sequences",
  "videos": "video",
}
_KINDS = {"objects": "detection", "masks": "segmentation"}
# Noise: the pixels depend on every part of an example's key.
_CONFIGS = {
  "pictures": "gaussian_noise_3",
  "sequences": "shot_noise_2",
  "videos": "speckle_noise_2",
}
_OTHERS = {"imagenet_c_bar": "plasma_noise_3", "cifar10_c_bar": "sparkles_3"}
_LOSSLESS = {"pictures": "raw", "sequences": "png", "videos": "lossless"}
_CODECS = [
  (name, codec)
  for name in _NAMES
  for codec in datasets.builder_class(name).CODECS
  if codec != datasets.PUBLISHED
]
# The others are slow tests.
_FAST = [
  (name, codec) for name, codec in _CODECS if name in ("imagenet_c", "digits_p")
]
_EMBEDDED = [n for n in _NAMES if n.startswith("digits")]
_NATURAL = {
  "digits_vid_robust": small_sets.embedded,
  "imagenet_vid_robust": natural_videos.vid,
  "ytbb_robust": natural_videos.ytbb,
}
_CLIP = VideoSpec(num_classes=2, frames=4, rate=1, input_px=16, resize_px=16)


def _task(
  name: str, *, fly: bool, seed: int = 0, geometry: str = "", codec: str = ""
) -> base.Task:
  builder = datasets.builder_class(name)
  family = builder.FAMILY
  task = _KINDS.get(builder.KIND) or _TASKS[family.kind]
  codec = codec or _LOSSLESS[family.kind]
  setting = base.Setting(
    dataset=name,
    edition=datasets.builder_class(name).edition_of(geometry),
    codec="" if fly and task == "video" else codec,
    fly=fly,
    seed=seed,
    data=ml_collections.ConfigDict({"views": 2}),
  )
  return tasks.get(task)(setting)


def _folder(name: str) -> pathlib.Path:
  return pathlib.Path(datasets.__file__).parent / name


def _is_of_videos(name: str) -> bool:
  return datasets.builder_class(name).FAMILY is conditions.VIDEOS


class PreparedTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    cls.mesh = devices.mesh(jax.local_devices()[:1])

  def _source(
    self, name, config, codec, manual_dir=None, limit=3, **options
  ) -> inputs.Source:
    root = self.folder / name
    root.mkdir(exist_ok=True)
    if codec:
      options["codec"] = codec
    builder = datasets.prepare(
      name,
      config,
      data_dir=self.folder / "data",
      manual_dir=manual_dir or small_sets.MAKERS[name](root),
      limit=limit,
      **options,
    )
    (split,) = builder.info.splits
    return inputs.Source(builder, split, batch_size=4)

  def _shown(
    self,
    name,
    condition,
    *,
    fly: bool,
    seed: int = 0,
    geometry="",
    codec="",
    limit=3,
  ):
    """(batch, pixels) that the evaluator shows to a model."""
    task = _task(name, fly=fly, seed=seed, geometry=geometry, codec=codec)
    options = {"geometry": geometry} if geometry else {}
    options["limit"] = limit
    if fly:
      source = self._source(
        name, task.clean_config, task.clean_codec, **options
      )
    else:
      codec = task.setting.codec
      options["seed"] = seed
      source = self._source(name, condition.config, codec, **options)
    specs = {"m": _CLIP}
    reader = task.reader(source, [condition], specs)
    batch = reader.batch(list(reader.rows(0, source.batch_size)))
    shown = task.show(self.mesh, specs)
    images, _ = shown.see(shown.put(batch), condition, _CLIP)
    return batch, devices.local_rows(images)[batch.mask]

  def _loaded(self, source: inputs.Source) -> dict[str, dict]:
    """What `tfds.load` gives of a set, by example."""
    builder = source.builder
    rows = tfds.load(
      f"{builder.name}/{builder.config.name}".rstrip("/"),
      split=source.split,
      data_dir=builder._data_dir_root,
      download=False,
    )
    loaded = {r["example_id"].decode(): r for r in tfds.as_numpy(rows)}
    self.assertLen(loaded, source.total)
    return loaded

  def _assert_loaded(self, source, batch, images):
    """The evaluator's batch is what `tfds.load` gives, ids included."""
    loaded = self._loaded(source)
    ids = [i for i, valid in zip(batch.example_id, batch.mask) if valid]
    self.assertCountEqual(ids, loaded)
    for place, example_id in enumerate(ids):
      row = loaded[example_id]
      self.assertEqual(batch.group_id[place], row["group_id"].decode())
      self.assertEqual(batch.frame[place], row["frame"])
      height, width = batch.size[place]
      if "mask" in row:
        label = batch.label[place, :height, :width, None]
        np.testing.assert_array_equal(label, row["mask"])
      else:
        self.assertEqual(batch.label[place], row.get("label", -1))
      np.testing.assert_array_equal(
        images[place][..., :height, :width, :], row[source.pixels]
      )

  # Of pictures and sequences `test_every_codec` compares as much.
  @contracts.cases(
    _NAMES, _folder, quick=[*_EMBEDDED, *filter(_is_of_videos, _NAMES)]
  )
  def test_on_the_fly_equals_prepared(self, name):
    family = datasets.builder_class(name).FAMILY
    condition = family.parse(_OTHERS.get(name, _CONFIGS[family.kind]))
    fly, fly_pixels = self._shown(name, condition, fly=True)
    prepared, prepared_pixels = self._shown(name, condition, fly=False)
    self.assertEqual(list(fly.example_id), list(prepared.example_id))
    np.testing.assert_array_equal(fly.frame, prepared.frame)
    np.testing.assert_array_equal(fly_pixels, prepared_pixels)
    clean, clean_pixels = self._shown(name, conditions.Condition(), fly=False)
    self.assertEqual(list(clean.example_id), list(prepared.example_id))
    # A canvas may be black where its picture ends.
    self.assertGreater(np.mean(_first(clean_pixels) != _last(fly_pixels)), 0.1)

  @contracts.cases(_CODECS, _folder, quick=_FAST)
  def test_every_codec(self, name, codec):
    family = datasets.builder_class(name).FAMILY
    condition = family.parse(_OTHERS.get(name, _CONFIGS[family.kind]))
    source = self._source(name, condition.config, codec, seed=0)
    task = _task(name, fly=True, codec="" if family.kind == "videos" else codec)
    if family.kind == "videos":
      self._check_video(name, source, condition, codec)
      return
    batch, images = self._shown(name, condition, fly=False, codec=codec)
    self._assert_loaded(source, batch, images)
    if codec in task.fly_codecs:
      fly, made = self._shown(name, condition, fly=True, codec=codec)
      self.assertEqual(list(fly.example_id), list(batch.example_id))
      np.testing.assert_array_equal(fly.label, batch.label)
      np.testing.assert_array_equal(made, images)

  def _check_video(self, name, source, condition, codec):
    """Whole videos: clips of them are compared above."""
    task = _task(name, fly=True)
    clean = self._source(name, task.clean_config, task.clean_codec)
    loaded = self._loaded(source)
    self.assertCountEqual(loaded, self._loaded(clean))
    for example_id, row in self._loaded(clean).items():
      frames = task.sample(row["video"], condition, example_id)
      if codec == videos.H264:
        data = videos.encode(iter(frames), float(row["fps"]), codec)
        frames = video_files.decode(data)
      np.testing.assert_array_equal(loaded[example_id]["video"], frames)
      for key in ("label", "fps", "group_id", "frame"):
        self.assertEqual(loaded[example_id][key], row[key])

  @parameterized.parameters(*_NATURAL)
  @pytest.mark.slow
  def test_natural_videos(self, name):
    root = self.folder / name
    root.mkdir()
    _NATURAL[name](root)
    embedded = name == "digits_vid_robust"  # of one geometry, 120 anchors
    limit = 2 * 21 if embedded else None
    for options in [{}] if embedded else [{}, {"geometry": "short32_crop32"}]:
      source = self._source(name, "", "", root, limit, **options)
      source = inputs.Source(
        source.builder, source.split, batch_size=source.total
      )
      (batch,) = source.batches()
      self._assert_loaded(source, batch, batch.image)

  def test_natural_shifts(self):
    root = self.folder / "ucf101_ds"
    small_sets.ucf101_ds(root)
    source = self._source("ucf101_ds", "", "lossless", root)
    for example_id, row in self._loaded(source).items():
      file = root / "UCF101-DS" / example_id
      np.testing.assert_array_equal(row["video"], video_files.decode(file))

  def test_published_pictures(self):
    source = self._source("imagenet_c", "fog_3", datasets.PUBLISHED, limit=None)
    (batch,) = source.batches()
    self._assert_loaded(source, batch, batch.image[batch.mask])

  @pytest.mark.slow
  def test_published_videos(self):
    root = self.folder / "tiny_imagenet_p"
    root.mkdir(exist_ok=True)
    small_sets.tiny_imagenet(root)
    frames = np.random.default_rng(0).integers(
      0, 256, (31, 64, 64, 3), np.uint8
    )
    file = root / "Tiny-ImageNet-P" / "tilt" / "n00000002" / "val_0.mp4"
    file.parent.mkdir(parents=True)
    file.write_bytes(sequences.encode(frames, "h264", "tilt"))
    source = self._source("tiny_imagenet_p", "tilt", datasets.PUBLISHED, root)
    (batch,) = source.batches()
    self.assertEqual(batch.label[0], 1)
    self._assert_loaded(source, batch, batch.image[batch.mask])

  def test_published_arrays(self):
    root = self.folder / "cifar10_c"
    root.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (5, 4, 32, 32, 3), np.uint8)
    with mock.patch.object(published_arrays, "IMAGES", 4):
      cifar_layouts.write_published(
        root, cifar.CIFAR10, "fog", pixels, np.arange(4)
      )
      source = self._source("cifar10_c", "fog_3", datasets.PUBLISHED, root)
    (batch,) = source.batches()
    self._assert_loaded(source, batch, batch.image[batch.mask])
    row = int(batch.example_id[0].removeprefix("test_"))
    np.testing.assert_array_equal(batch.image[0], pixels[2, row])

  def test_tfrecord(self):
    """Read by TensorFlow: the same pixels."""
    condition = conditions.Condition("gaussian_noise", 3)
    for codec in ("jpeg85", "raw"):
      _, images = self._shown("imagenet_c", condition, fly=False, codec=codec)
      source = self._source("imagenet_c", "gaussian_noise_3", codec)
      other = datasets.prepare(
        "imagenet_c",
        "gaussian_noise_3",
        codec=codec,
        data_dir=self.folder / "tfrecord",
        manual_dir=small_sets.MAKERS["imagenet_c"](self.folder),
        limit=3,
        file_format="tfrecord",
      )
      (batch,) = inputs.Source(other, source.split, batch_size=3).batches()
      np.testing.assert_array_equal(batch.image, images)

  @quick.cases(["imagenet_c"], ["imagenet_p"])
  def test_at_299_px(self, name):
    family = datasets.builder_class(name).FAMILY
    condition = family.parse(_CONFIGS[family.kind])
    options = {"geometry": "inception", "limit": 1}
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

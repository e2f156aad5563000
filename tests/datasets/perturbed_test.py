"""Datasets of sequences: names, codecs, published layouts, refusals."""

import io
import pathlib
import shutil
import tarfile
import tempfile
import zipfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

import robust_tfds
from robust_tfds import conditions
from robust_tfds import corruptions
from robust_tfds import datasets
from robust_tfds.corruptions.sequence import frame_count
from robust_tfds.datasets import geometry
from robust_tfds.datasets import movie_feature
from robust_tfds.datasets import perturbed
from robust_tfds.datasets import published_videos

_WNID = "n01440764"


def _picture(width, height, seed=0) -> Image.Image:
  rng = np.random.default_rng(seed)
  small = Image.fromarray(rng.integers(0, 256, (9, 12, 3), np.uint8))
  return small.resize((width, height), Image.Resampling.BICUBIC)


def _jpeg(width, height, seed=0) -> bytes:
  out = io.BytesIO()
  _picture(width, height, seed).save(out, "JPEG")
  return out.getvalue()


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


class NamesTest(parameterized.TestCase):
  def test_the_same_names_as_the_library(self):
    self.assertEqual(perturbed.COMMON, corruptions.sequence_names("common"))
    self.assertEqual(perturbed.EXTRA, corruptions.sequence_names("extra"))

  def test_conditions(self):
    names = datasets.conditions("imagenet_p")
    self.assertLen(names, 1 + 14 + 6)
    self.assertEqual(
      names[:4],
      ["clean", "gaussian_noise", "gaussian_noise_2", "gaussian_noise_3"],
    )
    for name in names[1:]:
      self.assertGreater(frame_count(name), 30)

  @parameterized.parameters(
    ("digits_p", "translte", "Did you mean 'translate'"),
    ("digits_p", "translate_2", "chosen in the metric"),
    ("digits_p", "gaussian_noise_4", "Did you mean 'gaussian_noise"),
    ("imgenet_p", "clean", "Did you mean"),
  )
  def test_unknown(self, name, config, message):
    with self.assertRaisesRegex(ValueError, message):
      datasets.builder(name, config)

  def test_unknown_codec(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'h264'"):
      datasets.builder("digits_p", "translate", codec="h265")
    with self.assertRaisesRegex(ValueError, "nothing published"):
      datasets.builder("imagenet_p", "clean", codec="published")


class DigitsPTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp(prefix="digits_p")
    cls.addClassCleanup(shutil.rmtree, cls.folder)

  def _build(self, config, **options):
    return datasets.prepare(
      "digits_p", config, data_dir=self.folder, limit=6, **options
    )

  @parameterized.parameters("translate", "gaussian_noise_2", "zoom_blur")
  def test_prepared_is_what_the_library_makes(self, config):
    built = self._build(config)
    condition = conditions.SEQUENCES.parse(config)
    stem, difficulty = condition.name, condition.level
    sources = {
      e["example_id"]: e["image"]
      for e in _examples(self._build("source"), "test")
    }
    found = _examples(built, "test")
    self.assertLen(found, 6)
    for example in found:
      key = corruptions.example_key(
        0, "digits_p", stem, difficulty, example["example_id"].decode()
      )
      expected = corruptions.sequence(
        sources[example["example_id"]], config, edition="cifar10", key=key
      )
      np.testing.assert_array_equal(example["frames"], expected)
      self.assertEqual(example["group_id"], example["example_id"])

  def test_clean_is_one_frame_of_the_source(self):
    clean = _examples(self._build("clean"), "test")
    source = _examples(self._build("source"), "test")
    for c, s in zip(clean, source, strict=True):
      np.testing.assert_array_equal(c["frames"], s["image"][None])

  def test_h264_is_lossy_near_and_the_same_again(self):
    raw = _examples(self._build("rotate"), "test")[0]["frames"]
    one = self._build("rotate", codec="h264")
    self.assertEqual(one.builder_config.name, "rotate_h264")
    frames = _examples(one, "test")[0]["frames"]
    self.assertEqual(frames.shape, raw.shape)
    error = np.sqrt(np.mean((frames.astype(float) - raw) ** 2))
    self.assertBetween(error, 0.1, 12)
    np.testing.assert_array_equal(frames, perturbed.through_h264(raw, "rotate"))

  def test_array_record_holds_the_same(self):
    for codec in ("png", "h264"):
      tfrecord = _examples(self._build("tilt", codec=codec), "test")
      other = datasets.prepare(
        "digits_p",
        "tilt",
        data_dir=self.create_tempdir().full_path,
        limit=6,
        codec=codec,
        file_format="array_record",
      )
      by_id = {
        e["example_id"]: np.stack(list(e["frames"]))
        for e in other.as_data_source(split="test")
      }
      for example in tfrecord:
        np.testing.assert_array_equal(
          by_id[example["example_id"]], example["frames"]
        )

  def test_load_takes_a_slash(self):
    folder = self.create_tempdir().full_path
    loaded = robust_tfds.load(
      "digits_p/shot_noise/2",
      split="test[:1]",
      data_dir=folder,
      try_gcs=False,
    )
    example = next(iter(tfds.as_numpy(loaded)))
    self.assertEqual(example["frames"].shape, (31, 32, 32, 3))
    self.assertTrue((pathlib.Path(folder) / "digits_p/shot_noise_2").is_dir())

  def test_two_workers_give_the_same_bytes(self):
    files = []
    for workers in (1, 2):
      folder = self.create_tempdir().full_path
      built = datasets.prepare(
        "digits_p", "snow", data_dir=folder, limit=20, workers=workers
      )
      files.append(
        [
          p.read_bytes()
          for p in sorted(pathlib.Path(built.data_dir).glob("*tfrecord*"))
        ]
      )
    self.assertEqual(files[0], files[1])


class ImagenetPTest(parameterized.TestCase):
  """Pictures of several sizes, as `<wnid>/<name>.JPEG`."""

  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    self.data = self.create_tempdir().full_path
    folder = self.manual / "val" / _WNID
    folder.mkdir(parents=True)
    for i, size in enumerate([(320, 240), (240, 400), (256, 256)]):
      (folder / f"ILSVRC2012_val_0000000{i + 1}.JPEG").write_bytes(
        _jpeg(*size, seed=i)
      )

  def _build(self, name, config, **options):
    return datasets.prepare(
      name, config, data_dir=self.data, manual_dir=self.manual, **options
    )

  @parameterized.parameters("rotate", "brightness")
  def test_sequences_of_any_size(self, config):
    sources = _examples(self._build("imagenet_p", "source"), "validation")
    self.assertEqual(
      sorted(s["image"].shape for s in sources),
      [(256, 256, 3), (256, 341, 3), (426, 256, 3)],
    )
    by_id = {s["example_id"]: s["image"] for s in sources}
    for example in _examples(self._build("imagenet_p", config), "validation"):
      key = corruptions.example_key(
        0, "imagenet_p", config, 1, example["example_id"].decode()
      )
      expected = corruptions.sequence(
        by_id[example["example_id"]], config, key=key
      )
      np.testing.assert_array_equal(example["frames"], expected)
      self.assertEqual(example["frames"].shape, (31, 224, 224, 3))
    for example in _examples(self._build("imagenet_p", "clean"), "validation"):
      path = self.manual / "val" / _WNID / example["example_id"].decode()
      crop = geometry.decode(path.read_bytes(), "imagenet", path.name)
      np.testing.assert_array_equal(example["frames"], crop[None])

  def test_imagenet64(self):
    clean = _examples(self._build("imagenet64_p", "clean"), "validation")
    for example in clean:
      path = self.manual / "val" / _WNID / example["example_id"].decode()
      small = geometry.decode(path.read_bytes(), "squash64", path.name)
      # Resized on the device in float32, where Pillow has 22-bit weights.
      apart = np.abs(example["frames"].astype(int) - small[None])
      self.assertLessEqual(apart.max(), 1)
      self.assertLess((apart > 0).mean(), 0.01)
    translate = self._build("imagenet64_p", "translate")
    shape = _examples(translate, "validation")[0]["frames"].shape
    self.assertEqual(shape, (31, 64, 64, 3))

  def test_palette_pictures_are_resized_before_rgb(self):
    path = self.manual / "palette.png"
    picture = _picture(300, 200).quantize(16)
    picture.save(path)
    ours = geometry.decode(
      path.read_bytes(), "short100", path.name, convert_last=True
    )
    nearest = picture.convert("RGB").resize(
      (150, 100), Image.Resampling.NEAREST
    )
    np.testing.assert_array_equal(ours, np.asarray(nearest))

  def test_missing_sources(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "No ImageNet validation|empty"
    ):
      datasets.prepare(
        "imagenet_p",
        "clean",
        data_dir=self.data,
        manual_dir=self.create_tempdir().full_path,
      )


def _movie(frames=31, side=64, seed=0) -> bytes:
  image = np.asarray(_picture(side, side, seed))
  moving = np.stack([np.roll(image, i, 1) for i in range(frames)])
  return perturbed.encode(moving, "h264", "rotate")


class PublishedVideosTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.wnids = ["n01", "n02"]

  def _find(self, frames=31):
    return list(
      published_videos.find(
        self.root, "Own", "rotate", self.wnids, (frames, 64, 64, 3)
      )
    )

  def _put(self, data, name="a", wnid="n02"):
    folder = self.root / "Own" / "rotate" / wnid
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.mp4").write_bytes(data)

  def test_folders(self):
    self._put(_movie())
    self._put(_movie(seed=1), "b", "n01")
    found = self._find()
    self.assertEqual([f[:2] for f in found], [("b.JPEG", 0), ("a.JPEG", 1)])

  def test_archive_as_it_is(self):
    data = _movie()
    with tarfile.open(self.root / "part.tar", "w") as tar:
      for name in ("x/rotate/n02/a.mp4", "x/tilt/n02/a.mp4"):
        member = tarfile.TarInfo(name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    self.assertEqual(self._find(), [("a.JPEG", 1, data)])

  @parameterized.named_parameters(
    ("missing_frames", _movie(frames=30), "holds 30 frames of 64x64"),
    ("extra_frames", _movie(frames=32), "holds 32 frames"),
    ("another_size", _movie(side=48), "of 48x48 px, expected 31 of 64x64"),
    ("no_video", b"nothing", "cannot be read as a video"),
    ("cut_off", _movie()[:900], "a.mp4"),
    ("empty", b"", "cannot be read as a video"),
  )
  def test_broken(self, data, message):
    self._put(data)
    with self.assertRaisesRegex(ValueError, message):
      self._find()

  def test_unknown_class(self):
    self._put(_movie(), wnid="n99")
    with self.assertRaisesRegex(ValueError, "'n99' is not one of the 2"):
      self._find()

  def test_nothing_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "Own/rotate"):
      self._find()

  def test_broken_archive(self):
    (self.root / "part.tar").write_bytes(b"x" * 2000)
    with self.assertRaisesRegex(ValueError, "part.tar is not a whole tar"):
      self._find()

  def test_a_built_set_refuses_another_length(self):
    feature = movie_feature.Movie((31, 64, 64, 3))
    self.assertEqual(feature.decode_example_np(_movie()).shape, (31, 64, 64, 3))
    with self.assertRaisesRegex(ValueError, "holds 12 frames"):
      feature.decode_example_np(_movie(frames=12))


class PublishedImagenetPTest(absltest.TestCase):
  def test_reads_the_authors_layout(self):
    manual = pathlib.Path(self.create_tempdir().full_path)
    folder = manual / "Tiny-ImageNet-P" / "rotate" / "n00000001"
    folder.mkdir(parents=True)
    data = _movie()
    (folder / "val_7.mp4").write_bytes(data)
    listed = manual / "tiny-imagenet-200"
    listed.mkdir()
    (listed / "wnids.txt").write_text("n00000002\nn00000001\n")
    built = datasets.prepare(
      "tiny_imagenet_p",
      "rotate",
      codec="published",
      data_dir=self.create_tempdir().full_path,
      manual_dir=manual,
    )
    (example,) = _examples(built, "validation")
    self.assertEqual(example["label"], 0)
    self.assertEqual(example["example_id"], b"val_7.JPEG")
    from robust_tfds import movies

    np.testing.assert_array_equal(example["frames"], movies.decode(data))


class TinyImagenetPTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    self.annotations = (
      "val_0.JPEG\tn02\t0\t0\t9\t9\nval_1.JPEG\tn01\t0\t0\t9\t9\n"
    )

  def _write(self, root):
    (root / "val" / "images").mkdir(parents=True)
    (root / "wnids.txt").write_text("n02\nn01\n")
    (root / "val" / "val_annotations.txt").write_text(self.annotations)
    for i in range(2):
      (root / "val" / "images" / f"val_{i}.JPEG").write_bytes(_jpeg(64, 64, i))

  def _labels(self):
    built = datasets.prepare(
      "tiny_imagenet_p",
      "clean",
      data_dir=self.create_tempdir().full_path,
      manual_dir=self.manual,
    )
    found = _examples(built, "validation")
    return {e["example_id"]: (e["label"], e["frames"]) for e in found}

  def test_folder_zip_and_larger_crops(self):
    root = self.manual / "tiny-imagenet-200"
    self._write(root)
    folder = self._labels()
    self.assertEqual(
      {k: int(v[0]) for k, v in folder.items()},
      {b"val_0.JPEG": 1, b"val_1.JPEG": 0},
    )
    with zipfile.ZipFile(self.manual / "tiny-imagenet-200.zip", "w") as archive:
      for path in sorted(root.rglob("*")):
        archive.write(path, path.relative_to(self.manual))
    crop = root / "bbox_crop" / "n02"
    crop.mkdir(parents=True)
    (crop / "val_0.JPEG").write_bytes(_jpeg(90, 70, 5))
    larger = self._labels()
    expected = geometry.decode(_jpeg(90, 70, 5), "short64_crop64", "crop")
    frame = larger[b"val_0.JPEG"][1][0].astype(int)
    self.assertLess(np.abs(frame - expected).mean(), 1)
    root.rename(self.manual / "elsewhere")
    zipped = self._labels()
    for name, (label, frames) in folder.items():
      self.assertEqual(zipped[name][0], label)
      np.testing.assert_array_equal(zipped[name][1], frames)

  def test_refusals(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "does not exist or is empty"
    ):
      self._labels()
    (self.manual / "other").mkdir()
    with self.assertRaisesRegex(FileNotFoundError, "Looked for tiny-imagenet"):
      self._labels()
    self.annotations = "../../val_0.JPEG\tn02\t0\n"
    self._write(self.manual / "tiny-imagenet-200")
    with self.assertRaisesRegex(ValueError, "leaves its folder"):
      self._labels()
    annotations = self.manual / "tiny-imagenet-200/val/val_annotations.txt"
    annotations.write_text("val_0.JPEG n02\n")
    with self.assertRaisesRegex(ValueError, "line 1"):
      self._labels()


class Cifar10PTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    rng = np.random.default_rng(0)
    self.labels = np.array([3, 9, 0], np.uint8)
    self.images = rng.integers(0, 256, (3, 32, 32, 3), np.uint8)
    planes = self.images.transpose(0, 3, 1, 2).reshape(3, -1)
    self.batch = np.concatenate([self.labels[:, None], planes], 1).tobytes()
    folder = self.manual / "cifar-10-batches-bin"
    folder.mkdir()
    (folder / "test_batch.bin").write_bytes(self.batch)

  def _build(self, config, **options):
    return _examples(
      datasets.prepare(
        "cifar10_p",
        config,
        data_dir=self.create_tempdir().full_path,
        manual_dir=self.manual,
        **options,
      ),
      "test",
    )

  def test_clean_and_sequences(self):
    for example in self._build("clean"):
      row = int(example["example_id"].decode().removeprefix("test_"))
      self.assertEqual(example["label"], self.labels[row])
      np.testing.assert_array_equal(example["frames"][0], self.images[row])
    for config, frames in (("motion_blur", 21), ("translate", 16)):
      self.assertEqual(
        self._build(config)[0]["frames"].shape, (frames, 32, 32, 3)
      )

  def test_archive_as_it_is(self):
    (self.manual / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    with tarfile.open(self.manual / "cifar-10-binary.tar.gz", "w:gz") as tar:
      member = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
      member.size = len(self.batch)
      tar.addfile(member, io.BytesIO(self.batch))
    self.assertLen(self._build("clean"), 3)

  def test_published_arrays(self):
    frames = np.random.default_rng(1).integers(
      0, 256, (3, 31, 32, 32, 3), np.uint8
    )
    (self.manual / "CIFAR-10-P").mkdir()
    np.save(self.manual / "CIFAR-10-P" / "shot_noise_3.npy", frames)
    for example in self._build("shot_noise_3", codec="published"):
      row = int(example["example_id"].decode().removeprefix("test_"))
      np.testing.assert_array_equal(example["frames"], frames[row])

  def test_refusals(self):
    with self.assertRaisesRegex(FileNotFoundError, "tilt.npy"):
      self._build("tilt", codec="published")
    folder = self.manual / "CIFAR-10-P"
    folder.mkdir()
    np.save(folder / "tilt.npy", np.zeros((3, 30, 32, 32, 3), np.uint8))
    with self.assertRaisesRegex(ValueError, "31, 32, 32"):
      self._build("tilt", codec="published")
    np.save(
      folder / "tilt.npy", np.array([{"a": 1}], object), allow_pickle=True
    )
    with self.assertRaisesRegex(ValueError, "not a whole npy"):
      self._build("tilt", codec="published")
    binary = self.manual / "cifar-10-batches-bin" / "test_batch.bin"
    binary.write_bytes(self.batch[:-1])
    with self.assertRaisesRegex(ValueError, "truncated"):
      self._build("clean")


if __name__ == "__main__":
  absltest.main()

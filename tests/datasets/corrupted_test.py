"""Corrupted datasets: names, codecs, sources, reproducible bytes, refusals."""

import io
import pathlib
import subprocess
import sys
import tarfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

import robust_tfds
from robust_tfds import conditions
from robust_tfds import corruptions
from robust_tfds import datasets
from robust_tfds.corruptions.ops import jpeg
from robust_tfds.datasets import corrupted
from robust_tfds.datasets import geometry
from robust_tfds.datasets.imagenet_c import sources
from tests import shared_data


def _jpeg(size=(60, 40), seed=0) -> bytes:
  out = io.BytesIO()
  rng = np.random.default_rng(seed)
  Image.fromarray(rng.integers(0, 256, (*size[::-1], 3), np.uint8)).save(
    out, "JPEG"
  )
  return out.getvalue()


class ImportTest(absltest.TestCase):
  def test_import_is_light_and_registers(self):
    code = (
      "import time, tensorflow_datasets, absl, numpy;"
      "start = time.perf_counter();"
      "import robust_tfds, sys;"
      "took = time.perf_counter() - start;"
      "heavy = {'tensorflow', 'jax', 'flax', 'models'} & set(sys.modules);"
      "assert not heavy, heavy;"
      "assert took < 1, took;"
      "names = tensorflow_datasets.list_builders();"
      "assert 'imagenet_c' in names and 'digits_c' in names"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class NamesTest(parameterized.TestCase):
  def test_the_same_names_as_the_library(self):
    self.assertEqual(corrupted.COMMON, conditions.PICTURES.names("common"))
    self.assertEqual(corrupted.EXTRA, conditions.PICTURES.names("extra"))

  def test_ninety_six_conditions_clean_first(self):
    configs = datasets.conditions("imagenet_c")
    self.assertLen(configs, 96)
    self.assertEqual(configs[:2], ["clean", "gaussian_noise_1"])

  def test_clean_is_the_default(self):
    self.assertEqual(tfds.builder("digits_c").builder_config.name, "clean")

  @parameterized.parameters(
    ("digits_c", "gausian_noise/3", "Did you mean 'gaussian_noise'"),
    ("digits_c", "fog_0", "severity 0 is the config 'clean'"),
    ("digits_c", "fog_6", "must be 1-5, got 6"),
    ("digit_c", "fog_1", "Did you mean 'digits_c'"),
  )
  def test_bad_names(self, name, config, message):
    with self.assertRaisesRegex(ValueError, message):
      robust_tfds.load(f"{name}/{config}")

  def test_options_have_their_own_folder(self):
    folders = {
      datasets.builder("imagenet_c", "clean", data_dir="/x", **o).data_dir
      for o in (
        {},
        {"codec": "raw"},
        {"geometry": "squash256_crop227"},
        {"codec": "raw", "geometry": "squash256_crop227"},
      )
    }
    self.assertLen(folders, 4)

  def test_bad_options(self):
    with self.assertRaisesRegex(ValueError, "Unknown codec 'png'"):
      datasets.builder("imagenet_c", "clean", codec="png")
    with self.assertRaisesRegex(ValueError, "Unknown geometry"):
      datasets.builder("imagenet_c", "clean", geometry="center")


class BuildTest(parameterized.TestCase):
  def test_slashes_and_the_same_pixels_as_on_the_fly(self):
    folder = self.create_tempdir().full_path
    ds = robust_tfds.load(
      "digits_c/gaussian_noise/3", split="test[:40]", data_dir=folder
    )
    clean = datasets.prepare("digits_c", "clean", data_dir=folder)
    source = {
      e["example_id"]: e["image"]
      for e in tfds.as_numpy(clean.as_dataset(split="test"))
    }
    for e in tfds.as_numpy(ds):
      key = corruptions.example_key(
        0, "digits_c", "gaussian_noise", 3, e["example_id"].decode()
      )
      want = corruptions.corrupt(
        source[e["example_id"]], "gaussian_noise", 3, edition="cifar10", key=key
      )
      np.testing.assert_array_equal(e["image"], want)

  def test_workers_do_not_change_a_byte(self):
    files = []
    for workers in (1, 3):
      folder = self.create_tempdir(f"w{workers}").full_path
      built = datasets.prepare(
        "digits_c", "brightness_2", data_dir=folder, workers=workers, limit=80
      )
      records = sorted(pathlib.Path(built.data_dir).glob("*.tfrecord*"))
      files.append([r.read_bytes() for r in records])
    self.assertNotEmpty(files[0])
    self.assertEqual(*files)

  def test_jpeg85_equals_the_device_codec(self):
    image = np.array(Image.open(io.BytesIO(_jpeg((96, 80)))))
    stored = Image.open(io.BytesIO(corrupted.encode(image, "jpeg85")))
    got = np.asarray(jpeg.roundtrip_batch(image[None], 85))[0]
    np.testing.assert_array_equal(np.asarray(stored), got)

  def test_frost_from_the_manual_dir_reaches_the_workers(self):
    manual = pathlib.Path(self.create_tempdir().full_path)
    (manual / "frost").symlink_to(shared_data.path("data/frost"))
    files = []
    for workers in (1, 2):
      built = datasets.prepare(
        "digits_c",
        "frost_1",
        data_dir=self.create_tempdir(f"f{workers}").full_path,
        manual_dir=manual,
        workers=workers,
        limit=40,
      )
      records = sorted(pathlib.Path(built.data_dir).glob("*.tfrecord*"))
      files.append([r.read_bytes() for r in records])
    self.assertEqual(*files)

  def test_a_limited_build_never_passes_for_the_whole(self):
    folder = self.create_tempdir().full_path
    few = datasets.prepare("digits_c", "clean", data_dir=folder, limit=10)
    whole = datasets.prepare("digits_c", "clean", data_dir=folder)
    self.assertEqual(few.info.splits["test"].num_examples, 10)
    self.assertEqual(whole.info.splits["test"].num_examples, 359)

  def test_corrupted_configs_need_one_size(self):
    with self.assertRaisesRegex(ValueError, "images of many sizes"):
      datasets.builder("imagenet_c", "fog_3", geometry="short256")

  def test_beam_that_is_not_installed_is_said(self):
    try:
      import apache_beam  # noqa: F401
    except ImportError:
      with self.assertRaisesRegex(ImportError, "apache-beam is not installed"):
        datasets.prepare("digits_c", "clean", beam=True)
    else:
      self.skipTest("apache-beam is installed")


class SourcesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _labels(self):
    return [(f.name, f.label) for f in sources.clean(self.root)]

  def test_files_named_by_wnid(self):
    (self.root / "n01443537_goldfish.JPEG").write_bytes(_jpeg())
    self.assertEqual(self._labels(), [("n01443537_goldfish.JPEG", 1)])

  def test_official_names_with_the_devkits_truth(self):
    from scipy import io as scipy_io

    folder = self.root / "val"
    folder.mkdir()
    for i in (1, 2):
      (folder / f"ILSVRC2012_val_{i:08d}.JPEG").write_bytes(_jpeg())
    (self.root / "ILSVRC2012_validation_ground_truth.txt").write_text("7\n5\n")
    rows = np.array(
      [(5, "n01440764"), (7, "n01443537")],
      dtype=[("ILSVRC2012_ID", "O"), ("WNID", "O")],
    )
    scipy_io.savemat(self.root / "meta.mat", {"synsets": rows})
    self.assertEqual([label for _, label in self._labels()], [1, 0])

  def test_official_names_with_the_list_of_tfds(self):
    (self.root / "ILSVRC2012_val_00000001.JPEG").write_bytes(_jpeg())
    # The first validation image is a sea snake, n01751748.
    self.assertEqual(self._labels(), [("ILSVRC2012_val_00000001.JPEG", 65)])

  def test_tar_is_read_in_place(self):
    data = _jpeg(seed=3)
    with tarfile.open(self.root / sources.VALIDATION_TAR, "w") as tar:
      member = tarfile.TarInfo("../../ILSVRC2012_val_00000001.JPEG")
      member.size = len(data)
      tar.addfile(member, io.BytesIO(data))
    (found,) = sources.clean(self.root)
    self.assertEqual(found.name, "ILSVRC2012_val_00000001.JPEG")
    self.assertEqual(found.data(), data)
    self.assertLen(list(self.root.parent.rglob("*.JPEG")), 0)

  def test_published_tar(self):
    data = _jpeg((224, 224))
    with tarfile.open(self.root / "weather.tar", "w") as tar:
      member = tarfile.TarInfo("fog/3/n01443537/ILSVRC2012_val_00000007.JPEG")
      member.size = len(data)
      tar.addfile(member, io.BytesIO(data))
    (found,) = sources.published(self.root, "fog", 3)
    self.assertEqual((found.label, found.data()), (1, data))
    self.assertEmpty(list(sources.published(self.root, "fog", 4)))

  def test_missing_data_says_what_was_looked_for(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "Looked for: ILSVRC2012_img"
    ):
      sources.clean(self.root)
    with self.assertRaisesRegex(FileNotFoundError, "weather.tar"):
      list(sources.published(self.root, "fog", 3))

  def test_image_without_label_is_named(self):
    (self.root / "cat.JPEG").write_bytes(_jpeg())
    with self.assertRaisesRegex(ValueError, "cat.JPEG has no label"):
      sources.clean(self.root)

  @parameterized.parameters((_jpeg()[:300],), (b"no image at all",))
  def test_broken_image_is_named(self, data):
    (self.root / "n01443537_x.JPEG").write_bytes(data)
    with self.assertRaisesRegex(ValueError, "n01443537_x.JPEG cannot be read"):
      datasets.prepare(
        "imagenet_c",
        "clean",
        data_dir=self.create_tempdir().full_path,
        manual_dir=self.root,
      )

  def test_manual_dir_that_is_not_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "does not exist"):
      datasets.prepare("imagenet_c", "clean", manual_dir="/nowhere")


class GeometryTest(parameterized.TestCase):
  @parameterized.parameters(
    ("imagenet", (224, 224, 3)),
    ("inception", (299, 299, 3)),
    ("squash256_crop227", (227, 227, 3)),
    ("short256", (256, 341, 3)),
    ("whole", (375, 500, 3)),
  )
  def test_shapes(self, rule, shape):
    image = geometry.decode(_jpeg((500, 375)), rule, "x")
    self.assertEqual(image.shape, shape)
    for got, want in zip(geometry.shape(rule), shape):
      self.assertIn(got, (None, want))

  def test_offsets_round_half_to_even(self):
    # (341 - 224) / 2 = 58.5 -> 58: docs/specs/imagenet_p.md section 1.
    column = np.arange(341, dtype=np.uint16) % 256
    image = np.tile(column.astype(np.uint8)[None, :, None], (256, 1, 3))
    out = np.asarray(geometry.apply(Image.fromarray(image), "imagenet"))
    self.assertEqual(int(out[0, 0, 0]), 58)


if __name__ == "__main__":
  absltest.main()

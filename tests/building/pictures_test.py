"""Corrupted pictures: codecs, reproducible bytes, the same pixels as on the fly."""

import io
import pathlib

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

import robust_tfds
from robust_tfds import corruptions, datasets, errors
from robust_tfds.building import pictures
from robust_tfds.corruptions import frost_pictures
from robust_tfds.corruptions.ops import jpeg
from tests import shared_data, tiny_files


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

  @pytest.mark.slow
  def test_jpeg85_equals_the_device_codec(self):
    data = tiny_files.encoded(tiny_files.noise(32, 48), "JPEG")
    image = np.array(Image.open(io.BytesIO(data)))
    stored = Image.open(io.BytesIO(pictures.encode(image, "jpeg85")))
    got = np.asarray(jpeg.roundtrip_batch(image[None], 85))[0]
    np.testing.assert_array_equal(np.asarray(stored), got)

  @pytest.mark.slow
  def test_frost_from_the_manual_dir_reaches_the_workers(self):
    self.addCleanup(frost_pictures.use_folder, None)
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
      records = sorted(pathlib.Path(built.data_dir).glob("*record-*"))
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
      with self.assertRaisesRegex(
        errors.UserError, "needs apache-beam, which is not installed"
      ):
        datasets.prepare("digits_c", "clean", beam=True)
    else:
      self.skipTest("apache-beam is installed")

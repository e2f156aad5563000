"""Tiny-ImageNet-C: the authors' pixels, its codecs, larger crops squashed."""

import io
import pathlib

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest
from PIL import Image

from robust_tfds import datasets
from robust_tfds.building import geometry, pictures
from tests.building.sources import small_sets
from tests.datasets import golden_pictures


class TinyImagenetCTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    self.data = self.create_tempdir().full_path

  def _write(self, data: bytes) -> None:
    """One validation picture, of the first class."""
    folder = self.manual / "tiny-imagenet-200"
    (folder / "val" / "images").mkdir(parents=True)
    (folder / "wnids.txt").write_text("\n".join(small_sets.tiny_wnids()))
    annotations = folder / "val" / "val_annotations.txt"
    annotations.write_text("val_0.JPEG\tn00000001\t0\t0\t9\t9\n")
    (folder / "val" / "images" / "val_0.JPEG").write_bytes(data)

  def _stored(self, config: str, **options):
    built = datasets.prepare(
      "tiny_imagenet_c",
      config,
      data_dir=self.data,
      manual_dir=self.manual,
    )
    (row,) = tfds.as_numpy(built.as_dataset(split="validation", **options))
    self.assertEqual((row["example_id"], row["label"]), (b"val_0.JPEG", 0))
    return row["image"]

  @pytest.mark.slow  # of CIFAR-10-C it is a quick one
  def test_the_authors_pixels_through_the_builder(self):
    self._check_pixels(golden_pictures.ONE_SEVERITY)

  @pytest.mark.slow
  def test_the_authors_pixels_of_every_severity(self):
    self._check_pixels(golden_pictures.ALL_SEVERITIES)

  def _check_pixels(self, severities):
    image = golden_pictures.picture("tiny64")
    self._write(pictures.encode(image, pictures.RAW))
    for name in golden_pictures.DETERMINISTIC:
      for severity, expected in golden_pictures.outputs("tiny64", name):
        if severity not in severities[name]:
          continue
        stored = self._stored(f"{name}_{severity}_raw")
        golden_pictures.check(self, name, stored, expected)

  def test_codecs_and_larger_crops(self):
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
    data = io.BytesIO()
    coarse.resize((90, 70)).save(data, "PNG")
    self._write(data.getvalue())
    raw = self._stored("clean_raw")
    squashed = geometry.decode(data.getvalue(), "squash64", "crop")
    np.testing.assert_array_equal(raw, squashed)
    for config in ("clean", "contrast_2"):
      expected = pictures.encode(self._stored(f"{config}_raw"), "jpeg85")
      undecoded = {"image": tfds.decode.SkipDecoding()}
      self.assertEqual(self._stored(config, decoders=undecoded), expected)

"""Builders of ImageNet's kin."""

import collections
import io
import pathlib
import shutil
from unittest import mock

import jax
import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl import logging
from absl.testing import absltest, parameterized
from PIL import Image, features

from eval.pipeline import inputs
from robust_tfds import corruptions, datasets, errors, missing
from robust_tfds.building import geometry, pictures
from robust_tfds.building.sources import imagenet
from robust_tfds.datasets.imagenet22k_subtypes import (
  imagenet22k_subtypes_dataset_builder as subtypes,
)
from robust_tfds.reading import decoders
from tests import quick, tiny_files
from tests.building.sources import small_sets
from tests.datasets import golden_pictures
from tests.user_data import made

_WNID = "n01440764"
_NAMES = tuple(f"ILSVRC2012_val_0000000{i}.JPEG" for i in (1, 2))
_RULES = {"imagenet_c": "inception", "imagenet64_c": "squash64"}
_CASES = (  # dataset, config, codec of what `corrupt` is held against
  ("imagenet_c", "gaussian_noise_3_raw_inception", "inception"),
  ("imagenet_c", "snow_2_raw_inception", "inception"),
  ("imagenet64_c", "gaussian_noise_3_raw", "imagenet64"),
  ("imagenet64_c", "defocus_blur_5_raw", "imagenet64"),
)


def _jpeg(width: int, height: int, seed: int) -> bytes:
  return tiny_files.encoded(tiny_files.smooth(width, height, seed), "JPEG")


class EditionsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    folder = self.manual / "val" / _WNID
    folder.mkdir(parents=True)
    for i, (name, size) in enumerate(
      zip(_NAMES, [(330, 250), (250, 421)], strict=True)
    ):
      (folder / name).write_bytes(_jpeg(*size, seed=i))

  def _stored(self, name, config) -> dict[str, np.ndarray]:
    built = datasets.prepare(
      name,
      config,
      data_dir=self.create_tempdir().full_path,
      manual_dir=self.manual,
    )
    rows = tfds.as_numpy(built.as_dataset(split="validation"))
    return {r["example_id"].decode(): r["image"] for r in rows}

  @quick.cases(_CASES[::2], _CASES[1::2])
  def test_bytes_are_the_librarys(self, name, config, edition):
    corruption, _, rest = config.partition("_raw")[0].rpartition("_")
    stored = self._stored(name, config)
    self.assertCountEqual(stored, _NAMES)
    for example_id, image in stored.items():
      data = (self.manual / "val" / _WNID / example_id).read_bytes()
      key = corruptions.example_key(0, name, corruption, int(rest), example_id)
      expected = corruptions.corrupt(
        geometry.decode(data, _RULES[name], example_id),
        corruption,
        int(rest),
        edition=edition,
        key=key,
      )
      np.testing.assert_array_equal(image, jax.device_get(expected))

  def test_what_made_a_set_is_noted(self):
    made, folder = decoders.picture_decoder(), self.create_tempdir().full_path
    place = {"data_dir": folder, "manual_dir": self.manual}
    built = datasets.prepare("imagenet_c", "clean", **place)
    self.assertEqual(built.made_with(), made)
    self.assertEqual(built.read_with(), made)
    with mock.patch.object(features, "version", return_value="99"):
      again = datasets.prepare("imagenet_c", "clean", **place)
      self.assertEqual(
        again.made_otherwise(),
        f"made with {made}; here is Pillow 99, libjpeg-turbo 99: levels may"
        " differ",
      )
    self.assertTrue(again.found_on_disk)
    self.assertEqual((again.made_with(), again.made_otherwise()), (made, ""))
    source = inputs.Source(again, "validation", batch_size=1)
    self.assertEqual(
      source.decoders, f"made with {made}; read with {again.read_with()}"
    )
    (pathlib.Path(again.data_dir) / "metadata.json").unlink()
    before = datasets.prepare("imagenet_c", "clean", **place)
    self.assertIsNone(before.made_with())
    source = inputs.Source(before, "validation", batch_size=1)
    self.assertIsNone(source.decoders)

  @parameterized.parameters(
    ("digits_c", "clean", ""),
    ("digits_p", "clean_h264", decoders.video_decoder()),
  )
  def test_drawn_digits_need_no_decoder_but_a_codecs(self, name, config, codec):
    folder = self.create_tempdir().full_path
    built = datasets.prepare(name, config, data_dir=folder, limit=1)
    self.assertEqual((built.made_with(), built.read_with()), (codec, codec))

  def test_clean_is_the_crop(self):
    for name, config in (
      ("imagenet_c", "inception_raw"),
      ("imagenet64_c", "clean_raw"),
    ):
      for example_id, image in self._stored(name, config).items():
        data = (self.manual / "val" / _WNID / example_id).read_bytes()
        crop = geometry.decode(data, _RULES[name], example_id)
        np.testing.assert_array_equal(image, crop)

  @parameterized.parameters(
    ("imagenet_c", "fog_3_published_inception", "ImageNet-C-299", 299),
    ("imagenet_c", "fog_3_published", "ImageNet-C", 224),
    ("imagenet64_c", "fog_3_published", "ImageNet-64-C", 64),
    ("imagenet64_c", "fog_3_published", "ImageNet-64x64-C", 64),
  )
  def test_published(self, name, config, folder, side):
    place = self.manual / folder / "fog" / "3" / _WNID
    place.mkdir(parents=True)
    (place / _NAMES[0]).write_bytes(_jpeg(side, side, 5))
    stored = self._stored(name, config)
    self.assertEqual(stored[_NAMES[0]].shape, (side, side, 3))
    (place / _NAMES[0]).write_bytes(_jpeg(side + 1, side, 5))
    with self.assertRaisesRegex(errors.UserError, "of another edition"):
      self._stored(name, config)


class PublishedRunTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    for severity in (1, 3):
      for label, wnid in enumerate(imagenet.wnids()[:2]):
        place = self.manual / "ImageNet-C" / "fog" / str(severity) / wnid
        place.mkdir(parents=True)
        level = np.full((224, 224, 3), 40 + 100 * label, np.uint8)
        data = tiny_files.encoded(level, "JPEG")
        (place / f"ILSVRC2012_val_0000000{label}.JPEG").write_bytes(data)

  def _run(self, conditions="fog"):
    """Says class 0 of all but of the bright ones at severity 3: half wrong at 1."""
    return made.evaluate(
      lambda x: np.eye(1000)[(x.mean((1, 2, 3)) > 150).astype(int)],
      "imagenet_c",
      source="prepared",
      codec="published",
      manual_dir=self.manual,
      conditions=conditions,
      severities=(1, 3),
      size=None,
    )

  def test_without_clean_pictures(self):
    result, printed = self._run()
    self.assertIn("clean left out: the published files of imagenet_c", printed)
    values = result.summary
    self.assertAlmostEqual(values["part_mean_corruption_error"], 0.5)
    self.assertIn("part_mce", values)
    self.assertNotIn("clean_error", values)
    self.assertIn("relative_mce", result.missing)
    report = pathlib.Path(self.create_tempdir().full_path)
    result.report(report)
    self.assertTrue((report / "report.html").exists())

  def test_with_clean_pictures(self):
    self._clean()
    result, printed = self._run()
    self.assertNotIn("clean left out", printed)
    self.assertIn("clean_error", result.summary)

  def _clean(self):
    folder = self.manual / "val" / _WNID
    folder.mkdir(parents=True)
    for label in (0, 1):
      place = folder / f"ILSVRC2012_val_0000000{label}.JPEG"
      place.write_bytes(_jpeg(300, 250, label))

  def test_the_archive_that_lacks_is_named(self):
    with self.assertRaisesRegex(errors.UserError, "mv noise.tar") as raised:
      self._run("fog,shot_noise")
    self.assertNotIn("ILSVRC2012", str(raised.exception))


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("imagenet_c", "clean", {}, "inception"),
    ("imagenet_c", "clean", {"codec": "raw"}, "inception_raw"),
    ("imagenet_c", "inception", {}, "inception"),
    ("imagenet_c", "fog/3", {}, "fog_3_inception"),
    ("imagenet_c", "fog_3", {"seed": 7}, "fog_3_inception_seed7"),
    (
      "imagenet_c",
      "fog_3",
      {"codec": "published"},
      "fog_3_published_inception",
    ),
    ("imagenet_p", "clean", {}, "inception"),
    ("imagenet_p", "tilt", {}, "tilt_inception"),
    ("imagenet_p", "source", {}, "source_inception"),
    ("imagenet_p", "tilt", {"codec": "h264"}, "tilt_h264_inception"),
  )
  def test_inception(self, name, config, options, expected):
    builder = datasets.builder(
      name, config, data_dir="/x", geometry="inception", **options
    )
    self.assertEqual(builder.builder_config.name, expected)

  @parameterized.parameters("imagenet_c", "imagenet_p")
  def test_edition(self, name):
    self.assertEqual(datasets.builder_class(name).edition_of(""), "imagenet")
    self.assertEqual(
      datasets.builder_class(name).edition_of("inception"), "inception"
    )

  @parameterized.parameters(
    ("short256_crop224", "imagenet"),
    ("short342_crop299", "inception"),
    ("squash64", "imagenet64"),
    ("squash32_crop32", "cifar10"),
    ("short256", "imagenet"),  # no size: clean data alone
  )
  def test_the_edition_follows_the_crop(self, geometry, expected):
    self.assertEqual(
      datasets.builder_class("imagenet_c").edition_of(geometry), expected
    )

  @parameterized.parameters(
    ("imagenet_p", {"geometry": "imagenet"}, "no geometry but 'inception'"),
    ("imagenet64_c", {"geometry": "imagenet"}, "takes no geometry, got"),
    ("imagenet64_p", {"geometry": "inception"}, "takes no geometry, got"),
  )
  def test_refusals(self, name, options, message):
    with self.assertRaisesRegex(errors.UserError, message):
      datasets.builder(name, "clean", **options)

  def test_published_files_are_cropped_already(self):
    with self.assertRaisesRegex(errors.UserError, "cropped already"):
      datasets.builder(
        "imagenet_c", "fog_3", codec="published", geometry="squash9"
      )


_DUMMY = pathlib.Path(subtypes.__file__).with_name("dummy_data")


class ListTest(absltest.TestCase):
  """ImageNet-22K's subtypes: the list, TFDS's own test case, what is absent."""

  def test_the_list_is_the_scripts(self):
    # The fact sheet of training: 542 seen, 5,017 unseen; bird 850, dog 190 (118
    # seen), bear 12.
    rows = subtypes.rows()
    parts = collections.Counter(row["split"] for row in rows)
    self.assertEqual(parts, {"seen": 542, "unseen": 5_017})
    self.assertLen({row["wnid"] for row in rows}, 5_559)
    kinds = collections.Counter(row["type"] for row in rows)
    self.assertLen(kinds, 25)
    self.assertEqual(
      (kinds["bird"], kinds["dog"], kinds["bear"]), (850, 190, 12)
    )
    known = set(imagenet.wnids())
    for row in rows:
      self.assertEqual(row["wnid"] in known, row["split"] == "seen")
      label, part = subtypes.Builder.SUBTYPES[row["wnid"]]
      self.assertEqual(subtypes.Builder.CLASSES[label], row["type"])
      self.assertEqual(part, row["split"])
    dogs = [r for r in rows if r["type"] == "dog" and r["split"] == "seen"]
    self.assertLen(dogs, 118)


class BuilderTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = subtypes.Builder
  SPLITS = {"train": 1, "seen": 1, "unseen": 1}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean"]
  SKIP_TF1_GRAPH_MODE = True


class AbsentTest(absltest.TestCase):
  def test_absent_wnids_are_listed_and_said(self):
    folder = self.create_tempdir().full_path
    said: list[str] = []
    built = datasets.prepare(
      "imagenet22k_subtypes",
      data_dir=folder,
      manual_dir=_DUMMY,
      say=said.append,
    )
    absent = built.absent()
    counts = {split: len(names) for split, names in absent.items()}
    self.assertEqual(counts, {"train": 541, "seen": 541, "unseen": 5_016})
    self.assertNotIn("n01627424", absent["unseen"])
    (words,) = [line for line in said if "unseen" in line]
    self.assertIn("5,016 of 5,017 subtypes of unseen have no picture", words)
    self.assertIn(absent["unseen"][-1], words)
    again = datasets.builder("imagenet22k_subtypes", data_dir=folder)
    self.assertEqual(again.absent(), absent)
    (row,) = tfds.as_numpy(built.as_dataset(split="unseen"))
    self.assertEqual(row["example_id"], b"n01627424/n01627424_7.JPEG")
    self.assertEqual((row["group_id"], row["label"]), (b"n01627424", 0))
    self.assertEqual(row["image"].shape, (224, 224, 3))

  def test_are_logged_where_nobody_listens(self):
    with mock.patch.object(logging, "warning") as warned:
      subtypes.Builder(data_dir=self.create_tempdir()).download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=str(_DUMMY))
      )
    said = [str(call.args[0]) for call in warned.call_args_list]
    self.assertTrue(any("5,016 of 5,017" in line for line in said), said)

  def test_a_split_without_any_is_refused(self):
    manual = pathlib.Path(self.create_tempdir()) / "manual"
    shutil.copytree(_DUMMY, manual)
    shutil.rmtree(manual / "imagenet22k")
    with self.assertRaisesRegex(
      missing.MissingError, "no picture of a subtype of split unseen"
    ):
      datasets.prepare(
        "imagenet22k_subtypes",
        data_dir=self.create_tempdir(),
        manual_dir=manual,
      )


class TinyImagenetCTest(absltest.TestCase):
  """Tiny-ImageNet-C: the authors' pixels, its codecs, larger crops squashed."""

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

"""ImageNet-C at 299 and 64 px: the library's bytes, names, the published files."""

import pathlib
from unittest import mock

import jax
import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import features

from eval.pipeline import inputs
from robust_tfds import corruptions, datasets, errors
from robust_tfds.building import geometry
from robust_tfds.building.sources import imagenet
from robust_tfds.reading import decoders
from tests import quick, tiny_files
from tests.own import made

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
    made, folder = decoders.of_pictures(), self.create_tempdir().full_path
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
    ("digits_p", "clean_h264", decoders.of_videos()),
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
    self.assertEqual(datasets.edition(name), "imagenet")
    self.assertEqual(datasets.edition(name, "inception"), "inception")

  @parameterized.parameters(
    ("short256_crop224", "imagenet"),
    ("short342_crop299", "inception"),
    ("squash64", "imagenet64"),
    ("squash32_crop32", "cifar10"),
    ("short256", "imagenet"),  # no size: clean data alone
  )
  def test_the_edition_follows_the_crop(self, geometry, expected):
    self.assertEqual(datasets.edition("imagenet_c", geometry), expected)

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

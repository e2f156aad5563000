"""Files of data sets, and the commands that bring them."""

from absl.testing import absltest

from robust_tfds import conditions, datasets, errors
from robust_tfds.building.sources import known_files


class KnownFilesTest(absltest.TestCase):
  def test_commands(self):
    by_hand = known_files.lack("imagenet_c", "/a b", "No.", "")
    self.assertEqual(
      by_hand.get, "mkdir -p '/a b' && mv ILSVRC2012_img_val.tar '/a b'/"
    )
    self.assertEqual(by_hand.options, ())
    direct = known_files.lack("coco_c", "/m", "No.", "").get
    self.assertEqual(direct.count("curl -L --create-dirs -o /m/"), 2)
    nowhere = known_files.lack("coco_c", None, "No.", "")
    self.assertIn("curl -L --create-dirs -o FOLDER/", nowhere.get)
    self.assertEqual(nowhere.options, (("data.manual_dir", "FOLDER"),))
    unnamed = known_files.lack("kinetics400_p", "/m", "No.", "").get
    self.assertEqual(unnamed, "mkdir -p /m && mv FILES /m/")

  def test_archives_of_imagenet_c(self):
    self.assertEqual(known_files.group_tar("fog"), "weather.tar")
    self.assertEqual(known_files.group_tar("spatter"), "extra.tar")
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'fog'"):
      known_files.group_tar("fogg")

  def test_the_authors_archive_of_a_condition(self):
    for name, config, file in (
      ("imagenet_c", "fog_3", "weather.tar"),
      ("tiny_imagenet_c", "fog_3", "Tiny-ImageNet-C.tar"),
      ("tiny_imagenet_c", "spatter_1", "Tiny-ImageNet-C-extra.tar"),
      ("imagenet64_c", "fog_3", "FILES"),
    ):
      condition = conditions.PICTURES.parse(config)
      named = known_files.published(name, condition)
      lack = known_files.lack(named, "/m", "No.", "")
      self.assertEqual(lack.get, f"mkdir -p /m && mv {file} /m/")
      self.assertStartsWith(lack.what, f"{name}: ")

  def test_the_table(self):
    for row in known_files.rows():
      self.assertIn(len(row.sha256), (0, 64))
      self.assertEqual(bool(row.size), bool(row.sha256))
      for name in row.sets.partition(".published")[0].split(","):
        if name != "objectnet":  # a natural set
          instructions = datasets.builder_class(
            name
          ).MANUAL_DOWNLOAD_INSTRUCTIONS
          self.assertIn(row.file, instructions)

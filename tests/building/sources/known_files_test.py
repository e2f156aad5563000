"""Files of data sets, and the commands that bring them."""

from absl.testing import absltest

from robust_tfds import datasets
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

  def test_the_table(self):
    for row in known_files.rows():
      self.assertIn(len(row.sha256), (0, 64))
      self.assertEqual(bool(row.size), bool(row.sha256))
      for name in row.sets.split(","):
        if name != "objectnet":  # a natural set
          instructions = datasets.builder_class(
            name
          ).MANUAL_DOWNLOAD_INSTRUCTIONS
          self.assertIn(row.file, instructions)

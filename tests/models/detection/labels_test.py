"""Which class each output of a head stands for."""

from absl.testing import absltest

from models.detection import labels


class LabelsTest(absltest.TestCase):
  def test_tables(self):
    self.assertEqual(labels.table("plain", 3), (0, 1, 2))
    self.assertEqual(labels.table("last", 3), (0, 1, 2, -1))
    self.assertEqual(labels.table("torchvision", 3), (-1, 0, 1, 2))
    coco = labels.table("torchvision", 80)
    self.assertEqual([coco[i] for i in (0, 1, 12, 13, 90)], [-1, 0, -1, 11, 79])
    self.assertEqual(sorted(set(coco)), list(range(-1, 80)))
    self.assertEqual(labels.table("first", 80), (-1, *range(80)))
    with self.assertRaisesRegex(ValueError, "plain, last"):
      labels.table("middle", 3)

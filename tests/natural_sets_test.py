"""The rows of natural sets: known to TFDS, their names nobody's."""

import tensorflow_datasets as tfds
from absl.testing import absltest

from robust_tfds import datasets, natural_sets


class NaturalSetsTest(absltest.TestCase):
  def test_tfds_knows_them(self):
    for row in natural_sets.rows().values():
      if row.source:
        known = tfds.builder_cls(row.source).builder_configs
        self.assertEqual(row.configs, ",".join(known))

  def test_names(self):
    for name in natural_sets.rows():
      self.assertTrue(natural_sets.is_natural(name))
      self.assertNotIn(name, datasets.names())
    taken = ("imagenet_v2_topimages", "imagenet_v2_reference", "objectnet")
    for name in taken:
      self.assertTrue(natural_sets.is_taken(name))
    self.assertFalse(natural_sets.is_taken("imagenet_v2"))
    row = natural_sets.by_set_name("imagenet2012_real")
    self.assertTrue(row and row.several)
    self.assertIsNone(natural_sets.by_set_name("imagenet2012_real_reference"))

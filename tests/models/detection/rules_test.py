"""The libraries' numerics: who has which."""

from absl.testing import absltest

from models.detection import rules
from robust_tfds import models


class RulesTest(absltest.TestCase):
  def test_every_library_of_published_detectors_has_some(self):
    weights = {
      models.get(n).spec.weights for n in models.names(kind="detection")
    }
    self.assertEqual(weights - {"own"}, set(rules.RULES))

  def test_generations_differ_in_what_boxes_mean(self):
    newer, older = rules.RULES["mmdetection"], rules.RULES["mmdetection1"]
    self.assertEqual((newer.edge, older.edge), (0, 1))
    self.assertEqual((newer.rounded, older.rounded), (False, True))
    self.assertEqual((newer.aligned, older.aligned), (True, False))
    self.assertEqual((newer.samples, older.samples), (0, 2))
    self.assertEqual((newer.labels, older.labels), ("last", "first"))

"""Label ids of other packages: named, never guessed."""

import numpy as np
from absl.testing import parameterized

from models.detection import label_ids
from models.detection.detector import DetectorSpec
from robust_tfds import errors

_TWO = DetectorSpec(num_classes=2)


class LabelIdsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("from_zero", {0: 0, 1: 1}),
    ("from_one", {0: -1, 1: 0, 2: 1}),
    ({7: 1, 9: 0, 3: -1}, {7: 1, 9: 0, 3: -1}),
  )
  def test_classes(self, labels, expected):
    self.assertEqual(label_ids.classes("mine", _TWO, labels), expected)

  def test_coco(self):
    known = label_ids.classes("mine", DetectorSpec(), "coco91")
    self.assertEqual(set(known), set(range(91)))
    self.assertEqual(
      [known[i] for i in (0, 1, 11, 12, 13)], [-1, 0, 10, -1, 11]
    )
    self.assertEqual(sorted(c for c in known.values() if c >= 0), [*range(80)])

  @parameterized.parameters(
    (_TWO, None, "^mine got labels=None, expected .* 'coco91'"),
    (_TWO, "coco", "^mine got labels='coco', expected what its label ids"),
    (_TWO, "coco91", "of 80 classes, and a spec with num_classes=2"),
    (_TWO, {1: 2}, r"^mine got labels \{1: 2\}, expected .* 0..1"),
    (_TWO, {}, r"^mine got labels \{\}, expected"),
  )
  def test_refusals(self, spec, labels, words):
    with self.assertRaisesRegex(errors.UserError, words):
      label_ids.classes("mine", spec, labels)

  def test_ids(self):
    known = {1: 0, 2: -1}
    got = label_ids.to_classes("mine", np.array([1, 2, 1]), known)
    self.assertEqual(got.tolist(), [0, -1, 0])
    with self.assertRaisesRegex(
      errors.UserError, r"^mine gave the label ids 0, 91, expected 1..2"
    ):
      label_ids.to_classes("mine", np.array([91, 1, 0]), known)

"""Outputs of torchvision's and DETR's form, computed by hand."""

import numpy as np
from absl.testing import absltest

from models.detection import outputs
from robust_tfds import errors

_BOXES = np.array([[0.5, 0.5, 0.2, 0.4], [0.25, 0.5, 0.5, 1.0]], np.float32)
_CORNERS = [[40, 15, 60, 35], [0, 0, 50, 50]]  # on 50 x 100 px


class OutputsTest(absltest.TestCase):
  def test_boxes_with_labels(self):
    answer = {
      "boxes": np.array([[0, 0, 1, 2], [3, 4, 5, 6]], np.float32),
      "scores": np.array([0.5, 0.75], np.float32),
      "labels": np.array([2, 1]),
      "masks": np.arange(2.0)[:, None, None, None] + np.zeros((2, 1, 8, 8)),
    }
    got = outputs.from_boxes("mine", answer, {1: 0, 2: -1})
    self.assertEqual(got["boxes"].tolist(), [[3, 4, 5, 6]])
    self.assertEqual(got["scores"].tolist(), [0.75])
    self.assertEqual(got["classes"].tolist(), [0])
    np.testing.assert_array_equal(got["masks"], np.ones((1, 8, 8)))
    with self.assertRaisesRegex(errors.UserError, "^mine gave the label ids 2"):
      outputs.from_boxes("mine", answer, {1: 0})
    del answer["labels"]
    with self.assertRaisesRegex(errors.UserError, "without labels"):
      outputs.from_boxes("mine", answer, {1: 0})

  def test_no_object_is_the_last_logit(self):
    logits = np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    answer = {"logits": logits + 7, "pred_boxes": _BOXES}
    got = outputs.from_queries("mine", answer, {0: 1, 1: 0}, 2, (50, 100))
    np.testing.assert_allclose(got["scores"], [0.3, 0.1])
    self.assertEqual(got["classes"].tolist(), [0, 1])
    np.testing.assert_allclose(got["boxes"], _CORNERS, atol=1e-4)

  def test_without_a_no_object_every_label_is_a_detection(self):
    logits = np.array([[0.0, np.log(3)], [-np.log(3), 0.0]])
    answer = {"logits": logits, "pred_boxes": _BOXES}
    got = outputs.from_queries("mine", answer, {0: 0, 1: 1}, 2, (50, 100))
    np.testing.assert_allclose(got["scores"], [0.5, 0.75, 0.25, 0.5])
    self.assertEqual(got["classes"].tolist(), [0, 1, 0, 1])
    np.testing.assert_allclose(
      got["boxes"], np.repeat(_CORNERS, 2, 0), atol=1e-4
    )

  def test_logits_and_ids_that_do_not_fit(self):
    answer = {"logits": np.zeros((2, 5)), "pred_boxes": _BOXES}
    with self.assertRaisesRegex(errors.UserError, "gave 5 logits a box, exp"):
      outputs.from_queries("mine", answer, {0: 0, 1: 1}, 2, (50, 100))
    with self.assertRaisesRegex(errors.UserError, "has 2 labels, ids 0..1"):
      outputs.from_queries("mine", answer, {0: -1, 1: 0, 2: 1}, 2, (50, 100))

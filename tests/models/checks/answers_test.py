"""What a model from elsewhere may answer: shapes, dtypes, names."""

import numpy as np
from absl.testing import parameterized

from models.checks import answers
from robust_tfds import errors, models


def _detections(**changes):
  return {
    "boxes": np.zeros((2, 3, 4), np.float32),
    "scores": np.zeros((2, 3), np.float32),
    "classes": np.zeros((2, 3), np.int32),
    "valid": np.zeros((2, 3), bool),
    **changes,
  }


class AnswersTest(parameterized.TestCase):
  def test_by_the_kind_of_the_spec(self):
    spec = models.get("digits_cnn").spec
    got = answers.check("mine", spec, np.zeros((2, 10), np.float16), 2)
    self.assertEqual((got.shape, got.dtype), ((2, 10), np.float32))
    spec = models.get("tiny_retinanet").spec
    whole = _detections(masks=np.zeros((2, 3, 5, 5), np.float32))
    self.assertEqual(set(answers.check("mine", spec, whole, 2)), set(whole))

  @parameterized.parameters(
    (np.zeros((2, 9), np.float32), r"shape \(2, 9\), expected \(2, 10\)"),
    (np.zeros((3, 10), np.float32), r"shape \(3, 10\), expected"),
    (np.zeros(10, np.float32), r"shape \(10,\), expected"),
    (np.zeros((2, 10), np.int32), "int32 numbers, expected float logits"),
    (np.zeros((2, 10), np.complex64), "complex64 numbers, expected float"),
    ({"logits": 1}, "with a dict, which is no array"),
    (None, "with a NoneType, which is no array"),
  )
  def test_wrong_logits(self, answer, words):
    with self.assertRaisesRegex(errors.UserError, f"^mine .*{words}"):
      answers.logits("mine", answer, 2, 10)

  @parameterized.parameters(
    ({"boxes": np.zeros((2, 3, 5), np.float32)}, "boxes of shape .2, 3, 5."),
    ({"classes": np.zeros((2, 3), np.float32)}, "classes of float32, expected"),
    ({"valid": np.zeros((2, 3), np.int32)}, "valid of int32, expected bool"),
    ({"scores": np.zeros((2, 3), np.int32)}, "scores of int32, expected float"),
    ({"masks": np.zeros((2, 3, 5), np.float32)}, "masks of shape"),
    ({"scores": "high"}, "scores as a str"),
  )
  def test_wrong_detections(self, change, words):
    with self.assertRaisesRegex(errors.UserError, words):
      answers.detections("mine", _detections(**change), 2)

  def test_detections_that_are_none(self):
    with self.assertRaisesRegex(errors.UserError, "a list, expected a dict"):
      answers.detections("mine", [], 2)
    with self.assertRaisesRegex(errors.UserError, "gave boxes, without scores"):
      answers.detections("mine", {"boxes": _detections()["boxes"]}, 2)

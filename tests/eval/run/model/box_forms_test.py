"""Detectors whose boxes or classes mean something else, at the public door."""

import pathlib

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from tests.user_data import made


class BoxFormsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / "mine"

  def _evaluate(self, file, model=made.detect, **options):
    images = self.root / "images"
    options |= {"conditions": "none", "images": images, "size": None}
    return made.evaluate(model, f"coco:{file}", **options)

  def test_boxes_in_another_form_are_refused(self):
    rows = [
      {
        **row,
        "bbox": [20 - 6 * i, 4, 30, 12],
      }  # wide: rows first is no such box
      for i, row in enumerate(made.content()["annotations"])
    ]
    file = made.scenes(self.root, annotations=rows)
    truth = {(61, 83): rows[:2], (97, 45): rows[2:]}

    def detector(form):
      def detect(picture):
        boxes = [row["bbox"] for row in truth.get(picture.shape[:2], [])]
        boxes = [
          form(x, y, x + w, y + h, picture.shape) for x, y, w, h in boxes
        ]
        classes = [1, 0][: len(boxes)]
        return {
          "boxes": boxes,
          "scores": [0.9] * len(boxes),
          "classes": classes,
        }

      return detect

    right, _ = self._evaluate(file, detector(lambda *of: of[:4]))
    self.assertAlmostEqual(right.summary["p"], 1)
    for words, form in (
      (
        r"0 are found .*, and 3 .* as \(y1, x1",
        lambda x, y, r, b, _: (y, x, b, r),
      ),
      (r"as \(x, y, width", lambda x, y, r, b, _: (x, y, r - x, b - y)),
      (
        "as .centre x",
        lambda x, y, r, b, _: ((x + r) / 2, (y + b) / 2, r - x, b - y),
      ),
      (
        "all 3 boxes .* lie within 1.5 px",
        lambda x, y, r, b, of: (x / of[1], y / of[0], r / of[1], b / of[0]),
      ),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        self._evaluate(file, detector(form))

  def test_classes_in_another_order_are_said(self):
    file = made.scenes(self.root)
    _, said = self._evaluate(file, classes=["red", "blue"])
    words = (
      "finds 3 of 3 annotated boxes on the first pictures, and none as its"
    )
    self.assertIn(f"detect: {words} class, e.g. 'red' as 'blue'", said)
    _, said = self._evaluate(file, classes=["blue", "red"])
    self.assertNotIn("annotated boxes", said)

  def test_most_classes_in_another_order_are_said(self):
    def red(picture):
      answer = made.detect(picture)
      return {**answer, "classes": np.ones_like(answer["classes"])}

    def blue(picture):
      answer = made.detect(picture)
      return {**answer, "classes": np.zeros_like(answer["classes"])}

    file = made.scenes(self.root)
    said = [self._evaluate(file, model)[1] for model in (red, blue)]
    words = "finds 3 of 3 annotated boxes on the first pictures, and 1 as its"
    self.assertEqual([words in text for text in said].count(True), 1)

  def test_boxes_in_px_of_another_size_are_said(self):
    def resized(picture):
      answer = made.detect(picture)
      return {**answer, "boxes": answer["boxes"] * 640.0 / len(picture)}

    def nothing(picture):
      return {"boxes": np.zeros((0, 4)), "scores": [], "classes": []}

    file = made.scenes(self.root)
    for model, count in ((resized, 6), (nothing, 0)):
      result, said = self._evaluate(file, model)
      self.assertEqual(result.summary["p"], 0)
      self.assertIn("finds none of 3 annotated boxes", said)
      self.assertIn(f"with {count} boxes. Expected (x1, y1, x2, y2)", said)

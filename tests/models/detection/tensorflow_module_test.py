"""Detectors of TensorFlow: what they are shown, and their boxes' way back."""

import numpy as np
from absl.testing import absltest

from models import adapters
from models.detection.spec import DetectorSpec
from robust_tfds import errors

_SPEC = DetectorSpec(
  num_classes=2, short_px=64, long_px=64, mean=(0.5,) * 3, std=(0.5,) * 3
)


class TensorflowModuleTest(absltest.TestCase):
  def _model(self, answer, labels="from_one", **options):
    self.shown = []

    def net(images, image_shape, **others):
      self.shown.append((np.asarray(images), np.asarray(image_shape), others))
      return answer

    return adapters.get("tfm")(
      net, _SPEC, name="mine", labels=labels, **options
    )

  def test_canvas_and_boxes(self):
    boxes = np.float32([[[0, 16, 32, 64], [0, 0, 8, 8], [9, 9, 9, 9]]])
    model = self._model(
      {
        "detection_boxes": boxes,
        "detection_scores": np.float32([[0.9, 0.5, 0]]),
        "detection_classes": np.int32([[2, 1, 0]]),
        "num_detections": np.int32([2]),
      },
      training=False,
    )
    picture = np.full((1, 100, 200, 3), 255, np.uint8)
    got = model.apply(None, picture, np.int32([[100, 200]]))
    images, size, options = self.shown[0]
    self.assertEqual(options, {"training": False})
    np.testing.assert_array_equal(size, [[64, 64]])
    np.testing.assert_allclose(images[0, :32], 1)
    np.testing.assert_array_equal(images[0, 32:], 0)
    # 64 / 200: a px of the canvas is 3.125 px of the picture.
    np.testing.assert_allclose(got["boxes"][0, 0], [50, 0, 200, 100])
    np.testing.assert_allclose(got["boxes"][0, 1], [0, 0, 25, 25])
    np.testing.assert_array_equal(got["classes"][0, :2], [1, 0])
    self.assertEqual(got["valid"].sum(), 2)

  def test_refused(self):
    picture = np.zeros((1, 8, 8, 3), np.uint8)
    for answer in ({"cls_outputs": 1}, np.zeros(3)):
      with self.assertRaisesRegex(errors.UserError, "^mine.*training=False"):
        self._model(answer).apply(None, picture)
    with self.assertRaisesRegex(errors.UserError, "^mine.*label ids"):
      self._model({}, labels=None)
    with self.assertRaisesRegex(errors.UserError, "on the host: leave route"):
      self._model({}, route="traced")

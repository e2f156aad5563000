"""Detectors from elsewhere: traced functions, functions on the host."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import predict
from robust_tfds.eval.tasks import detection
from robust_tfds.models.detection import own

IMAGES = np.zeros((4, 16, 24, 3), np.uint8)
SIZES = np.array([[16, 24], [10, 24], [16, 9], [3, 4]], np.int32)


def _whole(picture):
  """The picture's own size as a box; nothing where it is tiny."""
  h, w = picture.shape[:2]
  count = 2 if h > 4 else 0
  return {
    "boxes": [[0, 0, w, h], [0, 0, 1, 1]][:count],
    "scores": [0.25, 0.5][:count],
    "classes": [1, 0][:count],
  }


class OwnTest(absltest.TestCase):
  def test_on_host(self):
    model = own.on_host(_whole, 2, detections=3)
    runs = predict.Predictor(
      model, model.init(jax.random.key(0)), devices.mesh()
    )
    got = runs(IMAGES, detection.reduce, SIZES).fetch()
    np.testing.assert_array_equal(
      got["scores"], [[0.5, 0.25, 0]] * 3 + [[0, 0, 0]]
    )
    np.testing.assert_array_equal(
      got["classes"], [[0, 1, -1]] * 3 + [[-1, -1, -1]]
    )
    np.testing.assert_array_equal(
      got["boxes"][:3, 1], [[0, 0, 24, 16], [0, 0, 24, 10], [0, 0, 9, 16]]
    )

  def test_the_best_are_kept(self):
    model = own.on_host(_whole, 2, detections=1)
    got = model.apply({}, IMAGES, SIZES)
    np.testing.assert_array_equal(got["scores"][:, 0], [0.5, 0.5, 0.5, 0])

  def test_host_refusals(self):
    for key, value, message in (
      ("classes", [1, 2], "Got classes 1..2, expected 0..1"),
      ("scores", [0.5], "Got 2 boxes, 1 scores and 2 classes"),
    ):
      bad = own.on_host(lambda p, k=key, v=value: {**_whole(p), k: v}, 2)
      with self.assertRaisesRegex(Exception, message):
        jax.block_until_ready(bad.apply({}, IMAGES[:1], SIZES[:1]))

  def test_traced_refusals(self):
    def without(name):
      def predict(images, sizes):
        found = own.on_host(_whole, 2).predict(images, sizes)
        return {k: v for k, v in found.items() if k != name}

      return own.traced(predict, 2, name="mine")

    with self.assertRaisesRegex(ValueError, "mine gave .* without valid"):
      without("valid").apply({}, IMAGES, SIZES)
    short = own.traced(
      lambda i, s: {
        **own.on_host(_whole, 2).predict(i, s),
        "boxes": np.zeros((4, 4)),
      },
      2,
    )
    with self.assertRaisesRegex(ValueError, r"boxes of shape \(4, 4\)"):
      short.apply({}, IMAGES, SIZES)


if __name__ == "__main__":
  absltest.main()

"""Detected masks as run lengths: the texts of pictures, of many at once."""

import numpy as np
from absl.testing import absltest

from eval.tasks.detections import masks
from robust_tfds.coco import rle
from tests.eval.tasks import painted_mask


def _outputs(rng, pictures, detections):
  """Random masks and boxes; each picture has one detection less."""
  corners = rng.uniform(-20, 60, (pictures, detections, 2))
  sides = rng.uniform(0, 60, corners.shape)
  place = np.arange(detections) + np.arange(pictures)[:, None]
  return {
    "boxes": np.concatenate([corners, corners + sides], -1).astype(np.float32),
    "classes": np.where(place < detections, 3, -1),
    "masks": rng.random((pictures, detections, 7, 7), np.float32),
  }


class MasksTest(absltest.TestCase):
  def test_one_word_a_detection(self):
    rng = np.random.default_rng(0)
    outputs, sizes = _outputs(rng, 6, 5), rng.integers(1, 60, (6, 2))
    rows = [0, 2, 3, 5]
    texts = masks.texts(outputs, rows, sizes)
    self.assertLen(texts, 4)
    for i, text in zip(rows, texts):
      self.assertEqual(text, masks.run_lengths(outputs, i, sizes[i]))
      height, width = sizes[i].tolist()
      want = [
        rle.encode(painted_mask.painted(mask, box, height, width)).counts
        for mask, box in zip(outputs["masks"][i], outputs["boxes"][i])
      ]
      self.assertEqual(text.split(" ") if text else [], want[: 5 - i])

  def test_detections_end_at_the_first_that_is_none(self):
    outputs = _outputs(np.random.default_rng(0), 1, 3)
    outputs["classes"] = np.array([[1, -1, 1]])
    text = masks.run_lengths(outputs, 0, np.array([9, 9]))
    self.assertLen(text.split(" "), 1)

  def test_texts_of_detectors_on_the_host(self):
    outputs = {
      "classes": np.array([[3, 1, -1], [-1, -1, -1]]),
      "masks": np.array([["22", "04", ""], ["", "", ""]], np.object_),
    }
    sizes = np.array([[2, 2], [2, 2]])
    self.assertEqual(masks.texts(outputs, [0, 1], sizes), ["22 04", ""])

  def test_nothing_detected(self):
    outputs = _outputs(np.random.default_rng(0), 1, 1)
    outputs["classes"][:] = -1
    self.assertEqual(masks.run_lengths(outputs, 0, np.array([5, 6])), "")
    self.assertEqual(masks.texts(outputs, [], np.zeros((0, 2), int)), [])

"""What a batch says of its objects, and batches that are refused."""

import numpy as np
from absl.testing import absltest, parameterized

from models.detection import truth
from robust_tfds import errors


def _batch():
  return {
    "image": np.zeros((2, 20, 30, 3), np.uint8),
    "size": np.array([[20, 30], [10, 30]], np.int32),
    "boxes": np.array(
      [[[2, 4, 12, 14], [5, 5, 5, 9]], [[0, 0, 6, 6], [1, 1, 9, 9]]], np.float32
    ),
    "labels": np.array([[1, 1], [0, 7]], np.int32),
  }


def _of(batch, masks=False, edge=0.0):
  return truth.from_batch(
    "mine",
    batch,
    factor=np.full((2, 4), 0.5, np.float32),
    sizes=batch["size"] * 2,
    edge=edge,
    num_classes=3,
    masks=masks,
  )


class TruthTest(parameterized.TestCase):
  def test_boxes_in_the_networks_pixels(self):
    got = _of(_batch())
    self.assertEqual(got.boxes[0, 0].tolist(), [4, 8, 24, 28])
    # Without area, or of a class that the network has not: no object.
    self.assertEqual(got.labels.tolist(), [[1, -1], [0, -1]])
    last = _of(_batch(), edge=1.0)
    self.assertEqual(last.boxes[0, 0].tolist(), [4, 8, 22, 26])
    self.assertIsNone(got.masks)
    self.assertIsNone(got.semantic)

  def test_what_is_missing(self):
    batch = {"image": 0, "boxes": 0}
    with self.assertRaisesRegex(
      errors.UserError, "without size, labels, which"
    ):
      truth.check_keys("mine", batch, masks=False)
    with self.assertRaisesRegex(errors.UserError, "without masks, which"):
      truth.check_keys("mine", _batch(), masks=True)

  @parameterized.parameters(
    ("boxes", np.zeros((2, 2, 5)), r"boxes float32 \[2, 2, 5\]"),
    ("labels", np.zeros((2, 3), int), r"labels int32 \[2, 3\]"),
    ("masks", np.zeros((2, 2, 9, 9), bool), r"masks bool \[2, 2, 9, 9\]"),
    ("semantic", np.zeros((2, 9, 9), int), r"semantic int32 \[2, 9, 9\]"),
  )
  def test_refuses(self, key, value, message):
    with self.assertRaisesRegex(errors.UserError, f"mine got {message}"):
      _of({**_batch(), key: value}, masks=key == "masks")


if __name__ == "__main__":
  absltest.main()

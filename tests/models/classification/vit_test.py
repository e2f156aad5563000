"""Vision transformers take pictures of one size."""

import numpy as np
from absl.testing import absltest

from robust_tfds import models


class SizesTest(absltest.TestCase):
  def test_refuses_other_sizes(self):
    model = models.get("vit_tiny_patch16_224")
    with self.assertRaisesRegex(ValueError, "expected 224 x 224"):
      model.apply({}, np.zeros((1, 256, 256, 3), np.uint8))


if __name__ == "__main__":
  absltest.main()

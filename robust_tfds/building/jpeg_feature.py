"""A TFDS feature of JPEG files that is read with the pixels that Pillow reads.

TFDS decodes with libjpeg's fast transform, which differs from the exact one in
two pixels of three, by up to five levels. The authors of the benchmarks read
their files through Pillow, which takes the exact one, and so does the JPEG that
is made on the accelerators: with it, prepared sets equal those corrupted on the
fly.

The files of every set name this module (`features.json`): it stays here.
"""

from typing import Any

import numpy as np
import tensorflow_datasets as tfds


class Jpeg(tfds.features.Image):
  """A `tfds.features.Image` that is decoded exactly."""

  def decode_example(self, example: Any) -> Any:
    """Decode a scalar string tensor to uint8 `[H, W, 3]`."""
    import tensorflow as tf

    picture = tf.io.decode_jpeg(
      example, channels=self.shape[-1], dct_method="INTEGER_ACCURATE"
    )
    picture.set_shape(self.shape)
    return picture

  def decode_example_np(self, example: bytes) -> np.ndarray:
    """Decode bytes to uint8 `[H, W, 3]`, by Pillow."""
    return self.decode_example_np_with_pil(example, self.shape[-1])


def picture(
  shape: tuple[int | None, int | None, int], *, lossless: bool
) -> tfds.features.Image:
  """Return the feature of pictures of a shape, PNG or JPEG.

  Args:
    shape: (height, width, 3), None where it varies.
    lossless: PNG.
  """
  if lossless:
    return tfds.features.Image(shape=shape, encoding_format="png")
  return Jpeg(shape=shape, encoding_format="jpeg")

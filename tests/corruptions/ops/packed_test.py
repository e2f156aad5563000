"""Pixels in words: packed, gathered, and the same bytes again."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import packed


class PackedTest(absltest.TestCase):
  def test_there_and_back(self):
    picture = np.random.default_rng(0).integers(0, 256, (3, 5, 3), np.uint8)
    words = packed.pack(picture)
    self.assertEqual((words.shape, words.dtype), ((3, 5), np.uint32))
    for c, channel in enumerate(packed.channels(words)):
      np.testing.assert_array_equal(channel, picture[..., c])
    np.testing.assert_array_equal(
      packed.bytes_of(words), picture.reshape(3, 15)
    )

  def test_kept_bytes_are_the_same(self):
    picture = np.random.default_rng(0).integers(0, 256, (3, 5, 3), np.uint8)

    @jax.jit
    def there_and_back(picture, natural):
      channels = packed.image_channels(picture, natural)
      return packed.bytes_of(packed.join(*channels), natural)

    got = there_and_back(picture, np.int32(0))
    np.testing.assert_array_equal(got, picture.reshape(3, 15))

  def test_levels_are_truncated_and_clipped(self):
    levels = np.array([-7, -0.5, 0.99, 254.999, 255.5, 1e9], np.float32)
    channels = np.stack([levels, levels[::-1], levels])[:, None]
    got = jax.jit(packed.interleave)(channels, np.int32(0))
    expected = np.clip(channels, 0, 255).astype(np.uint8).transpose(1, 2, 0)
    np.testing.assert_array_equal(got, expected.reshape(1, -1))

  def test_red_is_the_low_byte(self):
    word = packed.pack(np.array([[[1, 2, 255]]], np.uint8))
    self.assertEqual(int(word[0, 0]), 0xFF0201)

  def test_gathers(self):
    words = np.arange(12, dtype=np.uint32).reshape(3, 4)
    index = np.array([2, 0, 0, 1])
    np.testing.assert_array_equal(packed.rows(words, index), words[index])
    np.testing.assert_array_equal(packed.columns(words, index), words[:, index])

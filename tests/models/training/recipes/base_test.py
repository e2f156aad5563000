"""Crops and flips by key, the loss of smoothed labels."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.training.recipes import base

_PIXELS = np.arange(6 * 8 * 8 * 3, dtype=np.uint8).reshape(6, 8, 8, 3) | 1
_KEYS = np.arange(12, dtype=np.uint32).reshape(6, 2)


class RecipeTest(absltest.TestCase):
  def test_nothing_is_changed_by_default(self):
    got = base.Recipe().transform(_PIXELS, _KEYS)
    np.testing.assert_array_equal(got, _PIXELS)

  def test_crops_and_flips(self):
    """Each is a window of the padded picture, mirrored or not, by its key alone."""
    recipe = base.Recipe(flip=True, crop_px=2)
    got = np.asarray(jax.jit(recipe.transform)(_PIXELS, _KEYS))
    self.assertEqual(got.dtype, np.uint8)
    alone = np.concatenate(
      [recipe.transform(_PIXELS[i : i + 1], _KEYS[i : i + 1]) for i in range(6)]
    )
    np.testing.assert_array_equal(got, alone)
    places = set()
    for image, out in zip(_PIXELS, got):
      padded = np.pad(image, ((2, 2), (2, 2), (0, 0)))
      windows = {
        (y, x, way): padded[y : y + 8, x : x + 8][:, ::way]
        for y in range(5)
        for x in range(5)
        for way in (1, -1)
      }
      (place,) = [k for k, w in windows.items() if np.array_equal(w, out)]
      places.add(place)
    self.assertGreater(len(places), 3)
    self.assertLen({way for _, _, way in places}, 2)

  def test_frames_of_a_clip_move_together(self):
    clips = np.stack([_PIXELS, _PIXELS], axis=1)
    got = base.Recipe(flip=True, crop_px=2).transform(clips, _KEYS)
    np.testing.assert_array_equal(got[:, 0], got[:, 1])
    pictures = base.Recipe(flip=True, crop_px=2).transform(_PIXELS, _KEYS)
    np.testing.assert_array_equal(got[:, 0], pictures)

  def test_smoothed_cross_entropy(self):
    """-(.9 + .1 / 4) log p_label - .1 / 4 of each other."""
    logits = jnp.array([[1.0, 2.0, 0.0, -1.0]])
    log = np.asarray(jax.nn.log_softmax(logits))[0]
    want = -(0.9 * log[1] + 0.1 * log.mean())
    got = base.Recipe(label_smoothing=0.1).cross_entropy(logits, jnp.array([1]))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    self.assertEqual(base.error(logits, jnp.array([1])), 0)

"""Keys: functions of what is named, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds import corruptions
from robust_tfds.corruptions import seeding


class KeysTest(absltest.TestCase):
  def test_a_list_of_keys_is_an_array_of_keys(self):
    keys = [
      corruptions.example_key(0, "d", "brightness", 1, name) for name in "ab"
    ]
    want = np.stack([np.asarray(jax.random.key_data(k)) for k in keys])
    for form in (keys, tuple(keys), jnp.stack(keys), want):
      np.testing.assert_array_equal(seeding.raw(form), want)
    with self.assertRaisesRegex(ValueError, "A key must be a JAX key"):
      seeding.raw([])

  def test_depend_on_everything_named_and_nothing_else(self):
    base = (0, "imagenet_c", "fog", 3, "a.jpg", 0)
    first = np.asarray(seeding.raw(corruptions.example_key(*base)))
    again = np.asarray(seeding.raw(corruptions.example_key(*base)))
    np.testing.assert_array_equal(first, again)
    for i, other in enumerate((1, "digits_c", "snow", 4, "b.jpg", 1)):
      changed = (*base[:i], other, *base[i + 1 :])
      key = np.asarray(seeding.raw(corruptions.example_key(*changed)))
      self.assertFalse((key == first).all())


if __name__ == "__main__":
  absltest.main()

"""Keys: functions of what is named, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import corruptions, errors
from robust_tfds.corruptions import seeding


class KeysTest(parameterized.TestCase):
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

  @parameterized.product(
    field=("seed", "frame"),
    value=(float("nan"), 1.5, -1, True, "0", None, np.array([1, 2])),
  )
  def test_numbers_that_are_refused(self, field, value):
    with self.assertRaisesRegex(errors.UserError, f"{field} is a whole number"):
      _changed(**{field: value})

  @parameterized.product(
    field=("dataset", "name", "example_id"),
    value=(None, 3, b"a", ["a"], np.array("a"), "", "a\x1fb"),
  )
  def test_texts_that_are_refused(self, field, value):
    with self.assertRaisesRegex(errors.UserError, field):
      _changed(**{field: value})

  def test_other_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "2\\*\\*63 - 1"):
      _changed(seed=2**64)
    for severity in (0, 9, -3, np.array(9), jnp.array([3])):
      with self.assertRaisesRegex(errors.UserError, "Severity"):
        _changed(severity=severity)

  def test_forms_of_a_number_are_one_number(self):
    want = seeding.raw(_changed(seed=1))
    for seed in (np.int64(1), np.array(1), jnp.array(1)):
      np.testing.assert_array_equal(seeding.raw(_changed(seed=seed)), want)

  @parameterized.parameters(
    (None,),
    ("k",),
    (0,),
    ([1, 2],),
    (np.zeros(2),),
    (np.zeros(3, np.uint32),),
    (np.array([np.nan, 1]),),
  )
  def test_what_is_no_key(self, key):
    with self.assertRaisesRegex(errors.UserError, "A key must be a JAX key"):
      seeding.single(key)

  def test_several_keys_are_not_one(self):
    with self.assertRaisesRegex(errors.UserError, r"got \[2\] of them"):
      seeding.single(np.zeros((2, 2), np.uint32))


class FramesTest(parameterized.TestCase):
  def test_keys_on_the_device_are_those_on_the_host(self):
    keys = np.random.default_rng(0).integers(0, 2**32, (3, 2), np.uint32)
    there = seeding.keys_of_frames(jnp.asarray(keys), 5)
    for key, of_frames in zip(keys, there):
      host = seeding.frame_keys(key, np.arange(5))
      np.testing.assert_array_equal(of_frames, host)


def _changed(**changes) -> jax.Array:
  base = {
    "seed": 0,
    "dataset": "imagenet_c",
    "name": "fog",
    "severity": 3,
    "example_id": "a.jpg",
  }
  return corruptions.example_key(**{**base, **changes})

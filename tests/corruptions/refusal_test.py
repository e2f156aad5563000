"""Traced values out of range, and known ones, at the public functions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import conditions, corruptions, errors
from robust_tfds.corruptions import refusal
from robust_tfds.corruptions.sequence import crop_batch
from tests import quick

_IMAGES = np.arange(2 * 32 * 32 * 3, dtype=np.uint8).reshape(2, 32, 32, 3)
_KEYS = conditions.raw_keys(0, "digits_c", "x", 1, ["a", "b"])


def _batch(severity=3, sizes=None, name="gaussian_noise"):
  return corruptions.corrupt_batch(
    _IMAGES, name, severity, edition="cifar10", keys=_KEYS, sizes=sizes
  )


def _sequences(sizes, name="brightness"):
  return corruptions.sequence_batch(
    _IMAGES, name, edition="cifar10", keys=_KEYS, sizes=sizes
  )


class TracedTest(parameterized.TestCase):
  @quick.cases(["gaussian_noise", "motion_blur"], ["jpeg_compression"])
  def test_severities_out_of_range_give_the_checker(self, name):
    function = jax.jit(lambda s: _batch(s, name=name))
    for severity in (0, 6, 9, -3, 2**31 - 1):
      got = function(severity)
      self.assertTrue(refusal.marks(got).all(), severity)

  def test_valid_ones_keep_their_bytes(self):
    function = jax.jit(lambda s: _batch(s))
    for severity in conditions.SEVERITIES:
      got = function(severity)
      np.testing.assert_array_equal(got, _batch(severity))
      self.assertFalse(refusal.marks(got).any())

  def test_severities_of_a_vmap(self):
    got = jax.vmap(_batch)(np.array([1, 9]))
    np.testing.assert_array_equal(got[0], _batch(1))
    self.assertTrue(refusal.marks(got[1]).all())

  def test_one_picture(self):
    corrupt = jax.jit(
      lambda s: corruptions.corrupt(
        _IMAGES[0], "brightness", s, edition="cifar10", key=_KEYS[0]
      )
    )
    np.testing.assert_array_equal(corrupt(9), refusal.checker(32, 32))

  @parameterized.parameters((0, 5), (-1, 5), (33, 5), (5, 33))
  def test_sizes(self, *size):
    sizes = np.array([(20, 30), size])
    got = jax.jit(lambda z: _batch(sizes=z))(sizes)
    np.testing.assert_array_equal(refusal.marks(got), [False, True])
    np.testing.assert_array_equal(got[0], _batch(sizes=[(20, 30)] * 2)[0])

  def test_sizes_of_sequences(self):
    sizes = np.array([(32, 32), (31, 32)])  # smaller than the edition's crop
    for function in (
      _sequences,
      lambda z: crop_batch(_IMAGES, edition="cifar10", sizes=z)[:, None],
    ):
      got = jax.jit(function)(sizes)
      self.assertFalse(refusal.marks(got[0]).any())
      self.assertTrue(refusal.marks(got[1]).all())


class KnownTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, "Severity 0 is the clean image"),
    (6, "must be 1-5, got 6"),
    (-1, "must be 1-5"),
    (10**30, "must be 1-5"),
    (True, "must be an integer"),
    (2.5, "must be an integer"),
    ("3", "must be an integer"),
    (None, "must be an integer"),
    (float("nan"), "must be an integer"),
    (np.array(0), "Severity 0"),
    (jnp.array(9), "got 9"),
    (np.array([3]), "One severity serves a whole batch"),
    (jnp.array([3, 3]), "One severity serves a whole batch"),
    (np.array("3"), "must be an integer"),
    (np.array(True), "must be an integer"),
  )
  def test_severities(self, severity, message):
    key = _KEYS[0]
    for function in (
      lambda: _batch(severity),
      lambda: corruptions.corrupt(
        _IMAGES[0], "fog", severity, edition="cifar10", key=key
      ),
      lambda: corruptions.perturb_video(
        _IMAGES, "static_rotation", severity, key=key
      ),
      lambda: corruptions.frame_indices(9, "sampling", severity, key=key),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        function()

  @parameterized.parameters(((0, 5),), ((-1, 5),), ((33, 5),), ((2.5, 5),))
  def test_sizes(self, size):
    for function in (lambda z: _batch(sizes=z), _sequences):
      with self.assertRaisesRegex(errors.UserError, "sizes"):
        function([(32, 32), size])

  @parameterized.parameters(
    (None,), (3,), (b"fog",), (["fog"],), (("fog",),), ("fogg",), ("",)
  )
  def test_names(self, name):
    key = _KEYS[0]
    corrupt = functools.partial(corruptions.corrupt, _IMAGES[0], "fog", 1)
    if name is not None:  # that of the picture's size
      with self.assertRaisesRegex(errors.UserError, "Unknown"):
        corrupt(edition=name, key=key)
    for function in (
      lambda: _batch(name=name),
      lambda: _sequences(None, name=name),
      lambda: corruptions.sequence(_IMAGES[0], "tilt", edition=name, key=key),
      lambda: corruptions.perturb_video(_IMAGES, name, 1, key=key),
      lambda: corruptions.perturb_video(
        _IMAGES, "jumbling", 1, edition=name, key=key
      ),
      lambda: corruptions.frame_indices(9, name, 1, key=key),
      lambda: corruptions.names(name),
      lambda: corruptions.sequence_names(name),
    ):
      with self.assertRaisesRegex(errors.UserError, "Unknown"):
        function()

  @parameterized.parameters(
    (None, "key"),
    ("k", "A key must be a JAX key"),
    (0, "A key must be a JAX key"),
    ([1, 2], "A key must be a JAX key"),
    (np.zeros(2), "A key must be a JAX key"),
    (np.zeros(3, np.uint32), "A key must be a JAX key"),
    (np.zeros((2, 2), np.uint32), r"got \[2\] of them"),
  )
  def test_keys(self, key, message):
    for function in (
      lambda: corruptions.corrupt(
        _IMAGES[0], "fog", 1, edition="cifar10", key=key
      ),
      lambda: corruptions.sequence(
        _IMAGES[0], "brightness", edition="cifar10", key=key
      ),
      lambda: corruptions.perturb_video(_IMAGES, "random_rotation", 1, key=key),
      lambda: corruptions.frame_indices(9, "jumbling", 1, key=key),
      lambda: corruptions.frame_indices(9, "sampling", 1, key=key),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        function()

  @parameterized.parameters(
    ([[1, 2], [3]],), (None,), ("x",), (np.zeros((32, 32, 3)),)
  )
  def test_pictures(self, image):
    key = _KEYS[0]
    for function in (
      lambda: corruptions.corrupt(image, "fog", 1, edition="cifar10", key=key),
      lambda: corruptions.sequence(
        image, "brightness", edition="cifar10", key=key
      ),
      lambda: corruptions.perturb_video(image, "random_rotation", 1, key=key),
    ):
      with self.assertRaisesRegex(errors.UserError, "uint8"):
        function()

  def test_no_pictures(self):
    with self.assertRaisesRegex(errors.UserError, "Empty image"):
      corruptions.corrupt_batch(
        _IMAGES[:0], "fog", 1, edition="any", keys=_KEYS[:0]
      )

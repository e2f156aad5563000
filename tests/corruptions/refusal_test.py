"""Traced values out of range, and known ones, at the public functions."""

import functools

import jax
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
    (0,), (9,), (-3,), (True,), (2.5,), ("3",), (None,), (np.array([1, 2]),)
  )
  def test_severities(self, severity):
    for form in (lambda s: s, np.array):
      with self.assertRaisesRegex(errors.UserError, "Severity"):
        _batch(form(severity))
      with self.assertRaisesRegex(errors.UserError, "Severity"):
        corruptions.corrupt(
          _IMAGES[0], "fog", form(severity), edition="cifar10", key=_KEYS[0]
        )
      with self.assertRaisesRegex(errors.UserError, "Severity"):
        corruptions.perturb_video(
          _IMAGES, "static_rotation", form(severity), key=_KEYS[0]
        )
      with self.assertRaisesRegex(errors.UserError, "Severity"):
        corruptions.frame_indices(9, "sampling", form(severity), key=_KEYS[0])

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
    (None,), ("k",), ([1, 2],), (np.zeros(2),), (np.zeros((2, 2), np.uint32),)
  )
  def test_keys(self, key):
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
      with self.assertRaisesRegex(errors.UserError, "key"):
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

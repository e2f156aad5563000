"""Editions and severities."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.corruptions import spec


class EditionTest(parameterized.TestCase):
  def test_a_suggestion(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'cifar10'"):
      spec.edition("cifar")

  def test_nearest_row(self):
    rows = {"imagenet": (1,), "tiny_imagenet": (2,)}
    self.assertEqual(spec.edition("inception").row(rows), (1,))
    self.assertEqual(spec.edition("imagenet64").row(rows), (2,))
    with self.assertRaisesRegex(errors.UserError, "Add a row for it"):
      spec.edition("cifar10").row(rows)

  @parameterized.parameters(
    (224, "imagenet"),
    (299, "inception"),
    (64, "imagenet64"),
    (32, "cifar10"),
    (227, "imagenet"),
    (331, "inception"),
    (96, "imagenet"),  # fog's map of 64 px does not cover it
    (9, "cifar10"),
    (512, "inception"),
  )
  def test_of_a_size(self, side, expected):
    self.assertEqual(spec.edition_for(side), expected)

  def test_of_no_size(self):
    with self.assertRaisesRegex(errors.UserError, "513 px; .* 512 px"):
      spec.edition_for(513)

  def test_side(self):
    self.assertEqual(spec.edition("imagenet64").side_px, 64)
    with self.assertRaisesRegex(errors.UserError, "no size of its own"):
      _ = spec.edition("any").side_px


class SeverityTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, "Severity 0 is the clean image"),
    (6, "must be 1-5, got 6"),
    (-1, "must be 1-5"),
    (10**30, "must be 1-5"),
    (True, "must be an integer"),
    (2.0, "must be an integer"),
    ("3", "must be an integer"),
    (None, "must be an integer"),
    (float("nan"), "must be an integer"),
    (np.array(0), "Severity 0"),
    (jnp.array(9), "got 9"),
    (jnp.array(-3), "got -3"),
    (np.array([3]), "One severity serves a whole batch"),
    (jnp.array([3, 3]), "One severity serves a whole batch"),
    (np.array(2.0), "must be an integer"),
    (np.array("3"), "must be an integer"),
    (np.array(True), "must be an integer"),
  )
  def test_refused(self, severity, message):
    with self.assertRaisesRegex(errors.UserError, message):
      spec.check_severity(severity)

  @parameterized.parameters(
    (3,), (np.int64(3),), (np.array(3),), (np.uint8(3),)
  )
  def test_accepted(self, severity):
    self.assertEqual(spec.check_severity(severity), 3)
    self.assertEqual(spec.check_severity(jnp.asarray(severity)), 3)

  def test_traced(self):
    for bad in (np.zeros(2, np.int32), np.float32(3), np.array(True)):
      with self.assertRaisesRegex(errors.UserError, "got a traced"):
        jax.jit(spec.severity)(bad)
    self.assertEqual(jax.jit(spec.severity)(9), 9)
    with self.assertRaisesRegex(errors.UserError, "outside jit"):
      jax.jit(spec.check_severity)(3)

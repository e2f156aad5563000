"""Corruptions of one's own, tried; through the door: `own_corruptions_test`."""

from unittest import mock

import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, own_corruptions
from robust_tfds.corruptions import plugins, trial

_FIFTHS = {"any": (1, 2, 3, 4, 5)}


class TrialTest(parameterized.TestCase):
  def _check(self, name, apply):
    tables = lambda edition: {"level": np.array(edition.row(_FIFTHS))}
    plugin = plugins.Corruption(severities=_FIFTHS, tables=tables, apply=apply)
    with (
      mock.patch.object(plugins, "picture", return_value=plugin),
      mock.patch.object(own_corruptions, "sha256", return_value="x"),
    ):
      trial.check(name, "any", "a set")

  def test_every_severity_is_tried(self):
    def last(scene, draws):
      return scene.image / (5.0 - scene.table["level"])  # 0 / 0 where black

    with self.assertRaisesRegex(errors.UserError, "last: last .*NaN, expected"):
      self._check("last", last)

  @parameterized.parameters(jnp.uint8, jnp.int32, jnp.float32)
  def test_what_is_right_passes(self, dtype):
    apply = lambda scene, draws: scene.image.astype(dtype)
    self._check(f"as_{np.dtype(dtype).name}", apply)

  def test_the_published_ones_are_not_tried(self):
    with mock.patch.object(trial, "_run", side_effect=AssertionError):
      trial.check("fog", "any", "a set")

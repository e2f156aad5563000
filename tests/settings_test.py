"""Typed configs: what is refused, beginning with the key."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors, settings


class _Inner(settings.Group):
  steps: settings.Positive
  path: settings.Path = ""


class _Outer(settings.Group):
  seed: settings.Seed = 0
  inner: _Inner
  many: dict[str, _Inner] = {}
  workers: settings.From0 | None = None


class SettingsTest(parameterized.TestCase):
  def test_values(self):
    values = settings.plain({"inner": {"steps": np.int64(3)}})
    self.assertEqual(settings.validated(_Outer, values).inner.steps, 3)

  @parameterized.parameters(
    ({"inner": {"steps": 0}}, "config.inner.steps: got 0, expected a whole"),
    ({"inner": {}}, "config.inner.steps: missing, expected a whole number"),
    ({"inner": 3}, "config.inner: got 3, expected a group of settings"),
    (
      {"inner": {"steps": 1}, "workers": -1},
      "config.workers: got -1, expected a whole number from 0.$",
    ),
    (
      {"inner": {"steps": 1}, "many": {"a": {"steps": -1}}},
      "config.many.a.steps: got -1",
    ),
    ({"inner": {"step": 1, "steps": 1}}, "config.inner.step: .*did you mean"),
    ({"inner": {"steps": 1, "path": 3}}, "config.inner.path: got 3"),
  )
  def test_refusals(self, values, message):
    with self.assertRaisesRegex(errors.UserError, f"(?i){message}"):
      settings.validated(_Outer, values)

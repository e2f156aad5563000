"""The package of the metrics: its families are loaded when they are used."""

from absl.testing import absltest

from robust_tfds import metrics
from tests import in_process

_LAZY = """
import sys
from robust_tfds import metrics
assert "eval.metrics.action" not in sys.modules and "scipy" not in sys.modules
assert metrics.action is sys.modules["eval.metrics.action"]
"""


class MetricsTest(absltest.TestCase):
  def test_families_are_loaded_when_they_are_used(self):
    done = in_process.python("-c", _LAZY)
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_every_family_is_a_module_of_its_name(self):
    for name in metrics.__all__:
      self.assertEqual(getattr(metrics, name).__name__, f"eval.metrics.{name}")

  def test_an_unknown_family(self):
    with self.assertRaisesRegex(AttributeError, "no attribute 'no_such'"):
      _ = metrics.no_such


if __name__ == "__main__":
  absltest.main()

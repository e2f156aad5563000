"""`import robust_tfds`: what it costs, and the public names behind it."""

import pathlib

from absl.testing import absltest

from tests import installed

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_CLONE = """
import pkgutil, sys
import robust_tfds
from robust_tfds import corruptions, evaluate, metrics, models, training
from eval.metrics import action
from models import spec
assert models is sys.modules["models"] and models.Spec is spec.Spec
assert evaluate is sys.modules["eval"].evaluate
assert metrics.action is action
assert training.augmix and corruptions.corrupt and robust_tfds.load
assert {"evaluate", "load"} < set(dir(robust_tfds))
assert len([*pkgutil.walk_packages(robust_tfds.__path__)]) < 1000
for name in ("robust_tfds.eval", "robust_tfds.robust_tfds"):
  try:
    __import__(name)
  except ImportError:
    continue
  raise AssertionError(name)
"""
# All else is loaded when it is used: 1.3 times TFDS's own import are the limit.
_LIGHT = """
import sys
import tensorflow_datasets
before = set(sys.modules)
import robust_tfds
print(*sorted(set(sys.modules) - before))
"""


class ImportTest(absltest.TestCase):
  def test_it_loads_little_beside_tfds(self):
    loaded = installed.python("-c", _LIGHT, cwd=_ROOT).split()
    own = ("robust_tfds", "robust_tfds.layout", "robust_tfds.registration")
    self.assertEqual(loaded, [*own, "robust_tfds.version"])

  def test_public_names_are_the_packages(self):
    installed.python("-c", _CLONE, cwd=_ROOT)

  def test_importing_changes_no_signal(self):
    code = (
      "import signal, sys; sys.argv = ['robust-tfds'];"
      "before = signal.getsignal(signal.SIGINT); import robust_tfds;"
      "assert signal.getsignal(signal.SIGINT) is before"
    )
    installed.python("-c", code, cwd=_ROOT)

  def test_an_unknown_name_is_none(self):
    with self.assertRaisesRegex(ImportError, "cannot import name 'evaluation'"):
      from robust_tfds import evaluation  # noqa: F401


if __name__ == "__main__":
  absltest.main()

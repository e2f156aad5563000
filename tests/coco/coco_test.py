"""COCO's formats load no TFDS: whoever reads boxes needs no builder."""

import pathlib
import subprocess
import sys

from absl.testing import absltest

from robust_tfds import coco

# The parent package registers builders; here it is a bare folder.
_PROGRAM = """
import importlib, pkgutil, sys, types
(folder,) = sys.argv[1:]
parent = types.ModuleType("robust_tfds")
parent.__path__ = [folder]
sys.modules["robust_tfds"] = parent
from robust_tfds import coco
for module in pkgutil.iter_modules(coco.__path__):
  importlib.import_module("robust_tfds.coco." + module.name)
print(sorted({"tensorflow_datasets", "tensorflow", "jax"} & set(sys.modules)))
"""


class CocoTest(absltest.TestCase):
  def test_loads_no_tfds(self):
    (folder,) = coco.__path__
    command = [sys.executable, "-c", _PROGRAM, str(pathlib.Path(folder).parent)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    self.assertEqual(out.stdout.strip(), "[]")

"""TFDS finds our sets by name, and imports those alone that are asked for."""

import pathlib

from absl.testing import absltest

from robust_tfds import datasets, registration
from tests import in_process

_LAZY = """
import sys
import tensorflow_datasets as tfds
import robust_tfds
sets = "robust_tfds.datasets."
assert not [m for m in sys.modules if m.startswith(sets)]
assert tfds.builder("digits_c/fog_3").name == "digits_c"
assert sets + "digits_c.digits_c_dataset_builder" in sys.modules
assert sets + "coco_c.coco_c_dataset_builder" not in sys.modules
assert tfds.builder_cls("coco_c").name == "coco_c"
robust_tfds.datasets.register()
assert set(robust_tfds.datasets.names()) <= set(tfds.list_builders())
"""


class RegistrationTest(absltest.TestCase):
  def test_sets_are_imported_when_they_are_asked_for(self):
    done = in_process.python("-c", _LAZY)
    self.assertEqual(done.returncode, 0, done.stderr)

  def test_the_folder_is_the_registry(self):
    folder = pathlib.Path(datasets.__file__).parent
    names = [p.name for p in folder.iterdir() if (p / "README.md").exists()]
    self.assertContainsSubset(registration.names(), names)
    self.assertIn("imagenet_c", registration.names())
    for name in registration.names():
      self.assertEqual(registration.builder_class(name).name, name)


if __name__ == "__main__":
  absltest.main()

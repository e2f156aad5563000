"""Modules of registries."""

from absl.testing import absltest

from eval.tasks import base, video
from robust_tfds import registry


class RegistryTest(absltest.TestCase):
  def test_the_class_that_a_module_defines(self):
    self.assertIs(registry.only_class(video.__name__, base.Task), video.Video)

  def test_a_module_without_one(self):
    with self.assertRaises(ValueError):
      registry.only_class(absltest.__name__, base.Task)

"""References by name, built with our number of classes; no torch is needed."""

import sys
import types
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from models import catalogue
from models.convert import oracle
from robust_tfds import models


class _Reference:
  """What a library's constructor makes: it remembers its options."""

  def __init__(self, *args, **options):
    self.args, self.options, self.evaluates = args, options, False

  def eval(self):
    self.evaluates = True
    return self


class BuildTest(parameterized.TestCase):
  def test_none_where_the_family_names_none(self):
    self.assertIsNone(oracle.build(models.get("digits_cnn")))

  @parameterized.parameters(
    ("resnet18", "torchvision.models", "resnet18", {"weights": None}),
    ("se_resnet50", "pretrainedmodels", "se_resnet50", {"pretrained": None}),
  )
  def test_of_the_library_the_family_names(self, name, module, member, more):
    library = types.ModuleType(module)
    vars(library)[member] = _Reference
    # The parent is there for Python's import of a submodule.
    parents = {module.split(".")[0]: types.ModuleType("parent")}
    with mock.patch.dict(sys.modules, {**parents, module: library}):
      reference = oracle.build(models.get(name, num_classes=7))
    self.assertTrue(reference.evaluates)
    self.assertEqual(reference.options, {"num_classes": 7, **more})

  def test_every_name_says_its_library(self):
    libraries = set()
    for name in models.names():
      for ours, reference in catalogue.family_of(name).oracles.items():
        self.assertIn(ours, models.names())
        library, _, member = reference.partition(":")
        self.assertTrue(member, reference)
        libraries.add(library)
    self.assertContainsSubset(("torchvision", "timm"), libraries)


class CompareTest(absltest.TestCase):
  def test_logits_of_pictures_as_torch_lays_them(self):
    torch = types.ModuleType("torch")
    torch.no_grad = mock.MagicMock()
    torch.from_numpy = lambda array: array
    seen = []

    def module(pixels):
      seen.append(pixels.shape)
      return types.SimpleNamespace(numpy=lambda: pixels.sum((2, 3)))

    batch = np.random.default_rng(0).standard_normal((2, 5, 6, 3), np.float32)
    with mock.patch.dict(sys.modules, {"torch": torch}):
      got = oracle.logits(module, batch)
      self.assertIsNone(oracle.logits(module, batch, as_array=False))
    self.assertEqual(seen, [(2, 3, 5, 6)] * 2)
    np.testing.assert_allclose(got, batch.sum((1, 2)), rtol=1e-5)

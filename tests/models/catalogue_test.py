"""Every name of the catalogue, and what it refuses."""

import pathlib

import pytest
from absl.testing import parameterized

from models import catalogue, multiply_adds
from models.spec import KINDS
from robust_tfds import models
from tests import contracts
from tests.models import family_files

_QUICK = ("alexnet", "digits_cnn", "tiny_r3d", "tiny_fcn", "tiny_retinanet")


class NamesTest(parameterized.TestCase):
  def test_networks_that_the_papers_name(self):
    for word in (
      *("wrn", "allconv", "msdnet", "multigrid", "condensenet", "denoise"),
      *("mvit_v2", "swin3d", "videomae", "s3d"),
    ):
      self.assertNotEmpty(models.names(f"*{word}*"), word)

  def test_kinds_part_the_names(self):
    of_kinds = [models.names(kind=kind) for kind in KINDS]
    self.assertTrue(all(of_kinds))
    self.assertEqual(tuple(sorted(sum(of_kinds, ()))), models.names())
    with self.assertRaisesRegex(ValueError, "Did you mean 'classification'"):
      models.names(kind="clasification")

  def test_patterns_and_weights(self):
    self.assertEqual(models.names("resnet1?"), ("resnet18",))
    self.assertEqual(models.names("x3d_[sm]"), ("x3d_m", "x3d_s"))
    self.assertEqual(models.names("resnet50*", kind="video"), ())
    timm = models.names(weights="timm")
    self.assertContainsSubset(("vit_tiny_patch16_224",), timm)
    for name in timm:
      self.assertEqual(models.get(name).spec.weights, "timm")
    self.assertEqual(
      models.names("*_r50", kind="video", weights="pytorchvideo"),
      ("i3d_r50", "r2plus1d_r50", "slow_r50", "slowfast_r50"),
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'torchvision'"):
      models.names(weights="torchvison")
    with self.assertRaisesRegex(ValueError, "Got 50 as a pattern of names"):
      models.names(50)

  @parameterized.parameters(*KINDS)
  def test_a_folder_holds_one_kind(self, kind):
    folder = pathlib.Path(models.__file__).parent / kind
    for name in models.names(kind=kind):
      module = catalogue.family_of(name).network.__module__
      self.assertTrue((folder / f"{module.split('.')[-1]}.py").exists(), name)
      self.assertEqual(models.get(name).kind, kind)

  def test_unknown_name_is_answered_with_the_nearest(self):
    for name, near in (
      ("resnet5O", "resnet50"),
      ("slow_r5O", "slow_r50"),
      ("tiny_retinet", "tiny_retinanet"),
    ):
      with self.assertRaisesRegex(ValueError, f"Did you mean '{near}'"):
        models.get(name)
    with self.assertRaisesRegex(ValueError, "Unknown model 'qqq'.*Known: "):
      models.get("qqq")

  def test_another_kind_is_refused(self):
    with self.assertRaisesRegex(
      ValueError, "tiny_retinanet is a model of kind detection, expected classi"
    ):
      models.get("tiny_retinanet", kind="classification")
    with self.assertRaisesRegex(ValueError, "of kind classification, expected"):
      models.get("tests.models.own.own_test:build_own", kind="video")
    with self.assertRaisesRegex(
      ValueError, "Unknown video model 'x3d_n'. Did you mean 'x3d_"
    ):
      models.get("x3d_n", kind="video")
    self.assertEqual(models.get("x3d_m", kind="video").name, "x3d_m")


class GetTest(parameterized.TestCase):
  @parameterized.parameters("digits_cnn", "tiny_r3d")
  def test_enhancements_in_the_name(self, name):
    model = models.get(f"{name}+clahe")
    self.assertEqual(model.name, f"{name}+clahe")
    self.assertIs(
      catalogue.family_of(f"{name}+clahe"), catalogue.family_of(name)
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'clahe'"):
      models.get(f"{name}+clahee")

  @parameterized.parameters(
    (
      "tiny_retinanet+clahe",
      "clahe is for .* classification and video, got de",
    ),
    (
      "tiny_r3d+ten_crop",
      "ten_crop is for models of kind classification, got v",
    ),
  )
  def test_enhancements_that_do_not_suit(self, name, message):
    with self.assertRaisesRegex(ValueError, message):
      models.get(name)
    with self.assertRaisesRegex(ValueError, message):
      models.convert.load(name, "nowhere.npz")

  def test_refuses_other_dtypes(self):
    for name in ("resnet18", "tiny_r3d", "tiny_retinanet"):
      with self.assertRaisesRegex(ValueError, "float16.*expected one of"):
        models.get(name, dtype="float16")

  @parameterized.parameters(
    "resnet18", "tiny_r3d", "tiny_fcn", "tiny_retinanet"
  )
  def test_another_head_has_its_own_labels(self, name):
    model = models.get(name, num_classes=7)
    self.assertEqual(model.spec.num_classes, 7)
    self.assertEqual(model.spec.label_space, "custom")
    self.assertIsNone(model.spec.parameters)
    self.assertNotEqual(model.shapes(), models.get(name).shapes())
    published = models.get(name).spec.num_classes
    self.assertEqual(models.get(name, published), models.get(name))


class PublishedTest(parameterized.TestCase):
  def test_every_model_says_where_it_is_from(self):
    for name in models.names():
      spec = models.get(name).spec
      self.assertTrue(spec.source, name)
      if spec.kind not in multiply_adds.CANVAS_PX:
        self.assertIsNotNone(spec.parameters, name)

  @contracts.cases(family_files.SMALLEST, family_files.of, quick=_QUICK)
  def test_size(self, name):
    self._check_size(name)

  @parameterized.parameters(
    *(n for n in models.names() if n not in family_files.SMALLEST)
  )
  @pytest.mark.slow
  def test_size_of_the_others(self, name):
    self._check_size(name)

  def _check_size(self, name):
    model = models.get(name)
    count = model.count_parameters()
    self.assertEqual(count, model.spec.parameters or count)
    self.assertGreater(count, 1e4)

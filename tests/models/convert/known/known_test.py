"""The tables of known checkpoints, against the packages that say them."""

import dataclasses
import pathlib

import pytest
from absl.testing import absltest

from models import catalogue
from models.convert import known, preprocessing
from models.spec import Spec
from robust_tfds import models
from tests import in_folder
from tests.models.convert import torchvision_cpu
from tools import known_checkpoints


class TablesTest(in_folder.TestCase):
  def test_rows(self):
    rows = known.every()
    self.assertLen({row.name for row in rows}, len(rows))
    for row in rows:
      self.assertIn(len(row.sha256), (0, 8, 10, 64), row.name)
      self.assertRegex(row.sha256, "^[0-9a-f]*$")
      self.assertTrue(row.where and row.source, row.name)
      for share in (row.top1, row.top5):
        self.assertTrue(share is None or 0 < share < 1, row.name)
      if row.name.startswith("timm:"):
        self.assertEqual(row.sha256, "")  # nothing is invented
        self.assertEqual(row.says_sha256, "not known here")

  def test_every_way_is_a_spec(self):
    for row in known.every():
      if row.spec_fields:
        dataclasses.replace(Spec(), **row.spec_fields)

  def test_of_a_model(self):
    first, second, *_ = known.for_model("resnet50")
    self.assertEqual(first.name, "torchvision:ResNet50_Weights.IMAGENET1K_V1")
    self.assertEqual(
      (first.sha256, first.file, first.top1, first.trained_on),
      ("0676ba61", "resnet50-0676ba61.pth", 0.76130, "imagenet1k"),
    )
    self.assertEqual(second.spec_fields["resize_px"], 232)
    self.assertIn("8 digits", second.says_sha256)
    (lite,) = [
      row
      for row in known.for_model("efficientnet_lite0")
      if row.name.startswith("package:")
    ]
    self.assertLen(lite.sha256, 64)
    self.assertEqual(lite.licence, "Apache-2.0")
    self.assertEqual(known.for_model("digits_cnn"), ())
    swag = known.named("torchvision:ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1")
    self.assertEqual(swag.licence, "CC-BY-NC-4.0")
    self.assertNotIn(swag, known.for_model("vit_b_16"))  # of 384 px

  def test_specs_are_of_a_known_checkpoint(self):
    for name in models.names(kind="classification"):
      spec = catalogue.family_of(name).variants[name].spec
      ways = [
        preprocessing.prepared(Spec(), row.spec_fields)
        for row in known.for_model(name)
        if row.weights == spec.weights
      ]
      if ways:
        self.assertIn(preprocessing.prepared(spec), ways, name)

  def test_a_file_is_known_by_its_bytes_not_its_name(self):
    path = self.root / "resnet50-0676ba61.pth"
    path.write_bytes(b"something else")
    self.assertIsNone(known.find_file(path))
    self.assertIsNone(known.find_file(self.root / "mine.pth"))


class SourceTest(absltest.TestCase):
  def _in_file(self, table):
    path = pathlib.Path(known.__file__).parent / f"{table}.csv"
    return [
      {k: v for k, v in row.items() if v}
      for _, row in known.reading.csv_file(path)
    ]

  def test_torchvision(self):
    torchvision = torchvision_cpu.package("torchvision")
    self.assertTrue(torchvision.__version__.startswith("0.28"))
    rows = {r["name"]: r for r in self._in_file("torchvision")}
    says = {
      r["name"]: {k: v for k, v in r.items() if v}
      for r in known_checkpoints.torchvision_rows()
    }
    self.assertEqual(set(rows), set(says))
    for name, row in rows.items():
      self.assertEqual(row, says[name])

  @pytest.mark.slow
  def test_timm(self):
    torchvision_cpu.package("timm")
    says = [
      {k: v for k, v in r.items() if v} for r in known_checkpoints.timm_rows()
    ]
    self.assertEqual(self._in_file("timm"), says)

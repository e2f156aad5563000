"""Segmentation metrics against three libraries and counts by brute force.

`ROBUST_TFDS_GOLDEN_SEGMENTATION` names another folder of the same layout. Its README
says how the expected values were made.
"""

import json
import unittest

import numpy as np
from absl.testing import absltest

from eval.metrics import segmentation
from robust_tfds import errors
from robust_tfds.building.sources import mask_labels
from tests import shared_data

FOLDER = shared_data.folder_of_goldens("segmentation")
_RULES = {
  "none": lambda ids: ids,
  "cityscapes_ids": mask_labels.cityscapes,
  "reduce_zero_label": mask_labels.zero_ignored,
}


def _json(name):
  if not (FOLDER / name).exists():
    raise unittest.SkipTest(f"no golden values in {FOLDER}")
  return json.loads((FOLDER / name).read_text())


def _arrays(name):
  with np.load(FOLDER / f"{name}.npz") as file:
    return {key: file[key] for key in file.files}


def _known(values):
  """Return a list with nan in place of None."""
  return np.array([np.nan if v is None else v for v in values], np.float64)


def _closely(expected, got):
  np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


class GoldenTest(absltest.TestCase):
  """Every case of the folder."""

  def _confusions(self, case, arrays):
    truth = [
      _RULES[case["label_rule"]](arrays[f"label_{i}"])
      for i in range(case["pictures"])
    ]
    return np.stack(
      [
        segmentation.confusion(t, arrays[f"pred_{i}"], case["num_classes"])
        for i, t in enumerate(truth)
      ]
    )

  def test_sets_of_pictures(self):
    for name, case in _json("cases.json").items():
      if "table" in case:
        continue
      with self.subTest(name):
        arrays, expected = _arrays(name), case["expected"]
        matrices = self._confusions(case, arrays)
        np.testing.assert_array_equal(
          matrices.sum(0), arrays["confusion_truth_rows"]
        )
        areas = segmentation.areas(matrices)
        for column, key in enumerate(("intersection", "union", "area_label")):
          np.testing.assert_array_equal(areas[..., column], arrays[key])
        found = segmentation.summarize(matrices.sum(0))
        _closely(_known(expected["iou_per_class"]), found.iou)
        means = [expected[k] for k in ("mIoU", "aAcc", "mAcc")]
        _closely(_known(means), found[1:])
        self.assertEqual(matrices.sum(), expected["pixels"])
        drawn = [
          segmentation.from_areas(areas[rows].sum(0)).miou
          for rows in arrays["resample_indices"]
        ]
        _closely(arrays["resample_mIoU"], drawn)

  def test_maps_to_degradations(self):
    case, arrays = _json("cases.json")["maps_to_cd"], _arrays("maps_to_cd")
    rule = _RULES[case["label_rule"]]
    truth = [rule(arrays[f"label_{i}"]) for i in range(case["pictures"])]

    def miou(key):
      matrices = [
        segmentation.confusion(t, p, case["num_classes"])
        for t, p in zip(truth, arrays[key], strict=True)
      ]
      areas = segmentation.areas(np.stack(matrices))
      for column, what in enumerate(("intersection", "union")):
        if f"expected/{key}/{what}" in arrays:
          want = arrays[f"expected/{key}/{what}"]
          np.testing.assert_array_equal(areas[..., column], want)
      return segmentation.from_areas(areas.sum(0)).miou

    for model, row in case["table"].items():
      for name, of_name in row.items():
        if name == "clean":
          _closely(of_name, miou(f"{model}/clean"))
          continue
        keys = sorted(k for k in arrays if k.startswith(f"{model}/{name}/"))
        _closely(of_name, [miou(key) for key in keys])

  def test_tables(self):
    for name, table in _json("tables.json").items():
      if not isinstance(table, dict) or "model" not in table:
        continue
      with self.subTest(name):
        model, reference = dict(table["model"]), dict(table["reference"])
        clean, reference_clean = model.pop("clean"), reference.pop("clean")
        found = segmentation.degradation(
          model, clean, reference, reference_clean
        )
        expected = table["expected"]
        for key, got in (("CD_percent", found.cd), ("rCD_percent", found.rcd)):
          want = _known(expected[key].values())
          _closely(want / 100, [got[k] for k in expected[key]])
        for key, got, scale in (
          ("mCD_percent", found.mcd, 100),
          ("mrCD_percent", found.mrcd, 100),
          ("mean_mIoU", found.mean_miou, 1),
          ("retention", found.retention, 1),
          ("GAM", found.gam, 1),
        ):
          if key in expected:
            _closely(_known([expected[key]]) / scale, [got])


class RefusalsTest(absltest.TestCase):
  """What is no map of classes is refused in words."""

  def test_confusion(self):
    for truth, predicted, message in (
      ([[0, 1]], [[0]], r"truth \[1, 2\] and predicted \[1, 1\]"),
      ([[0, 9]], [[0, 0]], "truth holds the id 9, expected 0 to 1, or 255"),
      ([[0, 1]], [[0, 2]], "predicted holds the id 2, expected 0 to 1"),
      ([[0.0]], [[0]], "truth must be class ids, integers; got float64"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        segmentation.confusion(truth, predicted, 2)

  def test_ignore(self):
    with self.assertRaisesRegex(
      errors.UserError, "ignore=None, expected the id"
    ):
      segmentation.confusion([[0]], [[0]], 2, ignore=None)

  def test_summarize(self):
    for matrix, message in (
      ([[0.25, 0.25], [0, 0.5]], "float64 .* Do not normalize"),
      ([[-1, 0], [0, 1]], "whole numbers of 0 or more"),
      (
        [[1, 0, 1], [0, 1, 1]],
        r"matrix is \[2, 3\], expected \[classes, classes",
      ),
      ([[[1, 0], [0, 1]]], r"matrix is \[1, 2, 2\], .* Sum the confusions"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        segmentation.summarize(matrix)

  def test_degradation(self):
    for ours, theirs, message in (
      ([0.1, 0.2], [0.1], "has 1 severities"),
      ([50], [0.1], "Divide percent by 100"),
      (0.5, [0.1], "a list of one mIoU by severity, .* got 0.5 and"),
      ([], [], "a list of one mIoU by severity"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        segmentation.degradation({"fog": ours}, 0.5, {"fog": theirs}, 0.5)

"""Corruption errors against the golden tables."""

import math

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from eval.metrics import corruption_error as ce
from robust_tfds import conditions
from tests import shared_data
from tests.eval.metrics import own_row

_FLAT = {name: [0.5] * 5 for name in conditions.PICTURES.names()}


class CorruptionErrorTest(absltest.TestCase):
  def test_goldens(self):
    stored = shared_data.golden_json("imagenet_p/metrics/mce.json")
    for case in stored["cases"]:
      got = ce.summarize(case["errors"], case["clean_error"], "alexnet")
      self.assertAlmostEqual(got["mce"], case["mCE"], delta=1e-12)
      self.assertAlmostEqual(
        got["relative_mce"],
        case["relative"]["0.435"]["relative_mCE"],
        delta=1e-12,
      )
      for name, value in case.get("CE", {}).items():
        self.assertAlmostEqual(got["ce"][name], value, delta=1e-12)

  def test_baseline_equals_the_published_file(self):
    published = shared_data.golden_json("published/alexnet.json")
    own = ce.load_baseline("alexnet")
    self.assertEqual(own["errors"], published["errors"])
    self.assertEqual(own["clean_error"], published["clean_error_paper"])
    self.assertEqual(own["unnormalised_t5d"], published["uT5D"])

  def test_alexnet_against_itself_is_one(self):
    own = ce.load_baseline("alexnet")
    got = ce.summarize(own["errors"], own["clean_error"])
    self.assertAlmostEqual(got["mce"], 1.0)
    self.assertAlmostEqual(got["relative_mce"], 1.0)

  def test_extra_corruptions_never_enter(self):
    base = {"errors": _FLAT, "clean_error": 0.1}
    worse = {
      **_FLAT,
      **{n: [1.0] * 5 for n in conditions.PICTURES.names("extra")},
    }
    got = ce.summarize(worse, 0.1, base)
    self.assertAlmostEqual(got["mce"], 1.0)
    self.assertAlmostEqual(got["mean_error"], 0.5)
    self.assertAlmostEqual(got["ce"]["saturate"], 2.0)

  def test_missing_common_corruption_gives_no_mce(self):
    got = ce.summarize({"fog": [0.5] * 5}, 0.1)
    self.assertTrue(math.isnan(got["mce"]))
    self.assertTrue(math.isnan(got["relative_mce"]))
    self.assertLen(got["missing"], 14)

  def test_a_baseline_without_errors_gives_no_mce(self):
    baseline = {"errors": {**_FLAT, "fog": [0.0] * 5}, "clean_error": 0.3}
    self.assertTrue(math.isnan(ce.summarize(_FLAT, 0.4, baseline)["mce"]))

  def test_a_baseline_that_errs_no_more_gives_no_relative_mce(self):
    for fog in (0.1, 0.3):
      baseline = {"errors": {**_FLAT, "fog": [fog] * 5}, "clean_error": 0.3}
      got = ce.summarize(_FLAT, 0.0, baseline)
      self.assertTrue(math.isnan(got["relative_ce"]["fog"]))
      self.assertTrue(math.isnan(got["relative_mce"]))
      self.assertAlmostEqual(got["relative_ce"]["snow"], 2.5)
      self.assertFalse(math.isnan(got["mce"]))

  def test_lists_and_arrays_of_any_library(self):
    for kind in (tuple, np.array, jnp.array):
      got = ce.summarize({"fog": kind([0.5, 0.25, 0.5, 0.25, 0.5])}, 0.0)
      self.assertAlmostEqual(got["mean_error"], 0.4)


class OwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {n: [0.5] * 5 for n in conditions.PICTURES.names("common")}
    before = ce.summarize(flat, 0.1)
    after = ce.summarize({**flat, "invert": [1.0] * 5}, 0.1)
    self.assertEqual(after, before)  # the published baseline has no such errors
    baseline = {"errors": {**flat, "invert": [0.5] * 5}, "clean_error": 0.1}
    after = ce.summarize({**flat, "invert": [1.0] * 5}, 0.1, baseline)
    self.assertEqual(after["ce"]["invert"], 2.0)
    self.assertEqual((after["mce"], after["mean_error"]), (1.0, 0.5))

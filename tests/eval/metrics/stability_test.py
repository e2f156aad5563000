"""Stability metrics against the authors' numbers."""

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import stability
from robust_tfds import conditions
from tests import shared_data
from tests.eval.metrics import own_row

_FOLDER = "imagenet_p", "metrics"
_CASES = sorted(
  p.stem for p in shared_data.golden(*_FOLDER).glob("*[0-9]x*.npz")
)


class GoldenTest(parameterized.TestCase):
  @parameterized.parameters(*_CASES)
  def test_the_authors_numbers(self, case):
    told = shared_data.golden_json(*_FOLDER, f"{case}.json")
    with np.load(shared_data.golden(*_FOLDER, f"{case}.npz")) as data:
      logits = data["logits"].astype(np.float32)
    ranked = stability.rank(logits)
    np.testing.assert_array_equal(stability.rank(logits, 5), ranked[..., :5])
    np.testing.assert_array_equal(ranked[..., 0], logits.argmax(-1))
    noise = told["noise"]
    for d, expected in told["expected_by_difficulty"].items():
      d = int(d)
      near = dict(rtol=0, atol=1e-12)
      got = {
        "FP": stability.flip_probability(ranked[..., 0], noise, d),
        "uT5D": stability.top5_distance(ranked, noise, d),
        "zipf": stability.zipf_distance(ranked, noise, d),
      }
      per = {
        "FP": stability.flips(ranked[..., 0], noise, d),
        "uT5D": stability.top5_distances(ranked, noise, d),
        "zipf": stability.zipf_distances(ranked, noise, d),
      }
      for k in got:
        np.testing.assert_allclose(got[k], expected[k], **near)
        np.testing.assert_allclose(
          per[k].mean(1), expected["per_sequence"][k], **near
        )

  def test_permutations(self):
    told = shared_data.golden_json(*_FOLDER, "permutations.json")
    for case in told["prefix_cases"]:
      prefix = case["sigma_prefix"]
      sigma = [*range(2, 1001), 1] if prefix == "cycle" else prefix
      sigma = np.array([*sigma, *range(len(sigma) + 1, 1001)])
      pair = np.stack([np.arange(1000), np.argsort(sigma)])[None]
      self.assertEqual(stability.top5_distance(pair), case["top5"])
      self.assertAlmostEqual(
        stability.zipf_distance(pair), case["zipf"], delta=1e-12
      )

  def test_normalised_means(self):
    told = shared_data.golden_json(*_FOLDER, "mfr_mt5d.json")
    for case in told["cases"]:
      got = stability.summarize(case["FP"], case["uT5D"])
      for ours, theirs in (("fr", "FR"), ("t5d", "T5D")):
        for name, value in case[theirs].items():
          self.assertAlmostEqual(got[ours][name], value, delta=1e-12)
      self.assertAlmostEqual(got["mfr"], case["mFR"], delta=1e-12)
      self.assertAlmostEqual(got["mt5d"], case["mT5D"], delta=1e-12)


class RankTest(absltest.TestCase):
  def test_ties_signed_zeros_and_infinities(self):
    logits = np.array(
      [
        [0.0, -0.0, 1.0, 1.0, -np.inf, -np.inf, -1.0],
        [-np.inf, -np.inf, 0, -np.inf, -np.inf, -np.inf, -np.inf],
        [np.inf, -np.inf, np.inf, 3, 3, -2, -2],
      ],
      np.float32,
    )
    expected = np.argsort(-logits, axis=1, kind="stable")
    np.testing.assert_array_equal(stability.rank(logits), expected)
    np.testing.assert_array_equal(stability.rank(logits, 5), expected[:, :5])

  def test_random_rankings_equal_a_stable_sort(self):
    rng = np.random.default_rng(0)
    logits = rng.integers(-20, 20, (50, 3, 100)).astype(np.float32) / 4
    expected = np.argsort(-logits, axis=-1, kind="stable")
    np.testing.assert_array_equal(stability.rank(logits), expected)
    np.testing.assert_array_equal(stability.rank(logits, 5), expected[..., :5])


class BadInputTest(absltest.TestCase):
  def test_noise_ignores_the_difficulty(self):
    top1 = [[1, 2, 1]]
    self.assertEqual(
      stability.flip_probability(top1, True, 1),
      stability.flip_probability(top1, True, 3),
    )

  def test_any_whole_numbers(self):
    for kind in (np.int8, np.uint8, np.int64):
      top1 = np.array([[1, 1, 2, 2, 2], [3, 3, 3, 3, 3]], kind)
      self.assertEqual(stability.flip_probability(top1), 1 / 8)
      self.assertEqual(stability.flip_probability(top1, True), 3 / 8)

  def test_few_classes(self):
    with self.assertRaisesRegex(ValueError, "at least 5 classes"):
      stability.top5_distance([[[0, 1, 2], [0, 2, 1]]])
    padded = np.array([[[0, 1, 2, -1, -1]] * 3])
    with self.assertRaisesRegex(ValueError, "at least 5 classes"):
      stability.top5_distance(padded)

  def test_no_permutation(self):
    with self.assertRaisesRegex(ValueError, "twice"):
      stability.zipf_distance([[[0, 1, 1], [0, 1, 2]]])
    with self.assertRaisesRegex(ValueError, "0..2"):
      stability.zipf_distance([[[0, 1, 5], [0, 1, 2]]])

  def test_incomplete_benchmark_has_no_mean(self):
    got = stability.summarize({"translate": 0.1}, {"translate": 1.0})
    self.assertTrue(np.isnan(got["mfr"]) and np.isnan(got["mt5d"]))
    self.assertLen(got["missing"], 9)


class OwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {n: 0.1 for n in conditions.SEQUENCES.names("common")}
    before = stability.summarize(flat, flat)
    after = stability.summarize({**flat, "invert": 1.0}, flat)
    self.assertEqual(after, before)
    baseline = {
      "flip_probability": {**flat, "invert": 0.5},
      "unnormalised_t5d": flat,
    }
    after = stability.summarize({**flat, "invert": 1.0}, flat, baseline)
    self.assertEqual(after["fr"]["invert"], 2.0)
    self.assertAlmostEqual(after["mfr"], 1.0)

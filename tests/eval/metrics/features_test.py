"""Metrics of features."""

import itertools
import math

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import action, cka
from robust_tfds import conditions, errors
from tests import shared_data
from tests.eval.metrics import own_row


def _features(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
  """Two layers that share three directions and have noise of their own."""
  rng = np.random.default_rng(seed)
  common = rng.normal(size=(n, 3))
  x = common @ rng.normal(size=(3, 20)) + rng.normal(size=(n, 20))
  y = common @ rng.normal(size=(3, 8)) + rng.normal(size=(n, 8))
  return x, y


def _cut(x: np.ndarray, y: np.ndarray, size: int) -> list:
  return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


def _by_hand(x: np.ndarray, y: np.ndarray) -> float:
  """HSIC of all four different examples, the U-statistic that HSIC_1 equals.

  Song et al. 2012, section 3: the mean over (i, j, q, r), all different, of
  K_ij (L_ij + L_qr - 2 L_iq).
  """
  k, m = x @ x.T, y @ y.T
  terms = [
    k[i, j] * (m[i, j] + m[q, r] - 2 * m[i, q])
    for i, j, q, r in itertools.permutations(range(len(x)), 4)
  ]
  return float(np.mean(terms))


class CkaTest(parameterized.TestCase):
  @parameterized.parameters(4, 7)
  def test_is_the_u_statistic(self, n):
    x, y = _features(n)
    want = _by_hand(x, y) / math.sqrt(_by_hand(x, x) * _by_hand(y, y))
    self.assertAlmostEqual(cka.minibatch([(x, y)]), want, places=10)

  def test_sums_batches_before_it_divides(self):
    (x, y), (a, b) = _features(5), _features(6, seed=1)
    common, of_x, of_y = (
      _by_hand(x, y) + _by_hand(a, b),
      _by_hand(x, x) + _by_hand(a, a),
      _by_hand(y, y) + _by_hand(b, b),
    )
    got = cka.minibatch(iter([(x, y), (a, b)]))
    self.assertAlmostEqual(got, common / math.sqrt(of_x * of_y), places=10)

  @parameterized.parameters(4, 32, 256)
  def test_is_1_with_itself(self, size):
    x, _ = _features(256)
    self.assertAlmostEqual(cka.minibatch(_cut(x, x, size)), 1, places=12)

  def test_is_the_same_turned_scaled_shifted_and_swapped(self):
    x, y = _features(128)
    rng = np.random.default_rng(1)
    turn, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    want = cka.minibatch(_cut(x, y, 32))
    for other in (x @ turn, 1e-3 * x, -7 * x, x + 1e6, x.reshape(128, 4, 5)):
      got = cka.minibatch(_cut(other, y, 32))
      self.assertAlmostEqual(got, want, places=8)
    self.assertAlmostEqual(cka.minibatch(_cut(y, x, 32)), want, places=12)
    stretched = x * np.geomspace(1, 100, 20)  # no scale of all features
    self.assertGreater(abs(cka.minibatch(_cut(stretched, y, 32)) - want), 0.05)

  def test_the_batch_size_is_within_its_standard_error(self):
    # Means of 200 runs of 64 examples: the biased estimator's would be apart by
    # far more, as the last line says of it.
    sizes = (8, 16, 64)
    runs = np.array(
      [
        [cka.minibatch(_cut(*_features_of_one_map(seed), s)) for s in sizes]
        for seed in range(200)
      ]
    )
    for i in range(len(sizes) - 1):
      apart = runs[:, i] - runs[:, -1]
      error = apart.std(ddof=1) / math.sqrt(len(apart))
      self.assertLess(abs(apart.mean()), 3.5 * error + 2e-3)
    x, y = _features_of_one_map(0)
    biased = [
      np.mean([_biased(a, b) for a, b in _cut(x, y, size)]) for size in (8, 64)
    ]
    self.assertGreater(biased[0] - biased[1], 0.1)

  def test_of_nothing_in_common_it_is_0(self):
    rng = np.random.default_rng(2)
    pairs = [
      (rng.normal(size=(16, 30)), rng.normal(size=(16, 30))) for _ in range(200)
    ]
    self.assertLess(abs(cka.minibatch(pairs)), 0.03)

  def test_of_what_does_not_vary_it_is_unknown(self):
    x, _ = _features(16)
    self.assertTrue(math.isnan(cka.minibatch([(x, np.full((16, 3), 0.1))])))

  @parameterized.product(n=(4, 5, 6, 16), shift=(0, 1e3), scale=(1, 1e-3))
  def test_of_examples_that_are_all_as_alike_it_is_unknown(
    self, n, shift, scale
  ):
    """HSIC_1 of a Gram matrix with one number off its diagonal is 0 by hand."""
    same = scale * np.eye(n) + shift
    rng = np.random.default_rng(n)
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    for x in (same, same @ turn):
      for y in (x, rng.normal(size=(n, 3))):
        self.assertTrue(math.isnan(cka.minibatch([(x, y)])))
        self.assertTrue(math.isnan(cka.minibatch([(y, x)])))
    # With another batch that says something, that one counts.
    x, y = _features(n)
    more = [(np.eye(n), np.eye(n)), (x, y)]
    self.assertAlmostEqual(cka.minibatch(more), cka.minibatch([(x, y)]), 12)

  def test_refuses(self):
    x, y = _features(8)
    bad = x.copy()
    bad[2, 3] = np.nan
    for batches, message in (
      ([], "batches: got none"),
      ([(x, y[:7])], "batch 1: expected the same examples on both sides"),
      ([(x, y), (x[:3], y[:3])], "batch 2: .* 4 or more"),
      ([(x[:, 0], y)], r"batch 1: expected features \[n, features\]"),
      ([(x, y, x)], r"batch 1: expected a pair \(x, y\)"),
      ([3], r"batch 1: expected a pair \(x, y\)"),
      ([(bad, y)], r"batch 1: x must be finite numbers, .* nan at \[2, 3\]"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        cka.minibatch(batches)


def _features_of_one_map(seed: int) -> tuple[np.ndarray, np.ndarray]:
  """64 examples of one population: the map is the same for all seeds."""
  fixed, rng = np.random.default_rng(9), np.random.default_rng(100 + seed)
  to_x, to_y = fixed.normal(size=(3, 20)), fixed.normal(size=(3, 8))
  common = rng.normal(size=(64, 3))
  x = common @ to_x + 2 * rng.normal(size=(64, 20))
  return x, common @ to_y + 2 * rng.normal(size=(64, 8))


def _biased(x: np.ndarray, y: np.ndarray) -> float:
  """Linear CKA by the biased estimator (Kornblith et al. 2019)."""
  x, y = x - x.mean(axis=0), y - y.mean(axis=0)
  of = [np.linalg.norm(a.T @ b) for a, b in ((x, y), (x, x), (y, y))]
  return float(of[0] ** 2 / (of[1] * of[2]))


def _all(rng):
  return {
    (n, s): float(rng.uniform(0.1, 0.9))
    for n in conditions.VIDEOS.names()
    for s in conditions.SEVERITIES
  }


def _groups():
  family = conditions.VIDEOS
  return {group: family.members(group) for group in family.groups}


class RobustnessTest(absltest.TestCase):
  """gamma_a and gamma_r: definitions, intervals, the paper's printed tables."""

  def test_definitions_in_the_papers_order(self):
    accuracy, clean = _all(np.random.default_rng(0)), 0.8
    got = action.robustness(dict(reversed(accuracy.items())), clean)
    self.assertEmpty(got["missing"])
    for measure, one in (
      ("gamma_a", lambda a: 1 - (clean - a)),
      ("gamma_r", lambda a: a / clean),
    ):
      cells = {c: one(a) for c, a in accuracy.items()}
      result = got[measure]
      self.assertEqual(list(result["cells"]), list(cells))
      for c, value in cells.items():
        self.assertAlmostEqual(result["cells"][c], value, delta=1e-12)
      names = {
        n: np.mean([cells[n, s] for s in conditions.SEVERITIES])
        for n in conditions.VIDEOS.names()
      }
      groups = {
        g: np.mean([names[n] for n in members])
        for g, members in _groups().items()
      }
      for n, value in names.items():
        self.assertAlmostEqual(result["names"][n], value, delta=1e-12)
      for g, value in groups.items():
        self.assertAlmostEqual(result["groups"][g], value, delta=1e-12)
      mean = np.mean(list(groups.values()))
      self.assertAlmostEqual(result["mean"], mean, delta=1e-12)

  def test_missing_cells_are_named(self):
    first = {(n, 1): 0.5 for n in conditions.VIDEOS.names()}
    self.assertLen(action.robustness(first, np.float32(0.8))["missing"], 72)
    accuracy = _all(np.random.default_rng(0))
    del accuracy["mpeg2", 4]
    self.assertEqual(
      action.robustness(accuracy, 0.5)["missing"], [("mpeg2", 4)]
    )


class ShiftsTest(absltest.TestCase):
  def test_shifts(self):
    got = action.shift_accuracies(
      [True, False, True, True],
      ["kids", "kids", "old_person", "toy"],
      ["Age", "Age", "Age", "Actor"],
    )
    self.assertEqual(got["shifts"]["kids"]["accuracy"], 0.5)
    self.assertAlmostEqual(got["categories"]["Age"]["accuracy"], 2 / 3)
    self.assertEqual(got["categories"]["Actor"]["n"], 1)
    again = action.shift_accuracies(
      [True, False] * 20,
      ["kids"] * 40,
      ["Age"] * 40,
      [f"v{i // 8}" for i in range(40)],
    )["shifts"]["kids"]
    alone = action.shift_accuracies(
      [True, False] * 20, ["kids"] * 40, ["Age"] * 40
    )
    self.assertLess(again["hi"] - again["lo"], 0.1)  # five videos alike
    self.assertGreater(alone["shifts"]["kids"]["hi"], 0.6)


_TABLES = {
  4: "table4_kinetics400_p",
  5: "table5_ssv2_p",
  6: "table6_ucf101_p",
  7: "table7_hmdb51_p",
}
# Half a printed digit of the mean and of each row: docs/evidence/specs/video.md section
# 2.
_TOLERANCE = 0.0101


def _rows(name):
  path = shared_data.golden("published/schiappa", f"{name}.csv")
  return shared_data.lines(path)


class PrintedTablesTest(parameterized.TestCase):
  @parameterized.parameters(*_TABLES)
  def test_category_rows_are_means_of_their_rows(self, number):
    known = {
      (r["category"], r["model"], r["metric"])
      for r in _rows("check_category_means")
      if r["table"] == str(number)
    }
    rows = _rows(_TABLES[number])
    columns = [k for k in rows[0] if k.endswith(("gamma_a", "gamma_r"))]
    apart, checked = set(), 0
    for mean in (r for r in rows if r["is_category_mean"] == "1"):
      own = [
        r
        for r in rows
        if r["category"] == mean["category"] and r["is_category_mean"] == "0"
      ]
      for column in columns:
        if not mean[column] or not all(r[column] for r in own):
          continue
        checked += 1
        value = np.mean([float(r[column]) for r in own])
        if abs(value - float(mean[column])) > _TOLERANCE:
          model, metric = column.rsplit("_gamma_", 1)
          apart.add((mean["category"], model, f"gamma_{metric}"))
    self.assertGreater(checked, 30)
    self.assertEqual(apart, known)

  def test_table_2_means_are_of_the_five_groups(self):
    for row in _rows("table2_kinetics400_p_summary"):
      for metric in ("gamma_a", "gamma_r"):
        groups = [
          float(row[f"{g.capitalize()}_{metric}"])
          for g in conditions.VIDEOS.groups
        ]
        self.assertAlmostEqual(
          np.mean(groups), float(row[f"Mean_{metric}"]), delta=_TOLERANCE
        )

  def test_gamma_a_and_gamma_r_imply_one_clean_accuracy(self):
    # Of Kinetics: A = (1 - gamma_a) / (1 - gamma_r) for every row.
    for row in _rows("table4_kinetics400_p"):
      if row["is_category_mean"] == "1":
        continue
      absolute, relative = float(row["I3D_gamma_a"]), float(row["I3D_gamma_r"])
      if relative > 0.8:
        continue  # two digits do not determine it there
      accuracy = 0.721  # docs/evidence/specs/video.md section 2: I3D, implied
      got = action.robustness({("jpeg", 1): absolute - 1 + accuracy}, accuracy)[
        "gamma_r"
      ]["mean"]
      self.assertAlmostEqual(got, relative, delta=0.013)


class OwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {
      (n, s): 0.4
      for n in conditions.VIDEOS.names("common")
      for s in conditions.SEVERITIES
    }
    more = {**flat, ("invert", 1): 0.0}
    before, after = action.robustness(flat, 0.8), action.robustness(more, 0.8)
    self.assertEqual(after["missing"], [])
    for measure in ("gamma_a", "gamma_r"):
      self.assertEqual(after[measure]["groups"], before[measure]["groups"])
      self.assertEqual(after[measure]["mean"], before[measure]["mean"])
    self.assertEqual(after["gamma_r"]["names"]["invert"], 0.0)

  def test_a_run_of_nothing_else(self):
    accuracy = {("invert", 1): 0.5}
    self.assertTrue(
      np.isnan(action.robustness(accuracy, 0.8)["gamma_a"]["mean"])
    )

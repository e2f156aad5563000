"""Effective robustness of every task: lines, residuals, intervals, refusals."""

import dataclasses
import math

import numpy as np
from absl.testing import parameterized

from eval import papers
from eval.cells.number import Number
from eval.compare.boards import board as board_lib
from eval.compare.boards import effective
from eval.metrics import trend
from eval.metrics.replicates import Replicates
from robust_tfds import errors
from tests.eval.report.figures import boards


def _logistic(v):
  return 1 / (1 + math.exp(-v))


def _board(task, points, dataset="digits"):
  """A board whose models have these (x, y)."""
  axes, board = effective.AXES[task], boards.board(task)
  entries = []
  for i, (x, y) in enumerate(points):
    if task in ("classification", "sequences"):
      x, y = 1 - x, 1 - y
    elif task == "video":
      y = y / x
    numbers = dict(zip([(m, "", None) for m in axes.metrics], (x, y)))
    entries.append(
      board_lib.Entry(
        key=f"k{i}",
        label=f"m{i}",
        model=f"m{i}",
        run="one",
        data=boards.data_of(dataset),
        numbers={k: Number(v) for k, v in numbers.items()},
      )
    )
  return dataclasses.replace(board, entries=entries, dataset=dataset)


class EffectiveTest(parameterized.TestCase):
  @parameterized.parameters(*effective.AXES)
  def test_models_on_a_line_of_logits_have_none(self, task):
    points = [(_logistic(v), _logistic(0.8 * v - 0.5)) for v in (-1, 0, 1, 2)]
    board = _board(task, points)
    line = effective.reference(board, effective.RUNS)
    self.assertAlmostEqual(line.line.slope, 0.8, places=9)
    for number in effective.numbers(board, line).values():
      self.assertAlmostEqual(number.value, 0, places=12)
      self.assertIn("slope of logits 0.80", number.note)

  def test_who_was_trained_on_the_test_is_of_no_line(self):
    board = _board("frames", [(0.4, 0.3), (0.5, 0.4), (0.6, 0.5), (0.7, 0.9)])
    *others, last = board.entries
    entries = [*others, dataclasses.replace(last, state=board_lib.SEEN)]
    board = dataclasses.replace(board, entries=entries)
    line = effective.reference(board, effective.RUNS)
    self.assertEqual(list(line.points), ["m0", "m1", "m2"])
    self.assertIn("k3", effective.numbers(board, line))

  def test_a_model_above_the_testbed(self):
    dataset = "imagenet_vid_robust"
    line = effective.reference(_board("frames", [(0.7, 0.6)], dataset))
    self.assertEqual((line.name, len(line.points)), ("standard", 78))
    board = _board(
      "frames", [(0.7, float(line.line.predict(0.7)) + 0.03)], dataset
    )
    (number,) = effective.numbers(board, line).values()
    self.assertAlmostEqual(number.value, 0.03, places=12)

  @parameterized.parameters(
    ("classification", "imagenet_c", 7),
    ("sequences", "imagenet_p", 7),
    ("detection", "coco_c", 14),
    ("video", "ucf101_p", 11),
    ("video", "kinetics400_p", 6),
    ("frames", "ytbb_robust", 60),
  )
  def test_printed_networks(self, task, dataset, count):
    points = effective.printed_points(task, dataset)
    self.assertLen(points, count)
    for x, y in points.values():
      self.assertTrue(0 < x < 1 and 0 < y < 1)
    self.assertEqual(effective.fitted(task, dataset, "printed").points, points)

  def test_doubtful_numbers_are_recomputed_and_said(self):
    """Digital of X3D from scratch is printed .13, its three lines .873."""
    x, y = effective.printed_points("video", "hmdb51_p")["X3D, scratch"]
    self.assertAlmostEqual(y / x, 0.6867, delta=5e-5)
    line = effective.fitted("video", "hmdb51_p")
    self.assertGreater(line.line.above([x], [y])[0], -0.005)
    self.assertRegex(line.words, r"doubtful: numbers of \d")
    self.assertIn("X3D, scratch", effective.doubtful("video", "hmdb51_p"))
    self.assertEmpty(effective.doubtful("detection", "pascal_c"))

  def test_plain_means_follow_from_normalised_ones(self):
    """AlexNet's CE are 1: its mean error is that of the baseline."""
    points = effective.printed_points("classification", "imagenet_c")
    self.assertAlmostEqual(points["AlexNet"][0], 0.565)
    self.assertAlmostEqual(points["AlexNet"][1], 1 - 0.788993, places=5)
    ce = papers.networks("imagenet_c", "mce")
    self.assertLess(points["AlexNet"][1], points["ResNet-50"][1])
    self.assertLess(ce["ResNet-50"], ce["AlexNet"])

  def test_intervals_are_of_the_models_own_draws(self):
    dataset = "imagenet_vid_robust"
    board = _board("frames", [(0.7, 0.5)], dataset)
    line = effective.reference(board)
    rng, groups = np.random.default_rng(0), 200
    right = rng.random((groups, 2)) < (0.7, 0.5)
    draws = {}
    for metric, of in zip(("acc_orig", "acc_pmk"), right.T):
      picks = np.random.default_rng(1).integers(groups, size=(500, groups))
      left = (of.sum() - of) / (groups - 1)
      draws[metric, "", None] = Replicates(
        np.array(of.mean()), of[picks].mean(1), left, groups
      )
    (number,) = effective.numbers(board, line, {"k0": draws}).values()
    self.assertLess(number.lo, number.value)
    self.assertGreater(number.hi, number.value)
    # A binomial error of y alone, half as wide again for x at the most.
    self.assertBetween(number.hi - number.lo, 0.08, 0.25)

  def _of_three_runs(self):
    """A board of three models on the same examples, and their draws."""
    rng, groups = np.random.default_rng(0), 500
    hard = rng.random((groups, 1))
    right = hard < np.array([0.55, 0.7, 0.8, 0.4, 0.6, 0.65])
    right ^= rng.random(right.shape) < 0.05
    picks = rng.integers(groups, size=(400, groups))
    drawn, left = right[picks].mean(1), (right.sum(0) - right) / (groups - 1)
    whole = right.mean(0)
    of = [
      Replicates(whole[i], drawn[:, i], left[:, i], groups) for i in range(6)
    ]
    draws = {
      f"k{i}": {("acc_orig", "", None): of[i], ("acc_pmk", "", None): of[i + 3]}
      for i in range(3)
    }
    return _board("frames", list(zip(whole[:3], whole[3:]))), draws

  def test_the_line_of_runs_is_fitted_in_every_draw(self):
    board, draws = self._of_three_runs()
    line = effective.reference(board, effective.RUNS)
    pairs = [list(draws[f"k{i}"].values()) for i in range(3)]
    joined = np.array([[r.joined for r in pair] for pair in pairs])

    def above(k):
      x, y = joined[:, 0, k], joined[:, 1, k]
      return trend.fit(x, y, logits=True).above(x, y)

    brute = np.array([above(k) for k in range(joined.shape[-1])])
    numbers = effective.numbers(board, line, draws)
    for i in range(3):
      want = pairs[i][0].like(brute[:, i]).interval(percentiles=True)
      number = numbers[f"k{i}"]
      np.testing.assert_allclose((number.lo, number.hi), want, atol=1e-12)
      self.assertIn("fitted to these models in every draw", number.note)

  def test_a_fixed_line_says_so_and_is_much_wider_of_three_runs(self):
    board, draws = self._of_three_runs()
    line = effective.reference(board, effective.RUNS)
    drawn = effective.numbers(board, line, draws)["k0"]
    fixed = dataclasses.replace(line, keys=())
    wide = effective.numbers(board, fixed, draws)["k0"]
    self.assertIn("held fixed, of 3 models alone", wide.note)
    self.assertGreater((wide.hi - wide.lo) / (drawn.hi - drawn.lo), 1.8)

  @parameterized.parameters(
    ("classification", "imagenet_c", "", "on 7 printed networks .* AlexNet's"),
    ("video", "ucf101_p", "", "on 11 printed networks .*x implied by printed"),
    (
      "frames",
      "ytbb_robust",
      "",
      "^the 78 standard models of Taori et al. 2020",
    ),
    (
      "frames",
      "ytbb_robust",
      "testbed",
      "^by the method of Taori .*all.* 110 checkpoint",
    ),
  )
  def test_who_the_line_is_of(self, task, dataset, name, words):
    line = effective.fitted(task, dataset, name)
    self.assertRegex(line.described, words)
    is_theirs = not line.words.startswith("by the method of")
    self.assertEqual(is_theirs, line.name == effective.STANDARD)

  def test_a_note_says_how_far_the_line_is_known_and_that_it_is_extrapolated(
    self,
  ):
    line = effective.fitted("classification", "imagenet_c")
    self.assertRegex(line.fixed(0.9), r"own 95 % here are -\d\d?\.\d to \+")
    self.assertIn("lie between 56.5 and 76.1 %", line.beyond(0.9))
    self.assertEmpty(line.beyond(0.7))

  def test_a_videos_clean_accuracy_follows_from_its_gammas(self):
    """The interval is that of draws of the two accuracies themselves."""
    rng, groups = np.random.default_rng(0), 300
    hits = rng.random((groups, 2)) < (0.8, 0.55)
    picks = rng.integers(groups, size=(400, groups))
    whole = hits.mean(0)
    left = (hits.sum(0) - hits) / (groups - 1)

    def of(f):
      drawn = hits[picks].mean(1)
      parts = [f(*part.T) for part in (whole[None], drawn, left)]
      return Replicates(parts[0][0], parts[1], parts[2], groups)

    draws = {
      ("gamma_a", "", None): of(lambda clean, mean: 1 - clean + mean),
      ("gamma_r", "", None): of(lambda clean, mean: mean / clean),
    }
    board = _board("video", [tuple(whole)], "ucf101_p")
    line = effective.reference(board)
    (number,) = effective.numbers(board, line, {"k0": draws}).values()
    lo, hi = of(lambda clean, mean: mean - line.line.predict(clean)).interval()
    self.assertAlmostEqual(number.lo, lo, places=9)
    self.assertAlmostEqual(number.hi, hi, places=9)

  def test_numbers_that_were_drawn_apart_have_no_interval(self):
    board = _board("frames", [(0.7, 0.5)], "imagenet_vid_robust")
    draws = {
      (metric, "", None): Replicates(
        np.array(0.5), np.full(draws, 0.5), np.full(9, 0.5), 9
      )
      for metric, draws in (("acc_orig", 20), ("acc_pmk", 30))
    }
    line = effective.reference(board)
    (number,) = effective.numbers(board, line, {"k0": draws}).values()
    self.assertIsNone(number.lo)
    self.assertIn("not drawn together", number.note)

  @parameterized.parameters(
    ([(0.5, 0.4)] * 2, "runs: 2 of at least 3 models"),
    ([(0.5, 0.4)] * 3, "same x"),
    ([(1.0, 0.4), (0.5, 0.3), (0.6, 0.3)], "1 of 3 models have another x"),
  )
  def test_no_line(self, points, words):
    board = _board("frames", points)
    with self.assertRaisesRegex(errors.UserError, words):
      effective.reference(board, effective.RUNS)
    self.assertIs(effective.add(board), board)

  def test_unknown_reference(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'testbed'"):
      effective.reference(_board("frames", []), "testbet")

  def test_a_perfect_model_has_none_and_it_says_why(self):
    board = _board("frames", [(1.0, 0.9), (0.5, 0.4)], "imagenet_vid_robust")
    added = effective.add(board)
    first, second = (e.number(effective.METRIC.name) for e in added.entries)
    self.assertIsNone(first.value)
    self.assertIn("logit infinite", first.note)
    self.assertIsNotNone(second.value)
    self.assertIn(effective.METRIC, added.headlines)

  def test_models_without_the_numbers_are_left_out(self):
    board = _board("frames", [(0.5, 0.4)], "imagenet_vid_robust")
    bare = dataclasses.replace(board.entries[0], key="bare", numbers={})
    board = dataclasses.replace(board, entries=[*board.entries, bare])
    added = effective.add(board)
    self.assertIsNone(added.entries[1].number(effective.METRIC.name))

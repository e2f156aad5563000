"""Arguments that the public functions of the metrics refuse, in words."""

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import conditions, errors
from robust_tfds.eval.metrics import (
  action,
  arguments,
  corruption_error,
  intervals,
  pm_k,
  stability,
)

_NAN, _INF = float("nan"), float("inf")
_NO_NUMBERS = (_NAN, _INF, None, "0.5", True, 1j, [0.5], {}, np.zeros(2))


class ArgumentsTest(parameterized.TestCase):
  def test_numbers(self):
    for value in (1, np.float32(1), np.array(1), np.int8(1)):
      self.assertEqual(arguments.number("x", value), 1.0)
      self.assertEqual(arguments.fraction("x", value), 1.0)
    for value in _NO_NUMBERS:
      with self.assertRaisesRegex(
        errors.UserError, "x must be a finite number"
      ):
        arguments.number("x", value)
      with self.assertRaisesRegex(errors.UserError, "x must be a fraction in"):
        arguments.fraction("x", value)
    with self.assertRaisesRegex(
      errors.UserError, r"must lie in \[0, 15\], got 16"
    ):
      arguments.fraction("x", 16, 15)

  def test_whole_numbers(self):
    self.assertEqual(arguments.whole("k", np.int64(3)), 3)
    for value in (-1, 2.0, 2**40, "3", *_NO_NUMBERS):
      with self.assertRaisesRegex(errors.UserError, "k must be a whole number"):
        arguments.whole("k", value)

  def test_results(self):
    for value in ([1, 0], [1.0, 0.0], [True, False]):
      self.assertEqual(arguments.rights("x", value).tolist(), [True, False])
    for value, message in (
      ([1, _NAN], r"with nan at \[1\]"),
      ([2, 1], r"with 2 at \[0\]"),
      (["0", "1"], "<U1"),
      ([None, 1], "object"),
      ([[1], [1, 0]], "unequal length"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        arguments.rights("x", value)

  def test_others(self):
    with self.assertRaisesRegex(errors.UserError, "dict, got list"):
      arguments.mapping("x", [1])
    with self.assertRaisesRegex(errors.UserError, r"inf at \[1, 0\]"):
      arguments.reals("x", [[0.0], [_INF]])
    for value in (0, "no", None, 2):
      with self.assertRaisesRegex(errors.UserError, "True or False"):
        arguments.flag("x", value)
    for value in (0, 1, 95, *_NO_NUMBERS):
      with self.assertRaisesRegex(errors.UserError, "level must"):
        arguments.level(value)


class CorruptionErrorTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"errors": {}}, "errors is empty"),
    ({"errors": [0.5]}, "errors must be a dict"),
    ({"errors": {"fog": "abcde"}}, "fog: a list of the errors"),
    ({"errors": {"fog": None}}, "fog: a list"),
    ({"errors": {"fog": 0.5}}, "fog: a list"),
    ({"errors": {"fog": {1: 0.5}}}, "fog: a list"),
    (
      {"errors": {"fog": np.zeros((5, 2))}},
      "fog, severity 1 must be a fraction",
    ),
    ({"errors": {"fog": [0.5] * 4 + ["a"]}}, "fog, severity 5 must be"),
    ({"errors": {"fog": [True] * 5}}, "fog, severity 1 must be"),
    ({"errors": {3: [0.5] * 5}}, "Unknown corruption 3"),
    ({"clean_error": None}, "clean_error must be a fraction"),
    ({"clean_error": "0.1"}, "clean_error must be a fraction"),
    ({"baseline": None}, "baseline must be a dict"),
    ({"baseline": ""}, "Unknown baseline"),
    ({"baseline": {}}, "'errors' is missing"),
    ({"baseline": {"errors": {}}}, "'clean_error' is missing"),
    ({"baseline": {"errors": {"fog": [2] * 5}, "clean_error": 0}}, "Divide"),
  )
  def test_refused(self, change, message):
    base = {"errors": {"fog": [0.5] * 5}, "clean_error": 0.1}
    with self.assertRaisesRegex(errors.UserError, message):
      corruption_error.summarize(**{**base, **change})


class StabilityTest(parameterized.TestCase):
  @parameterized.parameters(
    ([[0, -1, 2]], "numbered from 0, got -1"),
    ([[0.0, _NAN]], "integer array"),
    ("abc", "integer array"),
    (None, "integer array"),
    (3, "integer array"),
    ([["a", "b"]], "integer array"),
    ([[True, False]], "integer array"),
    ([[1, 2], [3]], "unequal length"),
    (np.zeros((2, 1), int), "frames"),
    (np.zeros((2, 0), int), "frames"),
    (np.zeros((0, 5), int), "no sequences"),
  )
  def test_predictions(self, top1, message):
    for noise in (False, True):
      with self.assertRaisesRegex(errors.UserError, message):
        stability.flip_probability(top1, noise)

  def test_noise_is_a_flag(self):
    for noise in (None, "no", 1, np.array([True, False])):
      with self.assertRaisesRegex(errors.UserError, "noise must be True"):
        stability.flip_probability([[1, 2]], noise)

  def test_rankings(self):
    with self.assertRaisesRegex(
      errors.UserError, "sequence 1, frame 2: a class"
    ):
      ranked = np.tile(np.arange(6), (2, 3, 1))
      ranked[1, 2, 3] = 0
      stability.top5_distance(ranked)

  @parameterized.parameters(
    (3.0,), ("ab",), (None,), ([[1j, 2]],), ([[True, False]],), ([[]],)
  )
  def test_logits(self, logits):
    with self.assertRaisesRegex(errors.UserError, "logits must be numbers"):
      stability.rank(logits)

  def test_logits_beyond_float32(self):
    with self.assertRaisesRegex(errors.UserError, "beyond its range"):
      stability.rank([[1e300, 1e301]])
    self.assertEqual(stability.rank([[-_INF, _INF]]).tolist(), [[1, 0]])
    for k in (0, -1, 3, 2.5, "1", True):
      with self.assertRaisesRegex(errors.UserError, "k must be"):
        stability.rank([[1.0, 2.0]], k)

  @parameterized.parameters(
    ({"fp": {}}, "fp is empty"),
    ({"fp": [0.1]}, "must be a dict"),
    ({"fp": {"tilt": None}}, "tilt: the flip probability must be"),
    ({"fp": {"tilt": [0.1]}}, "tilt: the flip probability must be"),
    ({"ut5d": {"tilt": 16}}, r"must lie in \[0, 15\]"),
    ({"baseline": {}}, "'flip_probability' is missing"),
    (
      {"baseline": {"flip_probability": {"tilt": -1}, "unnormalised_t5d": {}}},
      "the baseline's flip probability",
    ),
  )
  def test_summaries(self, change, message):
    base = {"fp": {"tilt": 0.1}, "ut5d": {}}
    with self.assertRaisesRegex(errors.UserError, message):
      stability.summarize(**{**base, **change})


class PmKTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"correct": [_NAN, 1]}, "No prediction for"),
    ({"correct": [1]}, "like group_id and frame"),
    ({"correct": [[1], [1, 2]]}, "unequal length"),
    ({"correct": ["1", "1"]}, "correct must be bool"),
    ({"group_id": ["a", None]}, "all texts or all whole"),
    ({"group_id": ["a", 1]}, "all texts or all whole"),
    ({"group_id": [1.0, _NAN]}, "group_id must be texts or whole"),
    ({"frame": ["0", "1"]}, "frame must hold whole numbers"),
    ({"frame": [False, True]}, "frame must hold whole numbers"),
    ({"frame": [0, _NAN]}, "got nan"),
    ({"frame": [0, 1e300]}, "got 1e"),
    ({"frame": [0, 1.5]}, "got 1.5"),
    ({"frame": [0, 0]}, "Two frames for set"),
    ({"frame": [1, 2]}, "no anchor"),
    ({"k": _NAN}, "k must be a whole number"),
    ({"k": 1e300}, "k must be a whole number"),
    ({"level": "0.95"}, "level must be"),
    ({"level": 95}, "level must lie"),
  )
  def test_refused(self, change, message):
    base = {"correct": [1, 1], "group_id": ["a", "a"], "frame": [0, 1]}
    with self.assertRaisesRegex(errors.UserError, message):
      pm_k.accuracy(**{**base, **change})


class IntervalsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("a", 5, "whole numbers"),
    ("3", 5, "whole numbers"),
    (None, 5, "whole numbers"),
    (True, 5, "whole numbers"),
    (1j, 5, "whole numbers"),
    (np.datetime64(3, "s"), 5, "whole numbers"),
    (_NAN, 5, "whole numbers"),
    (-1, 5, "must not be negative"),
    (6, 5, "More successes than trials: 6"),
    ([[1], [1, 2]], 5, "unequal length"),
    ([1, 2], [5, 6, 7], "do not go together"),
    (1e20, 1e21, "at most 1e"),
  )
  def test_counts(self, successes, n, message):
    with self.assertRaisesRegex(errors.UserError, message):
      intervals.clopper_pearson(successes, n)

  @parameterized.parameters(
    ({"values": []}, "at least one row"),
    ({"values": 3}, "at least one row"),
    ({"values": [_NAN, 1]}, r"with nan at \[0\]"),
    ({"values": ["a"]}, "finite numbers"),
    ({"values": None}, "finite numbers"),
    ({"level": 95}, "level must lie"),
    ({"resamples": 0}, "resamples must be"),
    ({"resamples": 10**12}, "resamples must be"),
    ({"rng": 3}, "numpy Generator"),
    ({"statistic": lambda rows: _NAN}, "no finite number"),
  )
  def test_bootstrap(self, change, message):
    base = {"values": [0.0, 1.0], "rng": np.random.default_rng(0)}
    with self.assertRaisesRegex(errors.UserError, message):
      intervals.bootstrap(**{**base, **change})


class ActionTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"jpeg": 0.5}, r"\(perturbation, severity\), got 'jpeg'"),
    ({("jpeg", 1, 2): 0.5}, "got \\('jpeg', 1, 2\\)"),
    ({("jpeg", 1.0): 0.5}, "severity must be 1-5, got 1.0"),
    ({("jpeg", True): 0.5}, "severity must be 1-5, got True"),
    ({("jpeg", 1): None}, "jpeg, severity 1 must be a fraction"),
    ({("jpeg", 1): 60}, "Divide percent"),
    ([0.5], "must be a dict"),
  )
  def test_accuracies(self, accuracy, message):
    with self.assertRaisesRegex(errors.UserError, message):
      action.robustness(accuracy, 0.8)

  def test_clean_accuracies(self):
    for clean in (*_NO_NUMBERS, 80):
      with self.assertRaisesRegex(errors.UserError, "clean_accuracy must be"):
        action.robustness({("jpeg", 1): 0.5}, clean)

  def test_shifts_and_comparisons(self):
    with self.assertRaisesRegex(errors.UserError, "correct must be bool"):
      action.by_shift([_NAN, 1], ["a", "b"], ["c", "c"])
    with self.assertRaisesRegex(errors.UserError, "one has no 'gamma_a'"):
      action.compare({}, {})

  def test_all_of_the_benchmark(self):
    cells = {(n, 1): 0.5 for n in conditions.VIDEOS.names()}
    self.assertLen(action.robustness(cells, np.float32(0.8))["missing"], 72)


if __name__ == "__main__":
  absltest.main()

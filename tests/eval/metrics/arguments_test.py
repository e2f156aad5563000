"""Arguments that the public functions of the metrics refuse, in words."""

import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from eval.metrics import (
  action,
  corruption_error,
  intervals,
  pm_k,
  stability,
)
from robust_tfds import errors
from tests.faults.case import QUOTES_PYTHON

_NAN, _INF = float("nan"), float("inf")


def _of(function, arguments, *cases):
  """(function, arguments with a change, message) of each (change, message)."""
  for change, message in cases:
    yield function, {**arguments, **change}, message


_FOG = {"errors": {"fog": [0.5] * 5}, "clean_error": 0.1}
_FRAMES = {"correct": [1, 1], "group_id": ["a", "a"], "frame": [0, 1]}
_RANKED = np.tile(np.arange(6), (2, 4, 1))
_JPEG = {"accuracy": {("jpeg", 1): 0.5}, "clean_accuracy": 0.8}
_REFUSED = (
  *_of(
    corruption_error.summarize,
    _FOG,
    ({"errors": {}}, "errors is empty"),
    ({"errors": [0.5]}, "errors must be a dict"),
    *(
      ({"errors": {"fog": value}}, "fog: a list of the errors")
      for value in ("abcde", None, {0.5}, jnp.array(0.5))
    ),
    ({"errors": {"fog": [0.5] * 4}}, "5 severities expected, got 4"),
    ({"errors": {"fog": [50.0] * 5}}, "Divide percent by 100"),
    ({"errors": {"fog": [_NAN] * 5}}, "fraction in"),
    ({"errors": {"fog": [0.5] * 4 + ["a"]}}, "fog, severity 5 must be"),
    ({"errors": {3: [0.5] * 5}}, "Unknown corruption 3"),
    ({"errors": {"gausian_noise": []}}, "Did you mean 'gaussian_noise'"),
    ({"clean_error": "0.1"}, "clean_error must be a fraction"),
    ({"baseline": None}, "baseline must be a dict"),
    ({"baseline": "alexnett"}, "Did you mean 'alexnet'"),
    ({"baseline": {"errors": {}}}, "'clean_error' is missing"),
    ({"baseline": {"errors": {"fog": [2] * 5}, "clean_error": 0}}, "Divide"),
    (
      {"errors": {"brightness": [0.5] * 5}, "baseline": _FOG},
      "no errors for brightness",
    ),
  ),
  *_of(
    stability.flip_probability,
    {"noise": False},
    ({"top1": [[0, -1, 2]]}, "numbered from 0, got -1"),
    *(
      ({"top1": top1}, "integer array")
      for top1 in ([[0.0, _NAN]], [1, 2, 3], "abc", None, [[True, False]])
    ),
    ({"top1": [[1, 2], [3]]}, "unequal length"),
    ({"top1": np.zeros((2, 1), int)}, "frames"),
    ({"top1": np.zeros((0, 5), int)}, "no sequences"),
    *(
      ({"top1": [[1, 2, 3] * 9], "difficulty": bad}, "1, 2 or 3 .* got")
      for bad in (0, 1.5, True, _NAN, None)
    ),
    ({"top1": [[1, 2]], "difficulty": 2}, "more than 2 frames"),
    ({"top1": [[1, 2]], "noise": "no"}, "noise must be True"),
  ),
  *(
    case
    for function, name in (
      (stability.top5_distance, "ranked"),
      (stability.zipf_distance, "ranked_all"),
    )
    for case in _of(
      function,
      {},
      ({name: _RANKED + 0.5}, "integer array"),
      ({name: _RANKED[:, :1]}, "frames"),
      ({name: _RANKED[:0]}, "no sequences"),
    )
  ),
  *_of(
    stability.rank,
    {"logits": [[1.0, 2.0]]},
    *(
      ({"logits": logits}, "logits must be numbers")
      for logits in (3.0, "ab", [[1j, 2]], [[]])
    ),
    ({"logits": [[1e300, 1e301]]}, "beyond its range"),
    ({"logits": [[1.0, _NAN]]}, "NaN"),
    *(({"k": k}, "k must be") for k in (0, 3, 2.5)),
  ),
  *_of(
    stability.summarize,
    {"fp": {"tilt": 0.1}, "ut5d": {}},
    ({"fp": {}}, "fp is empty"),
    ({"fp": {"tilt": [0.1]}}, "tilt: the flip probability must be"),
    ({"fp": {"tilt": 10.0}}, "Divide percent"),
    ({"fp": {"translte": 0.1}}, "Did you mean 'translate'"),
    ({"ut5d": {"tilt": 16}}, r"must lie in \[0, 15\]"),
    ({"baseline": {}}, "'flip_probability' is missing"),
  ),
  *_of(
    pm_k.accuracy,
    _FRAMES,
    ({"correct": [_NAN, 1]}, r"No prediction for set 'a', offset \+0"),
    ({"correct": [1, 2]}, r"0 or 1, got 2 for set 'a', offset \+1"),
    ({"correct": [1]}, r"must be \[..., 2\] like group_id and frame"),
    ({"correct": [[1, 1], [0, 1]]}, "takes many models"),
    ({"correct": ["1", "1"]}, "correct must be bool, .* dtype <U1"),
    ({"group_id": ["a", None]}, "all texts or all whole"),
    ({"group_id": [1.0, _NAN]}, "group_id must be texts or whole"),
    ({"group_id": ["a"]}, r"\[frames\] each, got \[1\] and \[2\]"),
    ({"group_id": [], "frame": []}, "at least one anchor, got no frames"),
    ({"frame": [False, True]}, "frame must hold whole numbers"),
    ({"frame": [0, 1.5]}, "got 1.5"),
    ({"frame": [0, 0]}, r"Two frames for set 'a', offset \+0"),
    ({"frame": [1, 2]}, "no anchor .* the first 'a'"),
    *(({"k": k}, "k must be a whole number") for k in (_NAN, -1, True)),
    ({"level": 95}, "level must lie"),
  ),
  *_of(
    intervals.clopper_pearson,
    {"successes": 1, "n": 5},
    *(
      ({"successes": bad}, "whole numbers")
      for bad in ("3", None, True, np.datetime64(3, "s"), _NAN, 1.5)
    ),
    ({"successes": -1}, "must not be negative"),
    ({"successes": 6}, "More successes than trials: 6"),
    ({"successes": [1, 2], "n": [5, 6, 7]}, "do not match"),
    ({"successes": 1e20, "n": 1e21}, "at most 1e"),
    ({"level": 1.0}, "level must lie"),
  ),
  *_of(
    action.robustness,
    _JPEG,
    ({"accuracy": {"jpeg": 0.5}}, r"\(perturbation, severity\), got 'jpeg'"),
    ({"accuracy": {("jpg", 1): 0.5}}, "Did you mean 'jpeg'"),
    *(
      ({"accuracy": {("jpeg", level): 0.5}}, f"must be 1-5, got {level}")
      for level in (0, 1.0, True)
    ),
    ({"accuracy": {("jpeg", 1): _NAN}}, "jpeg, severity 1 must be a fraction"),
    ({"accuracy": {("jpeg", 1): 60}}, "Divide percent"),
    ({"accuracy": {}}, "No cells"),
    ({"clean_accuracy": 0.0}, "clean_accuracy is 0"),
    ({"clean_accuracy": 80}, "clean_accuracy must be"),
  ),
  *_of(
    action.shift_accuracies,
    {"correct": [1, 1], "shift": ["a", "b"], "category": ["x", "x"]},
    ({"correct": [_NAN, 1]}, "correct must be bool"),
    ({"correct": [1]}, "one entry a clip"),
    ({"shift": ["a", "a"], "category": ["x", "y"]}, "in two categories"),
  ),
)


class MetricsTest(parameterized.TestCase):
  @parameterized.parameters(*_REFUSED)
  def test_refused(self, function, given, message):
    with self.assertRaisesRegex(errors.UserError, message) as caught:
      function(**given)
    self.assertNotRegex(str(caught.exception), QUOTES_PYTHON)

  def test_a_class_that_is_ranked_twice(self):
    ranked = np.tile(np.arange(6), (2, 3, 1))
    ranked[1, 2, 3] = 0
    with self.assertRaisesRegex(
      errors.UserError, "sequence 1, frame 2: a class"
    ):
      stability.top5_distance(ranked)

  def test_infinite_logits_are_ranked(self):
    self.assertEqual(stability.rank([[-_INF, _INF]]).tolist(), [[1, 0]])

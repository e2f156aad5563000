"""Columns of every task: what each may hold, and what is refused."""

import numpy as np
from absl.testing import parameterized

from eval.submissions import values as values_lib
from eval.tasks import sequences
from robust_tfds import conditions, errors

_TRUTH = {
  "images": [
    {"id": 1, "width": 100, "height": 50},
    {"id": 2, "width": 100, "height": 50},
  ],
  "categories": [{"id": 3, "name": "a"}, {"id": 7, "name": "b"}],
  "annotations": [],
}
_NOISE = conditions.SEQUENCES.parse("gaussian_noise")
_TILT = conditions.SEQUENCES.parse("tilt")
_FOG = conditions.PICTURES.parse("fog_3")


def _ids(count=2) -> dict:
  ids = np.array([f"x{i}" for i in range(count)])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(count, np.int32),
  }


def _classified() -> dict:
  return {
    **_ids(),
    "label": np.array([1, 2], np.int32),
    "top5": np.array([[1, 2, 3, 4, 5], [2, 3, -1, -1, -1]], np.int32),
    "score": np.float32([[0.5, 0.2, 0.1, 0.1, 0.1], [0.9, 0.1, 0, 0, 0]]),
    "nll": np.float32([0.6931472, 0.1053605]),
    "brier": np.float32([0.32, 0.02]),
  }


def _sequences(condition) -> dict:
  rng = np.random.default_rng(0)
  top5 = np.stack(
    [np.stack([rng.permutation(10)[:5] for _ in range(8)]) for _ in range(2)]
  ).astype(np.int32)
  noise = conditions.SEQUENCES.is_noise(condition.name)
  return {
    **_ids(),
    "label": np.array([1, 2], np.int32),
    "top5": top5,
    "score": np.full((2, 8, 5), 0.2, np.float32),
    **sequences._of_pairs(top5, noise),
    "zipf": np.zeros((2, 1 if noise else 3), np.float32),
  }


def _detected() -> dict:
  return {
    **_ids(),
    "image_id": np.array([1, 2], np.int64),
    "boxes": np.zeros((2, 3, 4), np.float32) + [1, 2, 30, 40],
    "scores": np.float32([[0.9, 0.8, 0.1], [0.5, 0, 0]]),
    "classes": np.array([[0, 1, 1], [0, -1, -1]], np.int16),
  }


def _frames() -> dict:
  return {
    **_classified(),
    "labels": np.array([[1, -1], [2, 3]], np.int32),
    "reviewed": np.ones(2, bool),
    "frame_type": np.array(["", ""]),
    "fps": np.zeros(2, np.float32),
    "linf": np.full(2, np.nan, np.float32),
  }


def _check(task, columns, condition=_FOG, classes=10) -> None:
  rules = values_lib.Rules(task, classes, _TRUTH)
  values_lib.check("x.npz", columns, rules, condition)


class ColumnsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("classification", _classified()),
    ("frames", _frames()),
    ("video", {**_classified(), "category": np.array(["a", "b"])}),
    ("sequences", _sequences(_NOISE), _NOISE),
    ("sequences", _sequences(_TILT), _TILT),
    ("detection", _detected()),
    ("detection", {**_ids(), "value": np.array([0.5, -1])}),
    (
      "detection",
      {
        **_ids(),
        "position": np.arange(2),
        "image_id": np.array([1, 1]),
        "category_id": np.array([3, 7]),
        "score": np.array([5.0, -1.0]),
        "bbox": np.zeros((2, 4)),
      },
    ),
  )
  def test_what_tasks_give_is_right(self, task, columns, condition=_FOG):
    _check(task, columns, condition)

  @parameterized.parameters(
    ("top5", (0, 0), 10, "classes 0 to 9, or -1"),
    ("top5", (0, 0), -2, "classes 0 to 9, or -1"),
    ("label", 0, -1, "classes 0 to 9"),
    ("label", 1, 10, "classes 0 to 9"),
    ("score", (0, 4), np.nan, "expected a number"),
    ("nll", 0, np.nan, "expected a number"),
    ("brier", 0, np.nan, "expected a number"),
  )
  def test_values_of_a_classifier(self, name, place, value, message):
    columns = _classified()
    columns[name][place] = value
    with self.assertRaisesRegex(
      errors.UserError, f"^x.npz: {name} of 'x[01]': got .*{message}"
    ):
      _check("classification", columns)

  @parameterized.parameters(
    ("boxes", (0, 0, 0), np.nan, "expected a number"),
    ("classes", (0, 0), 2, "classes 0 to 1, or -1"),
    ("classes", (0, 0), -2, "classes 0 to 1, or -1"),
  )
  def test_values_of_a_detector(self, name, place, value, message):
    columns = _detected()
    columns[name][place] = value
    with self.assertRaisesRegex(
      errors.UserError, f"^x.npz: {name} of 'x[01]': got .*{message}"
    ):
      _check("detection", columns)

  @parameterized.parameters("flips", "t5d")
  def test_what_follows_from_ranks_is_recomputed(self, name):
    columns = _sequences(_TILT)
    columns[name][1, 2] += 0.01
    with self.assertRaisesRegex(errors.UserError, "not what follows from top5"):
      _check("sequences", columns, _TILT)

  def test_boxes_of_another_shape(self):
    columns = {**_detected(), "boxes": np.zeros((2, 2, 4))}
    with self.assertRaisesRegex(errors.UserError, "boxes: got the shape"):
      _check("detection", columns)

  def test_columns_of_no_rows(self):
    empty = {k: v[:0] for k, v in _classified().items()}
    _check("classification", empty)
    _check("detection", {k: v[:0] for k, v in _detected().items()})

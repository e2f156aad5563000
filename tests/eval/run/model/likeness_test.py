"""Answers that are alike, and how others differ."""

import numpy as np
from absl.testing import absltest

from eval.run.model import likeness


def _logits(change=0.0):
  logits = np.linspace(-4, 6, 40, dtype=np.float32).reshape(4, 10)  # range 10
  logits[2, 3] += change
  return {"logits": logits}


def _detections(count=30, **changes):
  rng = np.random.default_rng(0)
  out = {
    "boxes": rng.uniform(0, 100, (1, count, 4)).astype(np.float32),
    "scores": rng.uniform(0.1, 1, (1, count)).astype(np.float32),
    "classes": rng.integers(0, 5, (1, count)).astype(np.int32),
    "valid": np.ones((1, count), bool),
  }
  for key, (place, value) in changes.items():
    out[key][0, place] = value
  return out


class LikenessTest(absltest.TestCase):
  def test_logits_to_a_thousandth_of_their_range(self):
    self.assertEqual(likeness.difference(_logits(), _logits(0.009)), "")
    self.assertRegex(
      likeness.difference(_logits(), _logits(0.02)),
      "differ by up to 0.02, 0.002 of their range",
    )
    self.assertEqual(likeness.difference(_logits(), _logits(0.4), 0.05), "")
    self.assertIn("0.6", likeness.difference(_logits(), _logits(0.6), 0.05))

  def test_fewer_rows_and_other_names(self):
    short = {"logits": _logits()["logits"][:2]}
    self.assertEqual(likeness.difference(_logits(3.0), short), "")
    narrow = {"logits": _logits()["logits"][:, :9]}
    self.assertIn("9", likeness.difference(_logits(), narrow))
    self.assertIn("gave logits", likeness.difference(_logits(), _detections()))

  def test_a_model_of_one_answer(self):
    one, other = ({"logits": np.full((4, 2), v)} for v in (3.0, 3.1))
    self.assertEqual(likeness.difference(one, one), "")
    self.assertIn("by up to 0.1", likeness.difference(one, other))

  def test_detections_in_any_order(self):
    one = _detections()
    turned = {k: v[:, ::-1] for k, v in one.items()}
    self.assertEqual(likeness.difference(one, turned), "")

  def test_one_of_25_detections_may_differ(self):
    one = _detections()
    self.assertEqual(
      likeness.difference(one, _detections(valid=(3, False))), ""
    )
    two = _detections(valid=([3, 4], False))
    for words in (
      likeness.difference(one, two),
      likeness.difference(two, one),
      likeness.difference(one, _detections(scores=([3, 4], 0.01))),
      likeness.difference(one, _detections(classes=([3, 4], 7))),
      likeness.difference(one, _detections(boxes=([3, 4], 50.0))),
    ):
      self.assertIn("of picture 1, a detection of class", words)

  def test_few_detections_must_all_be_there(self):
    one = _detections(2)
    none = _detections(2, valid=(slice(None), False))
    self.assertIn("before alone", likeness.difference(one, none))
    self.assertIn("now alone", likeness.difference(none, one))
    self.assertEqual(likeness.difference(none, none), "")

  def test_masks(self):
    masks = np.random.default_rng(0).uniform(0, 1, (1, 30, 7, 7))
    one = {**_detections(), "masks": masks}
    self.assertEqual(likeness.difference(one, one), "")
    other = {**_detections(), "masks": 1 - masks}
    self.assertIn("a detection", likeness.difference(one, other))

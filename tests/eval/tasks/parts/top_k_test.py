"""The five best classes: order, ties, few classes, valid rows."""

import jax
import numpy as np
from absl.testing import absltest

from eval.pipeline import inputs
from eval.tasks.parts import proper_scores, top_k


class BestTest(absltest.TestCase):
  def test_best_first_ties_by_lower_id(self):
    logits = np.array([[0, 3, 1, 3, 2, -1, 0]], np.float32)
    got = top_k.best(logits)
    self.assertEqual(got["top5"].tolist(), [[1, 3, 4, 2, 0]])
    want = jax.nn.softmax(logits)[0, [1, 3, 4, 2, 0]]
    np.testing.assert_allclose(got["score"][0], want, rtol=1e-6)

  def test_fewer_classes_are_padded(self):
    got = top_k.best(np.array([[[0.0, 1.0]]], np.float32))
    self.assertEqual(got["top5"].tolist(), [[[1, 0, -1, -1, -1]]])
    self.assertEqual(got["score"][0, 0, 2:].tolist(), [0, 0, 0])

  def test_order_is_that_of_the_logits(self):
    """Where float32 softmax cannot tell two classes apart."""
    logits = np.array([[1e-8, 2e-8, 100, 0, 0, 0]], np.float32)
    self.assertEqual(top_k.best(logits)["top5"][0, :3].tolist(), [2, 1, 0])


class ReduceTest(absltest.TestCase):
  def test_the_best_and_the_scores_of_the_true_class(self):
    logits = np.array([[0, 3, 1], [2, 0, 0]], np.float32)
    labels = np.array([1, 2], np.int32)
    got = top_k.reduce(logits, labels)
    want = top_k.best(logits) | proper_scores.of_logits(logits, labels)
    self.assertEqual(got.keys(), {"top5", "score", "nll", "brier"})
    for name, values in want.items():
      np.testing.assert_array_equal(got[name], values)


class ColumnsTest(absltest.TestCase):
  def test_padding_is_left_out(self):
    batch = inputs.Batch(
      image=np.zeros((3, 1, 1, 3), np.uint8),
      size=np.ones((3, 2), np.int32),
      mask=np.array([True, True, False]),
      example_id=["a", "b", ""],
      group_id=["g", "h", ""],
      frame=np.array([0, 4, 0], np.int32),
      label=np.array([1, 2, -1], np.int32),
    )
    outputs = {
      "top5": np.arange(15).reshape(3, 5),
      "score": np.ones((3, 5), np.float32),
    }
    got = top_k.columns(batch, outputs)
    self.assertEqual(got.keys(), {"top5", "score"})
    np.testing.assert_array_equal(got["top5"], outputs["top5"][:2])
    self.assertEqual({len(column) for column in got.values()}, {2})
    outputs["nll"] = outputs["brier"] = np.arange(3, dtype=np.float32)
    got = top_k.columns(batch, outputs)
    self.assertEqual(got["nll"].tolist(), [0, 1])
    self.assertEqual(got["brier"].tolist(), [0, 1])

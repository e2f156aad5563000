"""What the five best allow, against scores of whole softmaxes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds.eval.cells.submissions import top_five
from robust_tfds.eval.tasks.parts import proper_scores, top_k

_REDUCE = jax.jit(top_k.reduce)  # as a run does
_ENDS = {"nll": top_five.nll_ends, "brier": top_five.brier_ends}


def _softmaxes(classes, scale, rows=400):
  """True classes, and columns of random logits."""
  rng = np.random.default_rng(classes)
  logits = (scale * rng.normal(size=(rows, classes))).astype(np.float32)
  labels = rng.integers(0, classes, rows).astype(np.int32)
  # A half of the rows is right or nearly so.
  ranked = np.argsort(-logits, axis=1)
  near = rng.integers(0, min(classes, 7), rows)
  own = ranked[np.arange(rows), near]
  labels = np.where(np.arange(rows) % 2, own, labels).astype(np.int32)
  columns = _REDUCE(jnp.asarray(logits), jnp.asarray(labels))
  return labels, {k: np.asarray(v) for k, v in columns.items()}


def _allowed(name, labels, columns):
  """bool `[N]`: whether the values lie between the ends."""
  least, most = _ENDS[name](labels, columns["top5"], columns["score"])
  return (columns[name] >= least) & (columns[name] <= most)


class TopFiveTest(parameterized.TestCase):
  @parameterized.product(
    classes=(2, 3, 5, 6, 10, 1000), scale=(0.0, 0.1, 1.0, 5.0, 100.0)
  )
  def test_true_values_lie_between_the_ends(self, classes, scale):
    labels, columns = _softmaxes(classes, scale)
    self.assertTrue(_allowed("nll", labels, columns).all())
    self.assertTrue(_allowed("brier", labels, columns).all())

  @parameterized.parameters(3, 5, 10, 1000)
  def test_changed_values_of_listed_classes_do_not(self, classes):
    labels, columns = _softmaxes(classes, 3.0)
    listed = (columns["top5"] == labels[:, None]).any(axis=1)
    self.assertGreater(listed.sum(), 100)
    for name, factor in (("nll", 1.1), ("nll", 0.9), ("brier", 0.5)):
      changed = {**columns, name: columns[name] * factor}
      far = listed & (np.abs(changed[name] - columns[name]) > 0.05)
      self.assertGreater(far.sum(), 50)
      self.assertFalse(_allowed(name, labels, changed)[far].any())

  def test_a_class_that_is_not_listed_has_less_than_the_last(self):
    labels, columns = _softmaxes(1000, 3.0)
    listed = (columns["top5"] == labels[:, None]).any(axis=1)
    for name in ("nll", "brier"):
      changed = {**columns, name: 0 * columns[name] + 0.01}
      self.assertFalse(_allowed(name, labels, changed)[~listed].any())

  @pytest.mark.slow
  def test_views_of_a_video(self):
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.normal(size=(200, 4, 20)).astype(np.float32) * 3)
    labels = rng.integers(0, 20, 200).astype(np.int32)
    mean = np.exp(logits - jnp.log(jnp.exp(logits).sum(-1, keepdims=True)))
    mean = mean.mean(axis=1)
    columns = {
      k: np.asarray(v)
      for k, v in {
        **top_k.best(jnp.log(mean)),
        **proper_scores.of_views(logits, labels),
      }.items()
    }
    self.assertTrue(_allowed("nll", labels, columns).all())
    self.assertTrue(_allowed("brier", labels, columns).all())

  @parameterized.parameters(
    # label, nll, brier, whether they are allowed; no class has more than 0.7
    (4, np.inf, 1.58, True),  # a class without an output
    (4, 80, 1.58, True),
    (4, 5, 1.58, False),
    (2, np.inf, 1.58, True),  # listed, and its chance underflows
    (2, 90, 1.58, True),
    (2, 5, 1.58, False),
    (0, np.inf, 0.18, False),
    (0, 0.3567, 0.18, True),
    (1, 0.3567, 0.98, False),
    (1, 1.204, 0.98, True),
  )
  def test_few_classes_and_chances_of_0(self, label, nll, brier, expected):
    columns = {
      "top5": np.array([[0, 1, 2, -1, -1]], np.int32),
      "score": np.float32([[0.7, 0.3, 0, 0, 0]]),
      "nll": np.float32([nll]),
      "brier": np.float32([brier]),
    }
    labels = np.array([label])
    self.assertEqual(_allowed("nll", labels, columns)[0], expected)
    self.assertTrue(_allowed("brier", labels, columns)[0])

  def test_the_ends_of_a_brier_score(self):
    top5 = np.array([[0, 1, 2, 3, 4]])
    score = np.float32([[0.4, 0.2, 0.1, 0.1, 0.1]])
    squares = 0.16 + 0.04 + 0.03
    for label, ends in (
      (0, (squares - 0.16 + 0.36, squares - 0.16 + 0.36 + 0.01)),
      (7, (squares + 0.81, squares + 1 + 0.01)),
    ):
      got = top_five.brier_ends(np.array([label]), top5, score)
      np.testing.assert_allclose(np.concatenate(got), ends, atol=5e-4)

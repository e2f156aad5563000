"""NLL and Brier score: closed forms, float64, certainty, views, no output."""

import jax
import numpy as np
from absl.testing import parameterized

from eval.tasks.parts import proper_scores


def _float64(logits, label):
  """NLL and Brier score of a row by a loop."""
  z = np.asarray(logits, np.float64)
  chance = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
  others = np.delete(np.exp(z - z.max()), z.argmax())
  nll = z.max() - z[label] + np.log1p(others.sum())
  brier = sum((p - (k == label)) ** 2 for k, p in enumerate(chance))
  return nll, brier


def _of_logits(logits, labels):
  got = jax.jit(proper_scores.of_logits)(
    np.asarray(logits, np.float32), np.asarray(labels, np.int32)
  )
  return np.asarray(got["nll"]), np.asarray(got["brier"])


def _of_views(logits, labels):
  got = jax.jit(proper_scores.of_views)(
    np.asarray(logits, np.float32), np.asarray(labels, np.int32)
  )
  return np.asarray(got["nll"]), np.asarray(got["brier"])


class OfLogitsTest(parameterized.TestCase):
  @parameterized.parameters(
    # chances of 0.2, 0.3, 0.5
    (np.log([0.2, 0.3, 0.5]), 0, -np.log(0.2), 0.98),
    (np.log([0.2, 0.3, 0.5]), 2, -np.log(0.5), 0.38),
    ([7, 7, 7, 7], 1, np.log(4), 0.75),  # 9/16 + 3/16
    ([0, 0], 0, np.log(2), 0.5),
    ([3], 0, 0, 0),
  )
  def test_closed_forms(self, logits, label, nll, brier):
    got = _of_logits([logits], [label])
    np.testing.assert_allclose(got[0], [nll], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(got[1], [brier], rtol=1e-6, atol=1e-7)

  @parameterized.parameters(3, 10, 1000)
  def test_equals_float64(self, classes):
    rng = np.random.default_rng(classes)
    scale = np.array([0.1, 1, 10, 50, 300])[:, None]
    logits = np.repeat(scale, 8, axis=0) * rng.normal(size=(40, classes))
    logits = logits.astype(np.float32)
    labels = rng.integers(0, classes, 40)
    labels[:5] = logits[:5].argmax(axis=1)
    nll, brier = _of_logits(logits, labels)
    want = np.array([_float64(z, y) for z, y in zip(logits, labels)])
    np.testing.assert_allclose(nll, want[:, 0], rtol=2e-6, atol=1e-30)
    np.testing.assert_allclose(brier, want[:, 1], rtol=4e-6, atol=1e-12)

  def test_nearly_certain(self):
    """Far below the rounding of 1: -log of a float32 p is 0 here."""
    nll, brier = _of_logits([[20, 0], [0, 20], [1e6, 0]], [0, 0, 1])
    np.testing.assert_allclose(nll[:2], [np.exp(-20), 20], rtol=1e-6)
    np.testing.assert_allclose(brier[0], 2 * np.exp(-40), rtol=1e-5)
    self.assertEqual((nll[2], brier[2]), (1e6, 2))

  def test_a_class_without_an_output(self):
    logits = [[0, 0, -np.inf]] * 2
    nll, brier = _of_logits(logits, [0, 2])
    np.testing.assert_allclose(nll, [np.log(2), np.inf], rtol=1e-6)
    np.testing.assert_allclose(brier, [0.5, 1.5], rtol=1e-6)

  def test_padding_is_no_error(self):
    nll, brier = _of_logits([[0, 1]], [-1])
    self.assertTrue(np.isfinite([nll, brier]).all())

  def test_rows_alone_and_together(self):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(64, 10)).astype(np.float32)
    labels = rng.integers(0, 10, 64)
    whole = np.stack(_of_logits(logits, labels))
    for size in (1, 7, 16):
      parts = [
        np.stack(_of_logits(logits[i : i + size], labels[i : i + size]))
        for i in range(0, 64, size)
      ]
      np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


class OfViewsTest(parameterized.TestCase):
  def test_of_the_mean_of_softmaxes(self):
    rng = np.random.default_rng(1)
    logits = 5 * rng.normal(size=(20, 3, 12)).astype(np.float32)
    labels = rng.integers(0, 12, 20)
    z = logits.astype(np.float64)
    chance = np.exp(z) / np.exp(z).sum(axis=2, keepdims=True)
    chance = chance.mean(axis=1)
    nll, brier = _of_views(logits, labels)
    want = -np.log(chance[np.arange(20), labels])
    np.testing.assert_allclose(nll, want, rtol=3e-6, atol=1e-9)
    true = np.eye(12)[labels]
    want = np.square(chance - true).sum(axis=1)
    np.testing.assert_allclose(brier, want, rtol=3e-6)

  def test_one_view_is_its_softmax(self):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(20, 1, 12)).astype(np.float32)
    labels = rng.integers(0, 12, 20)
    nll, brier = _of_views(logits, labels)
    want = _of_logits(logits[:, 0], labels)
    np.testing.assert_array_equal(nll, want[0])
    np.testing.assert_allclose(brier, want[1], rtol=1e-6)

  @parameterized.parameters(
    ([[200, 0], [0, 0]], np.log(4)),  # no chance, then half: 1/4
    ([[200, 0], [200, 0]], 200.0),  # beyond float32's least number
    ([[0, -np.inf], [0, -np.inf]], np.inf),
    ([[0, 30], [0, 30]], np.exp(-30)),
  )
  def test_far_apart(self, logits, nll):
    got = _of_views([logits], [1])[0]
    np.testing.assert_allclose(got, [nll], rtol=1e-6)

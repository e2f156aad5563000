"""Matching and sampling: who is an object, who is chosen, by which key."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.detection import matching
from tests.models import drawn

_LIMITS = {"object_from": 0.5, "background_below": 0.4}


class MatchTest(absltest.TestCase):
  def test_limits(self):
    laid = jnp.array([[0, 0, 10, 10], [0, 0, 10, 22], [50, 50, 60, 60.0]])
    box, labels = (
      jnp.array([[0, 0, 10, 10.0], [0, 0, 0, 0]]),
      jnp.array([2, -1]),
    )
    overlap = matching.overlaps(laid, box, labels)
    self.assertEqual(overlap[:, 1].tolist(), [-1, -1, -1])
    _, label = matching.match(overlap, labels, **_LIMITS)
    # IoU 10 / 22 = 0.45 lies between background and object.
    self.assertEqual(label.tolist(), [2, -2, -1])
    none = jnp.array([-1, -1])
    overlap = matching.overlaps(laid, box, none)
    _, label = matching.match(overlap, none, **_LIMITS, least=0.0)
    self.assertEqual(label.tolist(), [-1, -1, -1])

  def test_nearest_boxes_are_objects(self):
    overlap = jnp.array([[0.35, 0.3], [0.2, 0.3], [0.35, 0], [0.0, 0]])
    labels = jnp.array([4, 7])
    _, label = matching.match(overlap, labels, **_LIMITS)
    self.assertEqual(label.tolist(), [-1, -1, -1, -1])
    index, label = matching.match(overlap, labels, **_LIMITS, least=0.0)
    # Its own best object is the first one's, which torchvision lets it keep.
    self.assertEqual(label.tolist(), [4, 7, 4, -1])
    self.assertEqual(index[:3].tolist(), [0, 1, 0])
    given = {**_LIMITS, "least": 0.0, "last_wins": True}
    _, label = matching.match(overlap, labels, **given)
    self.assertEqual(label.tolist(), [7, 7, 4, -1])
    _, label = matching.match(overlap, labels, **{**given, "least": 0.32})
    self.assertEqual(label.tolist(), [4, -1, 4, -1])

  def test_an_object_that_nothing_touches_has_no_boxes(self):
    overlap, labels = jnp.zeros((3, 1)), jnp.array([0])
    _, label = matching.match(overlap, labels, **_LIMITS, least=0.0)
    self.assertEqual(label.tolist(), [-1, -1, -1])


class SampleTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.labels = jnp.array([-1] * 60 + [3] * 30 + [-2] * 10)

  def _sample(self, seed, labels=None, count=40, objects=10):
    labels = self.labels if labels is None else labels
    how = {"count": count, "objects": objects}
    got = matching.sample(jax.random.key(seed), labels, **how)
    return tuple(map(np.asarray, got))

  def test_counts(self):
    index, chosen = self._sample(0)
    self.assertTrue(chosen.all())
    self.assertLen(set(index.tolist()), 40)
    label = np.asarray(self.labels)[index]
    self.assertEqual(label.tolist(), [3] * 10 + [-1] * 30)
    # Fewer objects: background fills up. Fewer of both: the rest is not chosen.
    few = self.labels.at[62:90].set(-2)
    index, chosen = self._sample(0, few)
    label = np.asarray(few)[index]
    self.assertEqual(label.tolist(), [3] * 2 + [-1] * 38)
    fewer = few.at[5:60].set(-2)
    index, chosen = self._sample(0, fewer)
    self.assertEqual(chosen.tolist(), [True] * 7 + [False] * 33)

  def test_all_of_them(self):
    index, chosen = self._sample(0, count=1000, objects=500)
    self.assertLen(index, 100)
    self.assertEqual(sorted(index[chosen].tolist()), list(range(90)))

  def test_the_key_decides(self):
    first, _ = self._sample(0)
    again, _ = self._sample(0)
    other, _ = self._sample(1)
    np.testing.assert_array_equal(first, again)
    self.assertNotEqual(sorted(first.tolist()), sorted(other.tolist()))
    often = np.zeros(100)
    for seed in range(60):
      index, chosen = self._sample(seed)
      often[index[chosen]] += 1
    self.assertEqual(often[90:].sum(), 0)
    # 60 draws of 30 of 60, and of 10 of 30: means 30 and 20.
    self.assertBetween(often[:60].min(), 12, 29)
    self.assertBetween(often[60:90].max(), 21, 38)


class RegionsTest(absltest.TestCase):
  def test_objects_own_boxes_are_among_them(self):
    rng = np.random.default_rng(0)
    proposals = drawn.boxes(rng, 30)
    boxes = np.concatenate([drawn.boxes(rng, 2) + 200, np.zeros((1, 4))])
    valid, labels = jnp.arange(30) < 20, jnp.array([5, 1, -1])
    got = matching.regions(
      jax.random.key(0),
      jnp.asarray(proposals),
      valid,
      jnp.asarray(boxes, jnp.float32),
      labels,
      overlap=0.5,
      nearest_too=False,
      count=40,
      objects=10,
      edge=0.0,
    )
    self.assertEqual(int(got.chosen.sum()), 22)
    self.assertEqual(got.given[:2].tolist(), [True, True])
    self.assertEqual(set(got.labels[:2].tolist()), {5, 1})
    self.assertEqual(int(got.given.sum()), 2)
    np.testing.assert_allclose(got.boxes[0], boxes[got.which[0]])
    self.assertTrue((np.asarray(got.labels)[22:] == matching.IGNORED).all())
    sides = np.asarray(got.boxes)[:, 2:] - np.asarray(got.boxes)[:, :2]
    self.assertTrue((sides > 0).all())

  def test_nearest_too(self):
    """mmdetection: an object takes its nearest boxes from another one."""
    proposals = jnp.array([[0, 0, 10, 10.0]])
    boxes = jnp.array([[0, 0, 10, 10.0], [0, 0, 10, 9.0]])
    for nearest_too, want in ((False, 0), (True, 0)):
      got = matching.regions(
        jax.random.key(0),
        proposals,
        jnp.array([True]),
        boxes,
        jnp.array([0, 1]),
        overlap=0.5,
        nearest_too=nearest_too,
        count=3,
        objects=3,
        edge=0.0,
      )
      own = got.labels[~np.asarray(got.given) & np.asarray(got.chosen)]
      self.assertEqual(own.tolist(), [want])


if __name__ == "__main__":
  absltest.main()

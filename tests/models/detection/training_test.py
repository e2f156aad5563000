"""Detectors in training: losses and rules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest

from models.detection import losses, train_rules
from models.detection.truth import Truth
from tests.models import drawn


def _truth(boxes, labels):
  boxes = jnp.asarray(boxes, jnp.float32)
  sizes = jnp.full((len(boxes), 2), 100)
  factor = jnp.ones((len(boxes), 4))
  return Truth(boxes, jnp.asarray(labels), None, None, factor, sizes)


def _bce(logit, yes):
  chance = 1 / (1 + np.exp(-logit))
  return -np.log(chance if yes else 1 - chance)


class PartsTest(absltest.TestCase):
  """Losses against their formulas, written out by hand."""

  def test_smooth_l1(self):
    got = losses.smooth_l1(
      jnp.array([[0.5, -3.0, 0, 1], [9.0, 9, 9, 9]]),
      jnp.array([[0.0, 0, 0, 0], [np.nan] * 4]),
      jnp.array([True, False]),
      1.0,
    )
    np.testing.assert_allclose(got, [0.125 + 2.5 + 0.5, 0])
    plain = losses.smooth_l1(
      jnp.array([[0.5, -3.0, 0, 1]]), jnp.zeros((1, 4)), jnp.array([True]), 0.0
    )
    np.testing.assert_allclose(plain, [4.5])

  def test_means_count_what_is_there(self):
    each = jnp.array([1.0, 2, 100])
    counted = jnp.array([True, True, False])
    self.assertEqual(float(losses.mean(each, counted)), 1.5)
    self.assertEqual(float(losses.mean(each, ~(each > 0))), 0)


class ProposalsTest(absltest.TestCase):
  def test_by_hand(self):
    """Two pictures of three anchors, of which five are chosen."""
    logits = np.array([[0.3, -1.0, 2.0], [1.5, -0.2, 0.7]])
    offsets = np.zeros((2, 3, 4))
    offsets[0, 0] = [0.05, 0, 0, 1.0]  # quadratic to 1 / 9, then linear
    is_object = np.array([[True, False, False], [True, False, False]])
    chosen = np.array([[True, True, False], [True, True, True]])
    got = losses.proposal_losses(
      *map(jnp.asarray, (logits, offsets, np.zeros((2, 3, 4)))),
      jnp.asarray(is_object),
      jnp.asarray(chosen),
      1 / 9,
    )
    every = [_bce(0.3, 1), _bce(-1, 0), _bce(1.5, 1), _bce(-0.2, 0)]
    every.append(_bce(0.7, 0))
    self.assertAlmostEqual(float(got["loss_objectness"]), np.mean(every), 5)
    far = 0.05**2 * 9 / 2 + 1 - 1 / 18
    self.assertAlmostEqual(float(got["loss_rpn_box_reg"]), far / 5, 6)


class RegionsTest(absltest.TestCase):
  def test_by_hand(self):
    logits = np.array([[1.0, 0, -1], [0.0, 2, 1]])
    cross, far = losses.region_losses(
      jnp.asarray(logits),
      jnp.array([[0.0, 0, 0, 2], [1.0, 1, 1, 1]]),
      jnp.zeros((2, 4)),
      jnp.array([2, 0]),
      jnp.array([True, False]),
      1.0,
    )
    want = [
      np.log(np.exp(logits[0]).sum()) + 1,
      np.log(np.exp(logits[1]).sum()) - 0,
    ]
    np.testing.assert_allclose(cross, want, rtol=1e-6)
    np.testing.assert_allclose(far, [1.5, 0])


class AnchorsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Three anchors; the first is the object of the first picture, the second is
    # ignored there (IoU 10 / 22), the third is background.
    self.laid = jnp.array([[0, 0, 10, 10], [0, 0, 10, 22], [50, 50, 60, 60.0]])
    self.truth = _truth(
      [[[0, 0, 10, 10]], [[0, 0, 10, 10], [0, 0, 0, 0]][:1]], [[1], [-1]]
    )
    self.logits = np.array(
      [
        [[0.5, 1.0], [9.0, 9.0], [-1.0, 0.2]],
        [[0.1, 0.0], [0.3, -2.0], [1.0, 1.0]],
      ]
    )
    self.offsets = np.zeros((2, 3, 4))
    self.offsets[0, 0] = [0.5, 0, -2, 0]

  def _got(self, **options):
    return losses.anchor_losses(
      jnp.asarray(self.logits),
      jnp.asarray(self.offsets),
      self.laid,
      jnp.ones((2, 3), bool),
      self.truth,
      weights=(1.0,) * 4,
      **{"beta": 0.0, "by_picture": True, **options},
    )

  def _focal(self, logit, yes):
    chance = 1 / (1 + np.exp(-logit))
    right = chance if yes else 1 - chance
    return (0.25 if yes else 0.75) * (1 - right) ** 2 * -np.log(right)

  @pytest.mark.slow
  def test_by_hand(self):
    first = self._focal(0.5, 0) + self._focal(1.0, 1)
    first += self._focal(-1.0, 0) + self._focal(0.2, 0)
    second = sum(self._focal(x, 0) for x in self.logits[1].ravel())
    got = self._got()
    want = (first + second) / 2
    self.assertAlmostEqual(float(got["classification"]), want, 5)
    self.assertAlmostEqual(float(got["bbox_regression"]), 2.5 / 2, 6)
    got = self._got(by_picture=False, beta=1.0)  # one object in the batch
    self.assertAlmostEqual(float(got["classification"]), first + second, 5)
    self.assertAlmostEqual(float(got["bbox_regression"]), 0.125 + 1.5, 6)

  def test_losses_fall_towards_the_truth(self):
    laid = jnp.asarray(drawn.boxes(np.random.default_rng(0), 50))
    truth = _truth(laid[None, :2], [[1, 0]])

    @jax.jit
    def loss(sharpness):
      logits = jnp.full((1, 50, 3), -sharpness)
      logits = logits.at[0, 0, 1].set(sharpness).at[0, 1, 0].set(sharpness)
      got = losses.anchor_losses(
        logits,
        jnp.zeros((1, 50, 4)),
        laid,
        jnp.ones((1, 50), bool),
        truth,
        weights=(1.0,) * 4,
        beta=1 / 9,
        by_picture=False,
      )
      return got["classification"]

    self.assertLess(loss(6.0), loss(1.0))
    self.assertLess(loss(1.0), loss(-1.0))


class TrainRulesTest(absltest.TestCase):
  """What differs between libraries, against the numbers of their configs."""

  def test_of_the_papers_zoo(self):
    """mmdetection 1.x: configs/faster_rcnn_r50_fpn_1x.py, retinanet_*."""
    got = train_rules.TRAIN_RULES["mmdetection1"]
    self.assertEqual(got.betas, (1 / 9, 1.0, 0.11))
    self.assertEqual((got.anchors, got.regions), (256, 512))
    self.assertEqual(
      (got.least, got.inside, got.nearest_too), (0.3, True, True)
    )
    self.assertEqual(got.candidates, (2000, 2000))
    self.assertEqual(got.masks, "resized")

  def test_of_torchvision(self):
    """Defaults of its constructors; RetinaNet's boxes have plain L1."""
    got = train_rules.TRAIN_RULES["torchvision"]
    self.assertEqual(got.betas, (1 / 9, 1 / 9, 0.0))
    self.assertEqual((got.least, got.inside, got.padded), (0.0, False, False))
    self.assertTrue(got.by_picture and got.constant_norms)

  def test_cascades(self):
    self.assertEqual(train_rules.STAGE_OVERLAPS, (0.5, 0.6, 0.7))
    self.assertEqual(train_rules.STAGE_WEIGHTS, (1.0, 0.5, 0.25))
    got = train_rules.TRAIN_RULES["mmdetection cascade"]
    self.assertEqual(got.betas[:2], (1 / 9, 1.0))

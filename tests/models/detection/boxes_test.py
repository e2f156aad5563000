"""Anchors, boxes, proposals and how they are matched."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models.detection import (
  anchors,
  boxes,
  label_ids,
  labels,
  mask_targets,
  matching,
  outputs,
  proposals,
  truth,
)
from models.detection.detector import DetectorSpec
from models.detection.rules import RULES
from models.detection.truth import Truth
from robust_tfds import errors
from tests.models import drawn
from tests.models.detection import by_hand

_TORCHVISION, _MMDET = RULES["torchvision"], RULES["mmdetection"]


class AnchorsTest(absltest.TestCase):
  """Anchors: places, shapes, and the two libraries' rounding."""

  def test_which_count(self):
    laid = np.array([[0, 0, 5, 5], [-1, 0, 5, 5], [0, 0, 5, 20.0]])
    got = anchors.inside(laid, np.array([[10, 10], [30, 5]]))
    want = [[True, False, False], [False, False, False]]
    np.testing.assert_array_equal(got, want)
    # Of places every 16 px in 10 x 40 px, padded to 32 x 64; two anchors each.
    got = anchors.inside_padded([(3, 5)], [16], 2, np.array([[10, 40]]))
    rows = np.arange(3)[:, None, None] < 2
    columns = np.arange(5)[:, None] < 4
    want = np.broadcast_to(rows & columns, (3, 5, 2)).reshape(1, -1)
    np.testing.assert_array_equal(got, want)

  def test_areas_and_ratios(self):
    got = anchors.shapes((32.0, 64.0), (0.5, 1.0, 2.0), 16, _MMDET)
    self.assertEqual(got.shape, (6, 4))
    sides = got[:, 2:] - got[:, :2]
    np.testing.assert_allclose(
      sides.prod(axis=1), [32**2, 64**2] * 3, rtol=1e-5
    )
    ratios = sides[:, 1] / sides[:, 0]
    np.testing.assert_allclose(ratios, np.repeat([0.5, 1, 2], 2), rtol=1e-5)
    whole = anchors.shapes((32.0, 64.0), (0.5, 1.0, 2.0), 16, _TORCHVISION)
    np.testing.assert_array_equal(whole, np.round(got))

  def test_fixed_strides_are_mmdetections(self):
    laid = ((4, 4),), ((8.0,),), (0.5,)
    got = anchors.grid((50, 50), *laid, strides=[16], rules=_MMDET)
    steps = got.reshape(4, 4, 4)
    np.testing.assert_array_equal(steps[0, 1] - steps[0, 0], [16, 0, 16, 0])
    np.testing.assert_array_equal(steps[3, 0] - steps[0, 0], [0, 48, 0, 48])
    self.assertNotEqual(float(got[0, 0]), np.round(got[0, 0]))

  def test_as_mmdetection_1(self):
    """Rounded, of whole pixels, around the middle of a cell."""
    rules = RULES["mmdetection1"]
    got = anchors.shapes((32.0,), (0.5, 1.0, 2.0), 4, rules)
    # base_size 4, scales [8]: middle 1.5, sides 32 / sqrt(ratio), 32 sqrt(ratio).
    want = [[-21, -9, 24, 12], [-14, -14, 17, 17], [-9, -21, 12, 24]]
    np.testing.assert_array_equal(got, want)
    laid = ((2, 3),), ((32.0,),), (1.0,)
    grid = anchors.grid((8, 12), *laid, strides=[4], rules=rules)
    np.testing.assert_array_equal(grid[1] - grid[0], [4, 0, 4, 0])
    np.testing.assert_array_equal(grid[3] - grid[0], [0, 4, 0, 4])


class BoxesTest(parameterized.TestCase):
  """Boxes and their suppression against plain loops."""

  def test_coding_there_and_back(self):
    rng = np.random.default_rng(0)
    one, two = drawn.boxes(rng, 20), drawn.boxes(rng, 20)
    weights = (10.0, 10.0, 5.0, 5.0)
    code = boxes.encode(one, two, weights)
    np.testing.assert_allclose(boxes.decode(code, two, weights), one, atol=1e-3)
    rules = RULES["mmdetection1"]
    code = boxes.encode(one, two, weights, rules.edge)
    back = boxes.decode(code, two, weights, rules)
    np.testing.assert_allclose(back, one, atol=1e-3)
    huge = boxes.decode(jnp.full((1, 4), 1e9), two[:1], weights)
    self.assertTrue(np.isfinite(np.asarray(huge)[0, :2]).all())

  def test_clipping(self):
    got = boxes.clip(jnp.array([[-5.0, -1, 300, 40]]), jnp.array([50, 200]))
    np.testing.assert_array_equal(got, [[0, 0, 200, 40]])

    got = boxes.clip(
      jnp.array([[-5.0, -1, 300, 90]]), jnp.array([50, 200]), 1.0
    )
    np.testing.assert_array_equal(got, [[0, 0, 199, 49]])

  def test_coding_of_last_pixels(self):
    """mmdetection 1.x's `delta2bbox`, by hand."""
    anchor = np.array([[10.0, 20, 29, 59]], np.float32)  # 20 x 40 px
    offsets = np.array([[0.1, -0.2, np.log(2), -9]], np.float32)
    rules = RULES["mmdetection1"]
    got = boxes.decode(offsets, anchor, (1.0, 1.0, 1.0, 1.0), rules)
    # Centre 19.5 + 2 and 39.5 - 8; sides 40 and 40 * 16 / 1000, the least.
    want = [[2, 31.5 - 0.32 + 0.5, 41, 31.5 + 0.32 - 0.5]]
    np.testing.assert_allclose(got, want, rtol=1e-5)
    huge = np.array([[0, 0, 9, 9]], np.float32)
    got = boxes.decode(huge, anchor, (1.0, 1.0, 1.0, 1.0), rules)
    np.testing.assert_allclose(got[0, 2] - got[0, 0] + 1, 20 * 62.5, rtol=1e-5)

  @parameterized.parameters(0, 1, 2)
  def test_suppression(self, seed):
    rng = np.random.default_rng(seed)
    box = drawn.boxes(rng, 60, 60)
    score = np.round(rng.random(60), 1).astype(np.float32)  # with ties
    label = rng.integers(0, 3, 60)
    valid = rng.random(60) < 0.8
    edge = [0.0, 1.0, 2.5][seed]
    want = []
    for i in np.argsort(-score, kind="stable"):
      if valid[i] and not any(
        label[i] == label[j] and by_hand.iou(box[i], box[j], edge) > 0.4
        for j in want
      ):
        want.append(i)
    index, kept = jax.jit(
      lambda *a: boxes.suppress(*a, threshold=0.4, most=30, edge=edge)
    )(box, score, label, valid)
    self.assertEqual(np.asarray(index)[np.asarray(kept)].tolist(), want[:30])


class LabelsTest(absltest.TestCase):
  """Which class each output of a head stands for."""

  def test_tables(self):
    self.assertEqual(labels.table("plain", 3), (0, 1, 2))
    self.assertEqual(labels.table("last", 3), (0, 1, 2, -1))
    self.assertEqual(labels.table("torchvision", 3), (-1, 0, 1, 2))
    coco = labels.table("torchvision", 80)
    self.assertEqual([coco[i] for i in (0, 1, 12, 13, 90)], [-1, 0, -1, 11, 79])
    self.assertEqual(sorted(set(coco)), list(range(-1, 80)))
    self.assertEqual(labels.table("first", 80), (-1, *range(80)))
    with self.assertRaisesRegex(ValueError, "plain, last"):
      labels.table("middle", 3)


_TWO = DetectorSpec(num_classes=2)


class LabelIdsTest(parameterized.TestCase):
  """Label ids of other packages: named, never guessed."""

  @parameterized.parameters(
    ("from_zero", {0: 0, 1: 1}),
    ("from_one", {0: -1, 1: 0, 2: 1}),
    ({7: 1, 9: 0, 3: -1}, {7: 1, 9: 0, 3: -1}),
  )
  def test_classes(self, labels, expected):
    self.assertEqual(label_ids.classes("mine", _TWO, labels), expected)

  @parameterized.parameters(
    (_TWO, None, "^mine got labels=None, expected .* 'coco91'"),
    (_TWO, "coco", "^mine got labels='coco', expected what its label ids"),
    (_TWO, "coco91", "which has 80 classes, and a spec with num_classes=2"),
    (_TWO, {1: 2}, r"^mine got labels \{1: 2\}, expected .* 0..1"),
    (_TWO, {}, r"^mine got labels \{\}, expected"),
  )
  def test_refusals(self, spec, labels, words):
    with self.assertRaisesRegex(errors.UserError, words):
      label_ids.classes("mine", spec, labels)

  def test_ids(self):
    known = {1: 0, 2: -1}
    got = label_ids.to_classes("mine", np.array([1, 2, 1]), known)
    self.assertEqual(got.tolist(), [0, -1, 0])
    with self.assertRaisesRegex(
      errors.UserError, r"^mine gave the label ids 0, 91, expected 1..2"
    ):
      label_ids.to_classes("mine", np.array([91, 1, 0]), known)


_BINS = 7


class MaskTargetsTest(absltest.TestCase):
  """What a mask head is to find, against loops."""

  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.masks = rng.random((1, 2, 20, 30)) > 0.5
    self.size, self.factor = (36, 50), (18 / 36, 25 / 50)
    self.boxes = np.array(
      [[[2.3, 4.1, 40.2, 33.9], [0, 0, 50, 36], [10.5, 3.2, 16.1, 9.9]]],
      np.float32,
    )
    self.index = np.array([[0, 1, 1]])

  def _got(self, style):
    truth = Truth(
      jnp.zeros((1, 2, 4)),
      jnp.zeros((1, 2), jnp.int32),
      jnp.asarray(self.masks),
      None,
      jnp.array([self.factor[::-1] * 2], jnp.float32),
      jnp.array([self.size]),
    )
    got = jax.jit(
      lambda boxes, index: mask_targets.box_targets(
        truth, boxes, index, bins=_BINS, style=style, canvas=(64, 64)
      )
    )(self.boxes, self.index)
    self.assertEqual(got.shape, (1, 3, _BINS, _BINS))
    return np.asarray(got[0])

  def _resized_masks(self):
    """The masks at the network's size: the nearest pixel before."""
    rows = np.floor(np.arange(self.size[0]) * self.factor[0]).astype(int)
    columns = np.floor(np.arange(self.size[1]) * self.factor[1]).astype(int)
    return self.masks[0][:, rows][:, :, columns].astype(np.float64)

  def _pooled(self, aligned):
    masks = self._resized_masks()
    return np.array(
      [
        by_hand.pooled(masks[i][..., None], b, 1, _BINS, 0, aligned, 0)[..., 0]
        for b, i in zip(self.boxes[0], self.index[0])
      ]
    )

  def test_mean_is_torchvisions(self):
    np.testing.assert_allclose(
      self._got("mean"), self._pooled(False), atol=1e-5
    )

  def test_rounded_is_mmdetection_2s(self):
    want = self._pooled(True)
    sure = np.abs(want - 0.5) > 1e-5
    np.testing.assert_array_equal(self._got("rounded")[sure], want[sure] >= 0.5)
    self.assertGreater(sure.mean(), 0.9)

  def test_resized_is_mmdetection_1s(self):
    """Cut out, then OpenCV's bilinear rule, written out."""
    masks, got = self._resized_masks(), self._got("resized")
    for n, (box, which) in enumerate(zip(self.boxes[0], self.index[0])):
      x0, y0, x1, y1 = np.floor(box).astype(int)
      part = masks[which][y0 : y1 + 1, x0 : x1 + 1]
      high, wide = y1 - y0 + 1, x1 - x0 + 1
      # Beyond the picture's last pixel there is none: it is repeated.
      part = np.pad(
        part, ((0, high - part.shape[0]), (0, wide - part.shape[1])), "edge"
      )
      for i, j in np.ndindex(_BINS, _BINS):
        y = np.clip((i + 0.5) * high / _BINS - 0.5, 0, high - 1)
        x = np.clip((j + 0.5) * wide / _BINS - 0.5, 0, wide - 1)
        value = 0.0
        for a in {int(y), min(int(y) + 1, high - 1)}:
          for b in {int(x), min(int(x) + 1, wide - 1)}:
            value += (1 - abs(y - a)) * (1 - abs(x - b)) * part[a, b]
        if abs(value - 0.5) > 1e-4:
          self.assertEqual(got[n, i, j], value >= 0.5)


_LIMITS = {"object_from": 0.5, "background_below": 0.4}


class MatchTest(absltest.TestCase):
  """Matching and sampling: who is an object, who is chosen, by which key."""

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


_BOXES = np.array([[0.5, 0.5, 0.2, 0.4], [0.25, 0.5, 0.5, 1.0]], np.float32)
_CORNERS = [[40, 15, 60, 35], [0, 0, 50, 50]]  # on 50 x 100 px


class OutputsTest(absltest.TestCase):
  """Outputs of torchvision's and DETR's form, computed by hand."""

  def test_boxes_with_labels(self):
    answer = {
      "boxes": np.array([[0, 0, 1, 2], [3, 4, 5, 6]], np.float32),
      "scores": np.array([0.5, 0.75], np.float32),
      "labels": np.array([2, 1]),
      "masks": np.arange(2.0)[:, None, None, None] + np.zeros((2, 1, 8, 8)),
    }
    got = outputs.from_boxes("mine", answer, {1: 0, 2: -1})
    self.assertEqual(got["boxes"].tolist(), [[3, 4, 5, 6]])
    self.assertEqual(got["scores"].tolist(), [0.75])
    self.assertEqual(got["classes"].tolist(), [0])
    np.testing.assert_array_equal(got["masks"], np.ones((1, 8, 8)))
    with self.assertRaisesRegex(errors.UserError, "^mine gave the label ids 2"):
      outputs.from_boxes("mine", answer, {1: 0})
    del answer["labels"]
    with self.assertRaisesRegex(errors.UserError, "without labels"):
      outputs.from_boxes("mine", answer, {1: 0})

  def test_no_object_is_the_last_logit(self):
    logits = np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    answer = {"logits": logits + 7, "pred_boxes": _BOXES}
    got = outputs.from_queries("mine", answer, {0: 1, 1: 0}, 2, (50, 100))
    np.testing.assert_allclose(got["scores"], [0.3, 0.1])
    self.assertEqual(got["classes"].tolist(), [0, 1])
    np.testing.assert_allclose(got["boxes"], _CORNERS, atol=1e-4)

  def test_without_a_no_object_every_label_is_a_detection(self):
    logits = np.array([[0.0, np.log(3)], [-np.log(3), 0.0]])
    answer = {"logits": logits, "pred_boxes": _BOXES}
    got = outputs.from_queries("mine", answer, {0: 0, 1: 1}, 2, (50, 100))
    np.testing.assert_allclose(got["scores"], [0.5, 0.75, 0.25, 0.5])
    self.assertEqual(got["classes"].tolist(), [0, 1, 0, 1])
    np.testing.assert_allclose(
      got["boxes"], np.repeat(_CORNERS, 2, 0), atol=1e-4
    )

  def test_logits_and_ids_that_do_not_fit(self):
    answer = {"logits": np.zeros((2, 5)), "pred_boxes": _BOXES}
    with self.assertRaisesRegex(errors.UserError, "gave 5 logits a box, exp"):
      outputs.from_queries("mine", answer, {0: 0, 1: 1}, 2, (50, 100))
    with self.assertRaisesRegex(errors.UserError, "has 2 labels, ids 0..1"):
      outputs.from_queries("mine", answer, {0: -1, 1: 0, 2: 1}, 2, (50, 100))


class ProposalsTest(absltest.TestCase):
  @pytest.mark.slow
  def test_mmdetection_1_as_written_out(self):
    """Of a picture on a canvas of 32 x 64 px, by `rpn_head.py` of 1.x."""
    rules, size = RULES["mmdetection1"], (30, 60)
    rpn = proposals.Proposals(rules=rules, width=4, rngs=nnx.Rngs(0))
    rng, shapes = np.random.default_rng(0), [(8, 16), (4, 8), (2, 4), (1, 2)]
    shapes.append((1, 1))
    levels = [rng.standard_normal((1, *s, 4), np.float32) for s in shapes]
    for last in (rpn.head.cls_logits, rpn.head.bbox_pred):
      shape = last.kernel.shape
      last.kernel[...] = 0.4 * rng.standard_normal(shape, np.float32)
    sizes = np.array([size], np.int32)
    got, valid = jax.jit(lambda *x: rpn(list(x), (32, 64), sizes))(*levels)

    found = []
    for i, level in enumerate(levels):
      y = by_hand.conv(level[0], getattr(getattr(rpn.head.conv, "0"), "0"))
      logits = by_hand.conv(y, rpn.head.cls_logits, relu=False).ravel()
      offsets = by_hand.conv(y, rpn.head.bbox_pred, relu=False).reshape(-1, 4)
      laid = [shapes[i]], [(32.0 * 2**i,)], (0.5, 1.0, 2.0)
      grid = anchors.grid((32, 64), *laid, strides=[4 << i], rules=rules)
      moved = [
        by_hand.decoded(o, b, np.ones(4), size) for o, b in zip(offsets, grid)
      ]
      chances = 1 / (1 + np.exp(-logits))
      kept = by_hand.best(np.array(moved), chances[:, None], 0, 0.7, 1.0)
      found += [(chances[n], moved[n]) for n, _ in kept]
    found.sort(key=lambda item: -item[0])
    self.assertGreater(len(found), 50)
    self.assertEqual(int(valid.sum()), len(found))
    want = np.array([box for _, box in found])
    np.testing.assert_allclose(got[0, : len(found)], want, atol=1e-3)


def _batch():
  return {
    "image": np.zeros((2, 20, 30, 3), np.uint8),
    "size": np.array([[20, 30], [10, 30]], np.int32),
    "boxes": np.array(
      [[[2, 4, 12, 14], [5, 5, 5, 9]], [[0, 0, 6, 6], [1, 1, 9, 9]]], np.float32
    ),
    "labels": np.array([[1, 1], [0, 7]], np.int32),
  }


def _of(batch, masks=False, edge=0.0):
  return truth.from_batch(
    "mine",
    batch,
    factor=np.full((2, 4), 0.5, np.float32),
    sizes=batch["size"] * 2,
    edge=edge,
    num_classes=3,
    masks=masks,
  )


class TruthTest(parameterized.TestCase):
  """What a batch says of its objects, and batches that are refused."""

  def test_boxes_in_the_networks_pixels(self):
    got = _of(_batch())
    self.assertEqual(got.boxes[0, 0].tolist(), [4, 8, 24, 28])
    # Without area, or of a class that the network has not: no object.
    self.assertEqual(got.labels.tolist(), [[1, -1], [0, -1]])
    last = _of(_batch(), edge=1.0)
    self.assertEqual(last.boxes[0, 0].tolist(), [4, 8, 22, 26])
    self.assertIsNone(got.masks)
    self.assertIsNone(got.semantic)

  def test_what_is_missing(self):
    batch = {"image": 0, "boxes": 0}
    with self.assertRaisesRegex(
      errors.UserError, "without size, labels, which"
    ):
      truth.check_keys("mine", batch, masks=False)
    with self.assertRaisesRegex(errors.UserError, "without masks, which"):
      truth.check_keys("mine", _batch(), masks=True)

  @parameterized.parameters(
    ("boxes", np.zeros((2, 2, 5)), r"boxes float32 \[2, 2, 5\]"),
    ("labels", np.zeros((2, 3), int), r"labels int32 \[2, 3\]"),
    ("masks", np.zeros((2, 2, 9, 9), bool), r"masks bool \[2, 2, 9, 9\]"),
    ("semantic", np.zeros((2, 9, 9), int), r"semantic int32 \[2, 9, 9\]"),
  )
  def test_refuses(self, key, value, message):
    with self.assertRaisesRegex(errors.UserError, f"mine got {message}"):
      _of({**_batch(), key: value}, masks=key == "masks")

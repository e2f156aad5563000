"""Our losses and steps against torchvision's own, all weights randomised.

What is sampled comes from our keys: torchvision's samplers are replaced by ours,
so that both learn from the same anchors and regions. torch computes in float64, to
which our losses in float32 are compared. In whole steps everything is sampled, and
ours are in float64 as well (`in_double`).
"""

import dataclasses
import functools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized
from flax import nnx

from models import variables as variables_lib
from models.detection import (
  labels,
  losses,
  matching,
  proposals,
  roi_heads,
  train_rules,
)
from models.detection.rules import RULES
from models.detection.truth import Truth
from robust_tfds import models
from tests.models import drawn, in_double
from tests.models.detection import oracles

_TOLERANCE = 1e-5
_ALL = 10**6  # of anchors and regions: more than there are
_BEST = (60, 40)  # proposals of a level and of a picture
_TRAIN = train_rules.TRAIN_RULES["torchvision"]
_CLASSES = 80
_EPSILON = 1e-5
# Small: torchvision's RoIAlign in Python samples whole masks for every bin.
_CANVAS, _REGIONS = (48, 64), 64


class _Chosen:
  """A sampler of torchvision's in whose place our choices stand."""

  def __init__(self, torch, keys, count, objects):
    self.torch, self.keys = torch, keys
    self.sample = functools.partial(
      matching.sample, count=count, objects=objects
    )

  def __call__(self, every):
    parts = [], []
    for key, label in zip(self.keys, every, strict=True):
      # Theirs: 0 is background, -1 ignored.
      own = label.numpy().astype(np.int32)
      own = np.where(own > 0, own, own - 1)
      index, chosen = map(np.asarray, self.sample(key, jnp.asarray(own)))
      for part, real in zip(parts, (own >= 0, own == -1)):
        mask = np.zeros(len(own), bool)
        mask[index[chosen]] = True
        part.append(self.torch.from_numpy(mask & real))
    return parts


def _truth(rng, masks=False):
  """Objects of two pictures, with masks small ones; float32."""
  boxes = drawn.boxes(rng, 10, 44 if masks else 110).reshape(2, 5, 4)
  own = rng.integers(0, _CLASSES, (2, 5)).astype(np.int32)
  own[0, 3:] = -1
  return Truth(
    jnp.asarray(boxes),
    jnp.asarray(own),
    jnp.asarray(rng.random((2, 5, *_CANVAS)) > 0.5) if masks else None,
    None,
    jnp.ones((2, 4)),
    jnp.array([[48, 64], [40, 56]]) if masks else jnp.array([[128, 160]] * 2),
  )


def _targets(torch, truth):
  """The same as torchvision takes it: ids of COCO from 1."""
  table = labels.table("torchvision", _CLASSES)
  out = []
  for i, label in enumerate(np.asarray(truth.labels)):
    real = label >= 0
    one = {
      "boxes": torch.from_numpy(np.asarray(truth.boxes[i])[real]).double(),
      "labels": torch.tensor([table.index(c) for c in label[real]]),
    }
    if truth.masks is not None:
      whole = np.asarray(truth.masks[i])[real].astype(np.uint8)
      high, wide = np.asarray(truth.sizes[i])
      one["masks"] = torch.from_numpy(whole[:, :high, :wide].copy())
    out.append(one)
  return out


def _double(torch, array):
  return torch.from_numpy(np.asarray(array)).double()


@pytest.mark.slow
class LossTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.torch = oracles.import_torch()
    from torchvision.models.detection import retinanet, roi_heads, rpn

    self.rpn, self.heads, self.retinanet = rpn, roi_heads, retinanet

  def _close(self, got, want):
    for name, value in want.items():
      print(f"{name}: {float(got[name]):.7g}, torchvision {float(value):.7g}")
      np.testing.assert_allclose(
        float(got[name]), float(value), rtol=_TOLERANCE, atol=_TOLERANCE
      )
      self.assertGreater(float(value), 0)

  def test_proposals(self):
    rng, torch, key = np.random.default_rng(0), self.torch, jax.random.key(3)
    truth = _truth(rng)
    anchors = np.concatenate(
      [drawn.boxes(rng, 3000, 140), np.asarray(truth.boxes).reshape(-1, 4) + 2]
    )
    logits = rng.standard_normal((2, len(anchors)), np.float32)
    offsets = rng.standard_normal((2, len(anchors), 4), np.float32)
    got = proposals.learned(
      key,
      jnp.asarray(logits),
      jnp.asarray(offsets),
      anchors,
      jnp.ones((2, len(anchors)), bool),
      truth,
      (1.0,) * 4,
      edge=0.0,
      train=_TRAIN,
    )
    theirs = self.rpn.RegionProposalNetwork(
      *(None, None, 0.7, 0.3, 256, 0.5, {}, {}, 0.7)
    )
    theirs.fg_bg_sampler = _Chosen(torch, jax.random.split(key, 2), 256, 128)
    every = [_double(torch, anchors)] * 2
    given = _targets(torch, truth)
    label, matched = theirs.assign_targets_to_anchors(every, given)
    self.assertGreater(int((label[0] == 1).sum()), 2)
    expected = theirs.box_coder.encode(matched, every)
    want = theirs.compute_loss(
      _double(torch, logits).reshape(-1, 1),
      _double(torch, offsets).reshape(-1, 4),
      label,
      expected,
    )
    self._close(got, dict(zip(("loss_objectness", "loss_rpn_box_reg"), want)))

  def test_heads(self):
    """Logits are functions of boxes: each side has its own order of them."""
    rng, torch, key = np.random.default_rng(1), self.torch, jax.random.key(5)
    truth = _truth(rng, masks=True)
    near = np.asarray(truth.boxes)[:, rng.integers(0, 5, 300)]
    boxes = near + rng.normal(0, 3, near.shape).astype(np.float32)
    boxes[..., 2:] = np.maximum(boxes[..., 2:], boxes[..., :2] + 2)
    boxes = np.clip(boxes, 0, np.array([56, 40, 56, 40]))
    boxes = boxes.astype(np.float32)
    valid = (boxes[..., 2:] - boxes[..., :2] >= 1).all(-1)
    weights = {
      name: rng.normal(0, 0.02, (4, size)).astype(np.float32)
      for name, size in (("logits", 91), ("offsets", 364), ("masks", 91))
    }
    bumps = rng.standard_normal((28, 28), np.float32)

    class Heads(roi_heads.RoIHeads):
      def _boxes(self, stage, levels, boxes):
        offsets = (boxes @ weights["offsets"]).reshape(*boxes.shape[:2], 91, 4)
        return boxes @ weights["logits"], offsets

      def _mask_logits(self, levels, boxes, output, stages):
        each = (boxes.reshape(-1, 4) @ weights["masks"])[
          jnp.arange(len(output)), output
        ]
        return [each[:, None, None] * bumps]

    ours = Heads(
      labels=labels.table("torchvision", _CLASSES),
      rules=RULES["torchvision"],
      masks=True,
      stages=1,
      most=10,
      threshold=0.05,
      width=2,
      hidden=2,
      rngs=nnx.Rngs(0),
    )
    with jax.default_matmul_precision("highest"):
      got = ours.losses(
        [],
        jnp.asarray(boxes),
        jnp.asarray(valid),
        _CANVAS,
        truth,
        dataclasses.replace(_TRAIN, regions=_REGIONS),
        key,
      )

    theirs = self.heads.RoIHeads(
      *(None, None, None, 0.5, 0.5, _REGIONS, 0.25, None, 0.05, 0.5, 100)
    )
    _, own, _ = jax.random.split(key, 3)
    keys = jax.random.split(own, 2)
    # Proposals that are none are not in their lists: ours draw past them.
    real = [
      np.append(valid[i], np.asarray(truth.labels[i]) >= 0) for i in (0, 1)
    ]
    theirs.fg_bg_sampler = _Padded(torch, keys, real)
    given = _targets(torch, truth)
    every = [_double(torch, boxes[i][valid[i]]) for i in (0, 1)]
    picked, index, label, expected = theirs.select_training_samples(
      every, given
    )
    self.assertGreater(int((label[0] > 0).sum()), 10)
    flat = torch.cat(picked)
    w = {name: _double(torch, value) for name, value in weights.items()}
    cross, far = self.heads.fastrcnn_loss(
      flat @ w["logits"], flat @ w["offsets"], label, expected
    )
    objects = [torch.where(one > 0)[0] for one in label]
    some = [one[i] for one, i in zip(picked, objects)]
    mask_logits = (torch.cat(some) @ w["masks"])[:, :, None, None]
    mask = self.heads.maskrcnn_loss(
      mask_logits * _double(torch, bumps),
      some,
      [one["masks"] for one in given],
      [one["labels"] for one in given],
      [one[i] for one, i in zip(index, objects)],
    )
    want = {"loss_classifier": cross, "loss_box_reg": far, "loss_mask": mask}
    self._close(got, want)

  def test_retinanet(self):
    rng, torch = np.random.default_rng(2), self.torch
    truth = _truth(rng)
    anchors = drawn.boxes(rng, 2000, 140)
    logits = rng.standard_normal((2, 2000, 91), np.float32)
    offsets = rng.standard_normal((2, 2000, 4), np.float32)
    outputs = labels.outputs(labels.table("torchvision", 80), truth.labels)
    got = losses.anchor_losses(
      jnp.asarray(logits),
      jnp.asarray(offsets),
      jnp.asarray(anchors),
      jnp.ones((2, 2000), bool),
      truth._replace(labels=jnp.where(truth.labels >= 0, outputs, -1)),
      weights=(1.0,) * 4,
      beta=_TRAIN.betas[2],
      by_picture=_TRAIN.by_picture,
    )
    theirs = oracles.detector(
      torch, "retinanet_resnet50_fpn", "resnet50", 64, 96
    )
    every = {
      "cls_logits": _double(torch, logits),
      "bbox_regression": _double(torch, offsets),
    }
    want = theirs.compute_loss(
      _targets(torch, truth), every, [_double(torch, anchors)] * 2
    )
    self._close(got, want)


class _Padded(_Chosen):
  """As `_Chosen`, where our lists have more than theirs."""

  def __init__(self, torch, keys, real):
    super().__init__(torch, keys, _REGIONS, _REGIONS // 4)
    self.real = real

  def __call__(self, every):
    longer = []
    for label, real in zip(every, self.real, strict=True):
      whole = np.full(len(real), -1)
      whole[real] = label.numpy()
      longer.append(self.torch.from_numpy(whole))
    return [
      [mask[self.torch.from_numpy(real)] for mask, real in zip(part, self.real)]
      for part in super().__call__(longer)
    ]


@pytest.mark.slow
class StepTest(parameterized.TestCase):
  """One step of gradient descent of a whole detector, everything sampled."""

  @parameterized.parameters(
    ("fasterrcnn_resnet50_fpn", True), ("retinanet_resnet50_fpn", False)
  )
  def test_one_step(self, name, frozen_norms):
    torch = oracles.import_torch()
    module = oracles.detector(torch, name, "resnet50", 96, 128)
    gains = {"bbox": 0.2, "cls_logits": 0.3, "cls_score": 0.3}
    oracles.randomise(torch, module, 0, gains, {})
    module = module.double().train()
    model = models.get(name).with_fields({"short_px": 96, "long_px": 128})
    if (
      not frozen_norms
    ):  # torch trains no norm whose epsilon is 0, as theirs is
      model = drawn.with_options(model, epsilon=_EPSILON)
    for part in module.modules():
      if isinstance(part, torch.nn.BatchNorm2d):
        part.momentum = 0.1
        part.eps = part.eps if frozen_norms else _EPSILON
        part.train(not frozen_norms)
    images, sizes = oracles.photographs()
    truth = _truth(np.random.default_rng(0))
    rate, batch = (
      0.01,
      {
        "image": images,
        "size": sizes,
        "boxes": truth.boxes,
        "labels": truth.labels,
      },
    )
    total = train_rules.TrainRules(
      **{
        **dataclasses.asdict(_TRAIN),
        "anchors": 2 * _ALL,
        "regions": 4 * _ALL,
        "candidates": _BEST,
      }
    )
    before = in_double.arrays(module)
    with (
      in_double.entered(model) as exact,
      mock.patch.dict(train_rules.TRAIN_RULES, {"torchvision": total}),
    ):

      @jax.jit
      def step(variables):
        def loss(variables):
          every, moved = exact.apply_train(
            variables, batch, jax.random.key(0), frozen_norms=frozen_norms
          )
          return sum(every.values()), (every, moved)

        gradient, (every, moved) = jax.grad(loss, has_aux=True)(variables)
        return every, moved, gradient

      start = in_double.loaded(model, before)
      ours, *moved = jax.tree.map(np.asarray, step(start))
    # Statistics are inputs of a frozen norm, but no parameters.
    after, flat = map(variables_lib.flatten, moved)
    for path in set(flat) - model.statistics():
      after[path] = after[path] - rate * flat[path]
    theirs = self._torch_step(torch, module, truth, rate, frozen_norms)
    for key, value in theirs.items():
      print(f"{key}: {float(ours[key]):.7g}, torchvision {value:.7g}")
      np.testing.assert_allclose(ours[key], value, rtol=_TOLERANCE)
    end = in_double.arrays(module)
    in_double.check_moves(self, model, variables_lib.nest(after), (before, end))
    first = variables_lib.flatten(start)
    for path in model.frozen_paths(frozen_norms=frozen_norms):
      np.testing.assert_array_equal(after[path], first[path])

  def _torch_step(self, torch, module, truth, rate, frozen_norms):
    """Losses by name; the module is after the step."""
    if hasattr(module, "rpn"):
      module.rpn._pre_nms_top_n = dict.fromkeys(
        ("training", "testing"), _BEST[0]
      )
      module.rpn._post_nms_top_n = dict.fromkeys(
        ("training", "testing"), _BEST[1]
      )
      module.rpn.fg_bg_sampler.batch_size_per_image = 2 * _ALL
      module.roi_heads.fg_bg_sampler.batch_size_per_image = 4 * _ALL
    pixels = [(255 * one.double()).round() for one in oracles.pictures(torch)]
    pictures = [one / 255 for one in pixels]
    losses = module(pictures, _targets(torch, truth))
    sum(losses.values()).backward()
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    fixed = {id(p) for m in norms for p in m.parameters()}
    with torch.no_grad():
      for parameter in module.parameters():
        if not frozen_norms or id(parameter) not in fixed:
          parameter -= rate * parameter.grad
    return {key: value.item() for key, value in losses.items()}

"""R-FCN with ResNet-101 (Dai et al. 2016, arXiv:1605.06409).

It is the single-frame network of Flow-Guided Feature Aggregation (Zhu et al.
2017, arXiv:1703.10025; msracver/Flow-Guided-Feature-Aggregation): ILSVRC 2015's
30 classes of videos, stride 16, half of the last features for proposals, the
other half for position-sensitive maps.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.detection import anchors as anchors_lib
from models.detection import (
  backbone,
  losses,
  matching,
  ps_roi_pool,
  roi_heads,
  train_rules,
)
from models.detection import boxes as boxes_lib
from models.detection import labels as labels_lib
from models.detection import proposals as proposals_lib
from models.detection.detector import DetectorNetwork
from models.detection.losses import Losses
from models.detection.rules import RULES
from models.detection.spec import DetectorSpec
from models.detection.truth import Truth
from models.family import Family
from models.family import Rules as NameRules
from models.spec import Variant

_SPEC = DetectorSpec(
  short_px=600,
  long_px=1000,
  round_sides=True,
  scale=1.0,
  mean=(123.15, 115.90, 103.06),
  std=(1.0, 1.0, 1.0),
  num_classes=30,
  label_space="imagenet_vid",
  detections=300,
  parameters=62_383_597,
  weights="fgfa",
  source="msracver/Flow-Guided-Feature-Aggregation, experiments/fgfa_rfcn/cfgs",
)
VARIANTS = {"rfcn_resnet101": Variant(_SPEC)}
_STRIDE, _BINS = 16, 7
_SCALES, _RATIOS = (8, 16, 32), (0.5, 1.0, 2.0)
_EACH = len(_SCALES) * len(_RATIOS)
_CANDIDATES, _KEPT = 6000, 300
_HARDEST = 128  # regions of a picture that the heads learn from
# Weights of the box coding: the inverses of ANCHOR_STDS and BBOX_STDS.
_RPN_WEIGHTS = (10.0, 10.0, 2.5, 2.5)
_WEIGHTS = (10.0, 10.0, 5.0, 5.0)
_WIDTH = 1024  # channels of the last features
_EPSILON = 2e-5  # epsilon of the frozen normalisation
_LETTERS = "abc"
# MXNet's names, as `mxnet.nd.load` gives them, in an .npz.
CHECKPOINTS: dict[str, NameRules] = {
  "fgfa": (
    (r"^(arg|aux):", ""),
    (r"_(weight|bias)$", r".\1"),
    (r"_gamma$", ".weight"),
    (r"_beta$", ".bias"),
    (r"_moving_(mean|var)$", r".running_\1"),
    (r"^(bn_)?conv1\.", r"body.\1conv1."),
    (r"bn_conv1", "bn1"),
    *((rf"^(res|bn){n + 1}", rf"\1.layer{n}.") for n in range(1, 5)),
    (r"^(res|bn)\.(layer\d)\.b(\d+)_", r"\1.\2.\3_"),
    *(
      (rf"^(res|bn)\.(layer\d)\.{letter}_", rf"\1.\2.{i}_")
      for i, letter in enumerate(_LETTERS)
    ),
    *(
      rule
      for i, letter in enumerate(_LETTERS, 1)
      for rule in (
        (rf"^res\.(.*)_branch2{letter}\.", rf"body.\1.conv{i}."),
        (rf"^bn\.(.*)_branch2{letter}\.", rf"body.\1.bn{i}."),
      )
    ),
    (r"^res\.(.*)_branch1\.", r"body.\1.downsample.0."),
    (r"^bn\.(.*)_branch1\.", r"body.\1.downsample.1."),
  )
}
# The flow network and the embedding, for several frames, and training state.
_OF_FRAMES = (
  r"^(?:arg:|aux:)?(?:em_conv|flow_conv|conv[2-6]|deconv|upsample|Convolution)"
)


class Network(DetectorNetwork):
  """A detector with a body of stride 16, proposals, and maps from which boxes
  read bins.
  """

  rules = RULES["fgfa"]
  training = "fgfa"

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network; `num_classes` counts objects alone."""
    self.body = backbone.Body(
      name="cafferesnet101", epsilon=_EPSILON, rngs=rngs
    )
    _widen(self.body.layer4)
    self.feat_conv_3x3 = layers.conv(
      backbone.STAGES[-1], _WIDTH, 3, 1, 6, rngs=rngs
    )
    self.feat_conv_3x3.kernel_dilation = (6, 6)
    half, bins = _WIDTH // 2, _BINS**2
    outputs = num_classes + 1
    self.rpn_cls_score = layers.conv(half, 2 * _EACH, 1, rngs=rngs)
    self.rpn_bbox_pred = layers.conv(half, 4 * _EACH, 1, rngs=rngs)
    self.rfcn_cls = layers.conv(half, bins * outputs, 1, rngs=rngs)
    # Boxes of the background, which are unused, and of objects.
    self.rfcn_bbox = layers.conv(half, bins * 8, 1, rngs=rngs)
    self.labels = labels_lib.table(self.rules.labels, num_classes)

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """Return detections, see `DetectorNetwork`."""
    of_boxes, of_maps = self._features(x)
    boxes, valid = self._proposals(*self._first(of_boxes), sizes)
    logits, offsets = self._second(of_maps, boxes)
    better = boxes_lib.decode(offsets, boxes, _WEIGHTS, self.rules)
    clipped = jax.vmap(lambda b, s: boxes_lib.clip(b, s, self.rules.edge))
    detections, _ = roi_heads.thinned(
      clipped(better, sizes)[:, :, None],
      jax.nn.softmax(logits),
      valid,
      self.rules.edge / factor[:, :2],
      labels=self.labels,
      smallest_px=self.rules.smallest_px[1],
      threshold=1e-3,
      overlap=0.3,
      most=_SPEC.detections,
    )
    return detections

  def losses(self, x: jax.Array, truth: Truth, key: jax.Array) -> Losses:
    """Return the losses; the heads learn from the hardest regions.

    This is online hard example mining (Shrivastava et al. 2016,
    arXiv:1604.03540): among all proposals and the objects' own boxes, those
    with the largest losses are taken.
    """
    of_boxes, of_maps = self._features(x)
    logits, offsets = self._first(of_boxes)
    anchors = _anchors(of_boxes)
    batch, of_anchors, of_regions = len(x), *jax.random.split(key)
    every = proposals_lib.learned(
      of_anchors,
      logits.reshape(batch, -1),
      offsets.reshape(batch, -1, 4),
      anchors,
      anchors_lib.inside(anchors, truth.sizes),
      truth,
      _RPN_WEIGHTS,
      edge=self.rules.edge,
      train=self.train_rules,
    )
    fixed = jax.lax.stop_gradient((logits, offsets))
    chosen = self._regions(fixed, truth, of_regions)
    cross, far = self._region_losses(of_maps, chosen, truth)
    hard = jnp.where(chosen.chosen, cross + far, -1.0)
    _, index = jax.lax.top_k(hard, min(_HARDEST, hard.shape[1]))
    cross, far, real = (
      jnp.take_along_axis(part, index, 1)
      for part in (cross, far, chosen.chosen)
    )
    every["loss_classifier"] = losses.mean(cross, real)
    every["loss_box_reg"] = losses.mean(far, real)
    return every

  def _regions(
    self, first: tuple[jax.Array, jax.Array], truth: Truth, key: jax.Array
  ) -> matching.Regions:
    """Return all proposals and objects, matched."""
    boxes, valid = self._proposals(*first, truth.sizes)
    count = boxes.shape[1] + truth.boxes.shape[1]

    def choose(*each: jax.Array) -> matching.Regions:
      return matching.regions(
        *each,
        overlap=train_rules.STAGE_OVERLAPS[0],
        nearest_too=self.train_rules.nearest_too,
        count=count,
        objects=count,
        edge=self.rules.edge,
      )

    keys = jax.random.split(key, len(boxes))
    return jax.vmap(choose)(keys, boxes, valid, truth.boxes, truth.labels)

  def _region_losses(
    self, maps: jax.Array, chosen: matching.Regions, truth: Truth
  ) -> tuple[jax.Array, jax.Array]:
    """Compute the losses of classes and of boxes, float32 `[B, N]` each."""
    logits, offsets = self._second(maps, chosen.boxes)
    own = jnp.take_along_axis(truth.boxes, chosen.which[..., None], 1)
    return losses.region_losses(
      logits,
      offsets,
      boxes_lib.encode(own, chosen.boxes, _WEIGHTS, self.rules.edge),
      labels_lib.outputs(self.labels, chosen.labels),
      chosen.labels >= 0,
      self.train_rules.betas[1],
    )

  def _features(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return features `[B, H, W, 512]` for proposals, and for maps."""
    features = layers.relu(self.feat_conv_3x3(self.body(x)[-1]))
    of_boxes, of_maps = jnp.split(features, 2, axis=-1)
    return of_boxes, of_maps

  def _first(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return logits `[B, H, W, 9]` of objects and offsets `[B, H, W, 36]`."""
    scores = self.rpn_cls_score(features).astype(jnp.float32)
    logits = scores[..., _EACH:] - scores[..., :_EACH]
    return logits, self.rpn_bbox_pred(features).astype(jnp.float32)

  def _second(
    self, maps: jax.Array, boxes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits `[B, N, outputs]` and offsets `[B, N, 4]` of objects."""
    logits = self._vote(self.rfcn_cls(maps), boxes)
    return logits, self._vote(self.rfcn_bbox(maps), boxes)[..., 4:]

  def _proposals(
    self, logits: jax.Array, offsets: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return proposals `[B, 300, 4]` by decreasing objectness, and which are valid."""
    batch, rows, columns, _ = logits.shape
    anchors = jnp.asarray(_anchors(logits))
    whole = sizes // _STRIDE  # features of the picture alone
    inside = (jnp.arange(rows)[:, None] < whole[:, 0, None, None]) & (
      jnp.arange(columns)[None] < whole[:, 1, None, None]
    )
    logits = jnp.where(inside[..., None], logits, -jnp.inf).reshape(batch, -1)
    offsets = offsets.reshape(batch, -1, 4)
    best, index = jax.lax.top_k(logits, min(_CANDIDATES, logits.shape[1]))
    chosen = jnp.take_along_axis(offsets, index[..., None], axis=1)
    decoded = (chosen, anchors[index], _RPN_WEIGHTS, self.rules)
    boxes = boxes_lib.decode(*decoded)
    level = jnp.zeros(best.shape[1], jnp.int32)
    return proposals_lib.thinned(best, boxes, level, sizes, self.rules, _KEPT)

  def _vote(self, maps: jax.Array, boxes: jax.Array) -> jax.Array:
    """Compute the mean of a box's bins: float32 `[B, N, C]`."""
    pooled = ps_roi_pool.pool(maps, boxes, _BINS, stride=_STRIDE)
    return pooled.astype(jnp.float32).mean((2, 3))


def _widen(stage: layers.Stack) -> None:
  """Replace the last stage's stride by dilations."""
  blocks = backbone.blocks_of(stage)
  blocks[0].conv1.strides = (1, 1)
  getattr(blocks[0].downsample, "0").strides = (1, 1)
  for block in blocks:
    block.conv2.kernel_dilation = (2, 2)
    block.conv2.padding = ((2, 2), (2, 2))


def _anchors(features: jax.Array) -> np.ndarray:
  """Return the anchors of all places of `[B, H, W, C]`: float32 `[A, 4]`."""
  shape = features.shape[1], features.shape[2]
  every = anchors_lib.laid(_cell(), shape, (_STRIDE, _STRIDE))
  return every.astype(np.float32)


def _cell() -> np.ndarray:
  """Return the anchors of the first place, `[9, 4]`, as in generate_anchor.py.

  Their sides are rounded before they are scaled.
  """
  wide = np.round(np.sqrt(_STRIDE**2 / np.array(_RATIOS)))
  high = np.round(wide * _RATIOS)
  sides = np.stack([wide, high], 1)[:, None] * np.array(_SCALES)[:, None]
  sides = sides.reshape(-1, 2)
  middle = (_STRIDE - 1) / 2
  half = (sides - 1) / 2
  return np.concatenate([middle - half, middle + half], 1).astype(np.float32)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=(_OF_FRAMES, r"_test$"),
  stages=backbone.FROZEN_TOGETHER,
)

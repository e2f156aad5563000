"""R-FCN with ResNet-101 (Dai et al. 2016, arXiv:1605.06409).

As the network of one frame in Flow-Guided Feature Aggregation (Zhu et al. 2017,
arXiv:1703.10025; msracver/Flow-Guided-Feature-Aggregation): ILSVRC 2015's 30
classes of videos, stride 16, a half of the last features for proposals, the other
for position-sensitive maps.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.detection import anchors as anchors_lib
from robust_tfds.models.detection import backbone, ps_roi_pool, roi_heads
from robust_tfds.models.detection import boxes as boxes_lib
from robust_tfds.models.detection import labels as labels_lib
from robust_tfds.models.detection import proposals as proposals_lib
from robust_tfds.models.detection.detector import DetectorNetwork
from robust_tfds.models.detection.rules import RULES
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.family import Family
from robust_tfds.models.family import Rules as NameRules
from robust_tfds.models.spec import Variant

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
# Of the box coding: the inverses of ANCHOR_STDS and BBOX_STDS.
_RPN_WEIGHTS = (10.0, 10.0, 2.5, 2.5)
_WEIGHTS = (10.0, 10.0, 5.0, 5.0)
_WIDTH = 1024  # of the last features
_EPSILON = 2e-5  # of the frozen normalisation
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
# The flow network and the embedding, of several frames; what training keeps.
_OF_FRAMES = (
  r"^(?:arg:|aux:)?(?:em_conv|flow_conv|conv[2-6]|deconv|upsample|Convolution)"
)


class Network(DetectorNetwork):
  """A body of stride 16, proposals, and maps of which boxes read bins."""

  rules = RULES["fgfa"]

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """`num_classes` counts objects alone."""
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
    # Boxes of the background, which nothing reads, and of objects.
    self.rfcn_bbox = layers.conv(half, bins * 8, 1, rngs=rngs)
    self.labels = labels_lib.table(self.rules.labels, num_classes)

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """See `DetectorNetwork`."""
    features = layers.relu(self.feat_conv_3x3(self.body(x)[-1]))
    of_boxes, of_maps = jnp.split(features, 2, axis=-1)
    boxes, valid = self._proposals(of_boxes, sizes)
    logits = self._vote(self.rfcn_cls(of_maps), boxes)
    offsets = self._vote(self.rfcn_bbox(of_maps), boxes)[..., 4:]
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

  def _proposals(
    self, features: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """float32 `[B, 300, 4]` by decreasing objectness, and which are valid."""
    batch, rows, columns, _ = features.shape
    scores = self.rpn_cls_score(features).astype(jnp.float32)
    logits = scores[..., _EACH:] - scores[..., :_EACH]
    whole = sizes // _STRIDE  # features of the picture alone
    inside = (jnp.arange(rows)[:, None] < whole[:, 0, None, None]) & (
      jnp.arange(columns)[None] < whole[:, 1, None, None]
    )
    logits = jnp.where(inside[..., None], logits, -jnp.inf).reshape(batch, -1)
    offsets = self.rpn_bbox_pred(features).astype(jnp.float32)
    offsets = offsets.reshape(batch, -1, 4)
    step = _STRIDE, _STRIDE
    anchors = jnp.asarray(anchors_lib.laid(_cell(), (rows, columns), step))
    best, index = jax.lax.top_k(logits, min(_CANDIDATES, logits.shape[1]))
    chosen = jnp.take_along_axis(offsets, index[..., None], axis=1)
    decoded = (chosen, anchors[index], _RPN_WEIGHTS, self.rules)
    boxes = boxes_lib.decode(*decoded)
    level = jnp.zeros(best.shape[1], jnp.int32)
    return proposals_lib.thinned(best, boxes, level, sizes, self.rules, _KEPT)

  def _vote(self, maps: jax.Array, boxes: jax.Array) -> jax.Array:
    """The mean of a box's bins: float32 `[B, N, C]`."""
    pooled = ps_roi_pool.pool(maps, boxes, _BINS, stride=_STRIDE)
    return pooled.astype(jnp.float32).mean((2, 3))


def _widen(stage: layers.Stack) -> None:
  """The last stage with dilations in the place of its stride."""
  blocks = backbone.blocks_of(stage)
  blocks[0].conv1.strides = (1, 1)
  getattr(blocks[0].downsample, "0").strides = (1, 1)
  for block in blocks:
    block.conv2.kernel_dilation = (2, 2)
    block.conv2.padding = ((2, 2), (2, 2))


def _cell() -> np.ndarray:
  """The anchors of the first place, `[9, 4]`, as generate_anchor.py has them.

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
)

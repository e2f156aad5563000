"""Inception v4 and Inception-ResNet v2 (Szegedy et al. 2017, arXiv:1602.07261).

The public checkpoints are TensorFlow's, ported in pretrained-models.pytorch;
their files have a background class before the 1000, which is dropped.
"""

import dataclasses
import functools

import jax
from flax import nnx

from models import layers
from models.classification.inceptionv3 import conv_norm
from models.family import Family, Rules
from models.spec import Spec, Variant

_SPEC = Spec(
  input_px=299,
  resize_px=341,  # floor(299 / 0.875), pretrainedmodels' TransformImage
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  weights="cadene",
  source="pretrainedmodels 0.7.4 inceptionv4.py, inceptionresnetv2.py",
)
# timm 1.0.31, inception_resnet_v2.tf_in1k: crop_pct 0.8975.
_TIMM = dataclasses.replace(
  _SPEC,
  resize_px=333,
  interpolation="bicubic",
  weights="timm",
  source="timm 1.0.31 inception_resnet_v2.py (tf_in1k)",
)
VARIANTS = {
  "inceptionv4": Variant(
    dataclasses.replace(_SPEC, parameters=42_679_816), {"residual": False}
  ),
  "inceptionresnetv2": Variant(
    dataclasses.replace(_SPEC, parameters=55_843_464), {"residual": True}
  ),
  "inception_resnet_v2": Variant(
    dataclasses.replace(_TIMM, parameters=55_843_464), {"residual": True}
  ),
}
CHECKPOINTS: dict[str, Rules] = {
  "cadene": (),
  "timm": ((r"^classif\.", "last_linear."),),
}
ORACLES = {name: f"pretrainedmodels:{name}" for name in VARIANTS} | {
  "inception_resnet_v2": "timm:inception_resnet_v2"
}

# (outputs, kernel, stride, padding) of a convolution.
Step = tuple[int, layers.Pair, int, layers.Pair]
_avg = functools.partial(
  layers.avg_pool, window=3, stride=1, padding=1, count_padding=False
)
_max = functools.partial(layers.max_pool, window=3, stride=2)


def _point(outputs: int) -> Step:
  return (outputs, 1, 1, 0)


def _three(outputs: int) -> Step:
  return (outputs, 3, 1, 1)


def _half(outputs: int) -> Step:
  return (outputs, 3, 2, 0)


def _row(outputs: int, length: int = 7) -> Step:
  return (outputs, (1, length), 1, (0, length // 2))


def _column(outputs: int, length: int = 7) -> Step:
  return (outputs, (length, 1), 1, (length // 2, 0))


def _chain(inputs: int, *steps: Step, rngs: nnx.Rngs) -> nnx.Module:
  """Chain convolutions: a single one by itself, several as a stack, as the
  names require.
  """
  convs = []
  for outputs, kernel, stride, padding in steps:
    convs.append(conv_norm(inputs, outputs, kernel, stride, padding, rngs=rngs))
    inputs = outputs
  return convs[0] if len(convs) == 1 else layers.Stack(convs)


def _parallel(
  inputs: int,
  *branches: tuple[Step, ...] | layers.Step,
  pooled: int = 0,
  rngs: nnx.Rngs,
) -> layers.Parallel:
  """Build branch0, branch1, ...; `pooled` adds an average pooling, projected."""
  chain = functools.partial(_chain, inputs, rngs=rngs)
  paths: list[layers.Step] = [
    chain(*b) if isinstance(b, tuple) else b for b in branches
  ]
  if pooled:
    paths.append(layers.Stack((_avg, chain(_point(pooled)))))
  return layers.Parallel({f"branch{i}": b for i, b in enumerate(paths)})


class BlockC(nnx.Module):
  """The block of Figure 6: the last convolutions of two branches are split in two."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Create the block with 1536 input and output channels."""
    chain = functools.partial(_chain, rngs=rngs)
    self.branch0 = chain(1536, _point(256))
    self.branch1_0 = chain(1536, _point(384))
    self.branch1_1a = chain(384, _row(256, 3))
    self.branch1_1b = chain(384, _column(256, 3))
    self.branch2_0 = chain(1536, _point(384))
    self.branch2_1 = chain(384, _column(448, 3))
    self.branch2_2 = chain(448, _row(512, 3))
    self.branch2_3a = chain(512, _row(256, 3))
    self.branch2_3b = chain(512, _column(256, 3))
    self.branch3 = layers.Stack((_avg, chain(1536, _point(256))))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 1536]` to the same shape."""
    one = self.branch1_0(x)
    two = self.branch2_2(self.branch2_1(self.branch2_0(x)))
    parts = [
      self.branch0(x),
      self.branch1_1a(one),
      self.branch1_1b(one),
      self.branch2_3a(two),
      self.branch2_3b(two),
      self.branch3(x),
    ]
    return jax.numpy.concatenate(parts, axis=-1)


class Residual(nnx.Module):
  """A residual of branches, joined by a 1 x 1 convolution, scaled and added
  (figure 10).
  """

  def __init__(
    self,
    channels: int,
    scale: float,
    *branches: tuple[Step, ...],
    last: bool = False,
    rngs: nnx.Rngs,
  ):
    """Create the module; `last` leaves out the relu."""
    parallel = _parallel(channels, *branches, rngs=rngs)
    self.branches = tuple(name for name, _ in parallel.branches)
    for name in self.branches:
      setattr(self, name, getattr(parallel, name))
    joined = sum(branch[-1][0] for branch in branches)
    self.conv2d = layers.conv(joined, channels, 1, rngs=rngs)
    self.scale, self.last = scale, last

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, channels]` to the same shape."""
    parts = [getattr(self, name)(x) for name in self.branches]
    y = self.conv2d(jax.numpy.concatenate(parts, axis=-1)) * self.scale + x
    return y if self.last else layers.relu(y)


def _plain(rngs: nnx.Rngs) -> layers.Stack:
  """Build Inception v4 up to the mean (figure 9, left column)."""
  chain = functools.partial(_chain, rngs=rngs)
  parallel = functools.partial(_parallel, rngs=rngs)
  a = (
    (_point(96),),
    (_point(64), _three(96)),
    (_point(64), _three(96), _three(96)),
  )
  b = (
    (_point(384),),
    (_point(192), _row(224), _column(256)),
    (_point(192), _column(192), _row(224), _column(224), _row(256)),
  )
  return layers.Stack(
    (
      chain(3, _half(32)),
      chain(32, (32, 3, 1, 0)),
      chain(32, _three(64)),
      layers.Parallel({"maxpool": _max, "conv": chain(64, _half(96))}),
      parallel(
        160,
        (_point(64), (96, 3, 1, 0)),
        (_point(64), _row(64), _column(64), (96, 3, 1, 0)),
      ),
      layers.Parallel({"conv": chain(192, _half(192)), "maxpool": _max}),
      *[parallel(384, *a, pooled=96) for _ in range(4)],
      parallel(
        384, (_half(384),), (_point(192), _three(224), _half(256)), _max
      ),
      *[parallel(1024, *b, pooled=128) for _ in range(7)],
      parallel(
        1024,
        (_point(192), _half(192)),
        (_point(256), _row(256), _column(320), _half(320)),
        _max,
      ),
      *[BlockC(rngs=rngs) for _ in range(3)],
    )
  )


class Network(nnx.Module):
  """Either network; both share head and preprocessing."""

  def __init__(self, *, residual: bool, num_classes: int, rngs: nnx.Rngs):
    """Create the network; `residual` builds Inception-ResNet v2."""
    self.residual = residual
    if residual:
      self._add_residual(rngs)
    else:
      self.features = _plain(rngs)
    self.dropout = layers.Dropout(0.2)  # figures 9 and 15: keep 0.8
    self.last_linear = layers.linear(1536, num_classes, rngs=rngs)

  def _add_residual(self, rngs: nnx.Rngs) -> None:
    chain = functools.partial(_chain, rngs=rngs)
    parallel = functools.partial(_parallel, rngs=rngs)
    block = functools.partial(Residual, rngs=rngs)
    self.conv2d_1a = chain(3, _half(32))
    self.conv2d_2a = chain(32, (32, 3, 1, 0))
    self.conv2d_2b = chain(32, _three(64))
    self.conv2d_3b = chain(64, _point(80))
    self.conv2d_4a = chain(80, (192, 3, 1, 0))
    five = (_point(48), (64, 5, 1, 2))
    deep = (_point(64), _three(96), _three(96))
    self.mixed_5b = parallel(192, (_point(96),), five, deep, pooled=64)
    a = (
      (_point(32),),
      (_point(32), _three(32)),
      (_point(32), _three(48), _three(64)),
    )
    self.repeat = layers.Stack([block(320, 0.17, *a) for _ in range(10)])
    deep = (_point(256), _three(256), _half(384))
    self.mixed_6a = parallel(320, (_half(384),), deep, _max)
    b = ((_point(192),), (_point(128), _row(160), _column(192)))
    self.repeat_1 = layers.Stack([block(1088, 0.10, *b) for _ in range(20)])
    self.mixed_7a = parallel(
      1088,
      (_point(256), _half(384)),
      (_point(256), _half(288)),
      (_point(256), _three(288), _half(320)),
      _max,
    )
    c = ((_point(192),), (_point(192), _row(224, 3), _column(256, 3)))
    self.repeat_2 = layers.Stack([block(2080, 0.20, *c) for _ in range(9)])
    self.block8 = block(2080, 1.0, *c, last=True)
    self.conv2d_7b = chain(2080, _point(1536))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = self._residual(x) if self.residual else self.features(x)
    return self.last_linear(self.dropout(layers.global_mean(x)))

  def _residual(self, x: jax.Array) -> jax.Array:
    x = self.conv2d_2b(self.conv2d_2a(self.conv2d_1a(x)))
    x = self.conv2d_4a(self.conv2d_3b(_max(x)))
    x = self.repeat(self.mixed_5b(_max(x)))
    x = self.repeat_1(self.mixed_6a(x))
    x = self.repeat_2(self.mixed_7a(x))
    return self.conv2d_7b(self.block8(x))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  drops_background=True,
  oracles=ORACLES,
)

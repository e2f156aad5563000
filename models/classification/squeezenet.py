"""SqueezeNet 1.0 and 1.1 (Iandola et al. 2016, arXiv:1602.07360).

The published weights are DeepScale's Caffe models: pictures squashed to 256 x
256, a centre crop of 227, BGR, 0..255 minus the channel means. torchvision's
weights have the same network and another preprocessing, hence their own names.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

_CAFFE = Spec(
  input_px=227,
  resize="squash",
  resize_px=256,
  channel_order="bgr",
  scale=1.0,
  mean=(104.0, 117.0, 123.0),
  std=(1.0, 1.0, 1.0),
  weights="caffe",
  source="DeepScale/SqueezeNet train_val.prototxt (mean_value, crop_size)",
)
_TORCHVISION = Spec(source="torchvision 0.28 models/squeezenet.py")
# First convolution (kernel, channels) and the fires followed by a pooling.
_V1_0 = {"stem": (7, 96), "pooled": (4, 8)}
_V1_1 = {"stem": (3, 64), "pooled": (3, 5)}
_COUNTS = {"1_0": 1_248_424, "1_1": 1_235_496}
# fire2..fire9: squeeze channels, channels of each expansion (table 1).
_FIRES = (
  (16, 64),
  (16, 64),
  (32, 128),
  (32, 128),
  (48, 192),
  (48, 192),
  (64, 256),
  (64, 256),
)


VARIANTS = {
  f"squeezenet{version}{ending}": Variant(
    dataclasses.replace(spec, parameters=_COUNTS[version]), options
  )
  for version, options in (("1_0", _V1_0), ("1_1", _V1_1))
  for ending, spec in (("", _CAFFE), ("_torchvision", _TORCHVISION))
}


def _torchvision_names(pooled: tuple[int, ...]) -> Rules:
  """Return rules for torchvision's names: positions depend on the poolings' places."""
  rules, position = [(r"^features\.0\.", "conv1.")], 3
  for fire in range(2, 10):
    rules.append((rf"^features\.{position}\.", f"fire{fire}."))
    position += 2 if fire in pooled else 1
  return (
    *rules,
    (r"\.squeeze\.", ".squeeze1x1."),
    (r"^classifier\.1\.", "conv10."),
  )


CHECKPOINTS: dict[str, Rules] = {
  "caffe": ((r"/", "."),),
  "torchvision": _torchvision_names(_V1_1["pooled"]),
  "torchvision 1.0": _torchvision_names(_V1_0["pooled"]),
}
ORACLES = {
  f"squeezenet{version}_torchvision": f"torchvision:squeezenet{version}"
  for version in _COUNTS
}


class Fire(nnx.Module):
  """A fire module: it squeezes to few channels, and expands by 1 x 1 and 3 x 3
  side by side.
  """

  def __init__(self, inputs: int, squeeze: int, expand: int, *, rngs: nnx.Rngs):
    """Create the module; `expand` is the channels of each of the two expansions."""
    self.squeeze1x1 = layers.conv(inputs, squeeze, 1, rngs=rngs)
    self.expand1x1 = layers.conv(squeeze, expand, 1, rngs=rngs)
    self.expand3x3 = layers.conv(squeeze, expand, 3, padding=1, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, 2 * expand]`."""
    x = layers.relu(self.squeeze1x1(x))
    both = [self.expand1x1(x), self.expand3x3(x)]
    return layers.relu(jnp.concatenate(both, axis=-1))


_pool = functools.partial(layers.max_pool, window=3, stride=2, ceil=True)


class Network(nnx.Module):
  """A network of conv1, eight fires and conv10; the logits are the mean of
  relu(conv10).
  """

  def __init__(
    self,
    *,
    stem: tuple[int, int],
    pooled: tuple[int, ...],
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `stem` is (kernel, channels), `pooled` the fires
    before a pooling.
    """
    self.pooled = pooled
    kernel, channels = stem
    self.conv1 = layers.conv(3, channels, kernel, stride=2, rngs=rngs)
    for i, (squeeze, expand) in enumerate(_FIRES, start=2):
      setattr(self, f"fire{i}", Fire(channels, squeeze, expand, rngs=rngs))
      channels = 2 * expand
    self.dropout = layers.Dropout(0.5)  # before conv10, in Caffe and torch
    self.conv10 = layers.conv(channels, num_classes, 1, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = _pool(layers.relu(self.conv1(x)))
    for i in range(2, 10):
      x = getattr(self, f"fire{i}")(x)
      if i in self.pooled:
        x = _pool(x)
    return layers.global_mean(layers.relu(self.conv10(self.dropout(x))))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)

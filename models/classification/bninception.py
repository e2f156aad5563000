"""BN-Inception (Ioffe & Szegedy 2015, arXiv:1502.03167), table 5.

The published weights are Caffe's, ported in pretrained-models.pytorch: BGR,
0..255 minus the channel means.
"""

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

SPEC = Spec(
  channel_order="bgr",
  scale=1.0,
  mean=(104.0, 117.0, 128.0),
  std=(1.0, 1.0, 1.0),
  weights="cadene",
  parameters=11_295_240,
  source="pretrainedmodels 0.7.4 bninception.py",
)
VARIANTS = {"bninception": Variant(SPEC)}
CHECKPOINTS: dict[str, Rules] = {"cadene": ()}
ORACLES = {"bninception": "pretrainedmodels:bninception"}

# Block -> 1x1; 3x3 (reduce, out); double 3x3 (reduce, out); pooling and its
# projection. Blocks without 1x1 have stride 2 and project nothing.
_BLOCKS = {
  "3a": (64, (64, 64), (64, 96), "avg", 32),
  "3b": (64, (64, 96), (64, 96), "avg", 64),
  "3c": (0, (128, 160), (64, 96), "max", 0),
  "4a": (224, (64, 96), (96, 128), "avg", 128),
  "4b": (192, (96, 128), (96, 128), "avg", 128),
  "4c": (160, (128, 160), (128, 160), "avg", 128),
  "4d": (96, (128, 192), (160, 192), "avg", 128),
  "4e": (0, (128, 192), (192, 256), "max", 0),
  "5a": (352, (192, 320), (160, 224), "avg", 128),
  "5b": (352, (192, 320), (192, 224), "max", 128),
}


class Network(nnx.Module):
  """The network, flat as Caffe names its layers: `inception_3a_1x1`, `..._bn`, .."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create a convolution and its norm per Caffe layer."""
    add = functools.partial(self._add, rngs=rngs)
    add("conv1_7x7_s2", 3, 64, 7, 2)
    add("conv2_3x3_reduce", 64, 64, 1)
    add("conv2_3x3", 64, 192, 3)
    inputs = 192
    for block, (one, three, double, _, project) in _BLOCKS.items():
      name, stride = f"inception_{block}", 1 if one else 2
      if one:
        add(f"{name}_1x1", inputs, one, 1)
      add(f"{name}_3x3_reduce", inputs, three[0], 1)
      add(f"{name}_3x3", *three, 3, stride)
      add(f"{name}_double_3x3_reduce", inputs, double[0], 1)
      add(f"{name}_double_3x3_1", *double, 3)
      add(f"{name}_double_3x3_2", double[1], double[1], 3, stride)
      if project:
        add(f"{name}_pool_proj", inputs, project, 1)
      inputs = one + three[1] + double[1] + (project or inputs)
    self.last_linear = layers.linear(inputs, num_classes, rngs=rngs)

  def _add(
    self,
    name: str,
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    *,
    rngs: nnx.Rngs,
  ) -> None:
    conv = layers.conv(inputs, outputs, kernel, stride, kernel // 2, rngs=rngs)
    setattr(self, name, conv)
    setattr(self, f"{name}_bn", layers.BatchNorm(outputs, rngs=rngs))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.max_pool(self._run("conv1_7x7_s2", x), 3, 2, ceil=True)
    x = self._run("conv2_3x3", self._run("conv2_3x3_reduce", x))
    x = layers.max_pool(x, 3, 2, ceil=True)
    for block in _BLOCKS:
      x = self._block(block, x)
    return self.last_linear(layers.global_mean(x))

  def _run(self, name: str, x: jax.Array) -> jax.Array:
    return layers.relu(getattr(self, f"{name}_bn")(getattr(self, name)(x)))

  def _block(self, block: str, x: jax.Array) -> jax.Array:
    one, _, _, pool, project = _BLOCKS[block]

    def run(name: str, y: jax.Array) -> jax.Array:
      return self._run(f"inception_{block}_{name}", y)

    parts = [run("1x1", x)] if one else []
    parts.append(run("3x3", run("3x3_reduce", x)))
    double = run("double_3x3_1", run("double_3x3_reduce", x))
    parts.append(run("double_3x3_2", double))
    if pool == "avg":
      pooled = layers.avg_pool(x, 3, 1, 1)
    elif project:
      pooled = layers.max_pool(x, 3, 1, 1)
    else:
      pooled = layers.max_pool(x, 3, 2, ceil=True)
    parts.append(run("pool_proj", pooled) if project else pooled)
    return jnp.concatenate(parts, axis=-1)


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)

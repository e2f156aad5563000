"""VGG 11, 13, 16, 19, plain and with batch norm (arXiv:1409.1556)."""

import functools
from collections.abc import Mapping

import jax
import numpy as np
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

# Table 1: convolutions of each of the five stages.
_STAGES = {
  "vgg11": (1, 1, 2, 2, 2),
  "vgg13": (2, 2, 2, 2, 2),
  "vgg16": (2, 2, 3, 3, 3),
  "vgg19": (2, 2, 4, 4, 4),
}
_WIDTHS = (64, 128, 256, 512, 512)
# num_params of torchvision 0.28's weights: plain, with batch norm.
_COUNTS = {
  "vgg11": (132_863_336, 132_868_840),
  "vgg13": (133_047_848, 133_053_736),
  "vgg16": (138_357_544, 138_365_992),
  "vgg19": (143_667_240, 143_678_248),
}


def _variant(name: str, norm: bool) -> Variant:
  spec = Spec(
    parameters=_COUNTS[name][norm], source="torchvision 0.28 models/vgg.py"
  )
  return Variant(spec, {"stages": _STAGES[name], "norm": norm})


VARIANTS = {
  name + ending: _variant(name, norm)
  for name in _STAGES
  for ending, norm in (("", False), ("_bn", True))
}
CHECKPOINTS: dict[str, Rules] = {
  # timm computes the first two linear layers as convolutions.
  "timm": (
    (r"^pre_logits\.fc1\.", "classifier.0."),
    (r"^pre_logits\.fc2\.", "classifier.3."),
    (r"^head\.fc\.", "classifier.6."),
  ),
  "cadene": (
    (r"^_features\.", "features."),
    (r"^linear0\.", "classifier.0."),
    (r"^linear1\.", "classifier.3."),
    (r"^last_linear\.", "classifier.6."),
  ),
}
_TIMM_FIRST = "pre_logits.fc1.weight"
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}

_RATE = 0.5  # torchvision's rate of dropout
_pool = functools.partial(layers.max_pool, window=2, stride=2)


def _flat(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Reshape timm's first 7 x 7 convolution to the linear layer that it is."""
  return {
    name: array.reshape(len(array), -1) if name == _TIMM_FIRST else array
    for name, array in arrays.items()
  }


class Network(nnx.Module):
  """Stages of 3 x 3 convolutions, each with a pooling, and three linear layers."""

  def __init__(
    self,
    *,
    stages: tuple[int, ...],
    norm: bool,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `stages` are the convolutions of each stage."""
    linear = functools.partial(layers.linear, rngs=rngs)
    steps: list[layers.Step] = []
    inputs = 3
    for width, depth in zip(_WIDTHS, stages, strict=True):
      for _ in range(depth):
        steps.append(layers.conv(inputs, width, 3, padding=1, rngs=rngs))
        if norm:
          steps.append(layers.BatchNorm(width, rngs=rngs))
        steps.append(layers.relu)
        inputs = width
      steps.append(_pool)
    self.features = layers.Stack(steps)
    self.classifier = layers.Stack(
      (
        linear(512 * 7 * 7, 4096),
        layers.relu,
        layers.Dropout(_RATE),
        linear(4096, 4096),
        layers.relu,
        layers.Dropout(_RATE),
        linear(4096, num_classes),
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.adaptive_avg_pool(self.features(x), 7)
    return self.classifier(layers.flatten_as_torch(x))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  regroup=_flat,
  alike=(("torchvision", "timm"),),  # timm ported torchvision's weights
  oracles=ORACLES,
)

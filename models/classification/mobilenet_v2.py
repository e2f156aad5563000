"""MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381), torchvision's weights."""

import functools

import jax
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family, Rules
from models.spec import Spec, Variant

_SPEC = Spec(
  parameters=3_504_872,
  source="torchvision 0.28 models/mobilenetv2.py, IMAGENET1K_V1",
)
VARIANTS = {"mobilenet_v2": Variant(_SPEC)}
# Table 2: expansion, channels, blocks, stride of the first of them.
_STAGES = (
  (1, 16, 1, 1),
  (6, 24, 2, 2),
  (6, 32, 3, 2),
  (6, 64, 4, 2),
  (6, 96, 3, 1),
  (6, 160, 3, 2),
  (6, 320, 1, 1),
)


def _timm_names() -> Rules:
  """Return rules for timm's names: timm counts blocks within stages,
  torchvision over all.
  """
  places = [(s, i) for s, row in enumerate(_STAGES) for i in range(row[2])]
  blocks = [
    (rf"^blocks\.{stage}\.{i}\.", f"features.{place}.")
    for place, (stage, i) in enumerate(places, start=1)
  ]
  last = len(places) + 1
  return (
    # The first block expands nothing.
    (r"^blocks\.0\.0\.conv_dw\.", "features.1.conv.0.0."),
    (r"^blocks\.0\.0\.bn1\.", "features.1.conv.0.1."),
    (r"^blocks\.0\.0\.conv_pw\.", "features.1.conv.1."),
    (r"^blocks\.0\.0\.bn2\.", "features.1.conv.2."),
    *blocks,
    (r"^conv_stem\.", "features.0.0."),
    (r"^bn1\.", "features.0.1."),
    (r"^conv_head\.", f"features.{last}.0."),
    (r"^bn2\.", f"features.{last}.1."),
    (r"\.conv_pw\.", ".conv.0.0."),
    (r"\.bn1\.", ".conv.0.1."),
    (r"\.conv_dw\.", ".conv.1.0."),
    (r"\.bn2\.", ".conv.1.1."),
    (r"\.conv_pwl\.", ".conv.2."),
    (r"\.bn3\.", ".conv.3."),
    (r"^classifier\.", "classifier.1."),
  )


# torchvision's names are ours.
CHECKPOINTS: dict[str, Rules] = {"timm": _timm_names()}
ORACLES = {"mobilenet_v2": "torchvision:mobilenet_v2"}


class Block(nnx.Module):
  """A block: expand, filter each channel, project; added if the shape stays."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    stride: int,
    expand: int,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the block; `expand` is the number of inner channels per input channel."""
    curved = functools.partial(
      inverted.conv_norm, activation=jax.nn.relu6, rngs=rngs
    )
    inner = inputs * expand
    steps = [curved(inputs, inner, 1)] if expand != 1 else []
    self.conv = layers.Stack(
      (
        *steps,
        curved(inner, inner, 3, stride, groups=inner),
        layers.conv(inner, outputs, 1, bias=False, rngs=rngs),
        layers.BatchNorm(outputs, rngs=rngs),
      )
    )
    self.adds = stride == 1 and inputs == outputs

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    y = self.conv(x)
    return x + y if self.adds else y


class Network(nnx.Module):
  """A 3 x 3 stem, seventeen blocks, a 1 x 1 convolution, a mean, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network with `num_classes` logits."""
    curved = functools.partial(
      inverted.conv_norm, activation=jax.nn.relu6, rngs=rngs
    )
    features: list[nnx.Module] = [curved(3, 32, 3, 2)]
    inputs = 32
    for expand, outputs, depth, first in _STAGES:
      for i in range(depth):
        stride = 1 if i else first
        features.append(Block(inputs, outputs, stride, expand, rngs=rngs))
        inputs = outputs
    features.append(curved(inputs, 1280, 1))
    self.features = layers.Stack(features)
    head = layers.linear(1280, num_classes, rngs=rngs)
    self.classifier = layers.Stack((layers.Dropout(0.2), head))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.classifier(layers.global_mean(self.features(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  stages=(r"features/(\d+)",),
)

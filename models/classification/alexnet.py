"""AlexNet as in torchvision (Krizhevsky 2014, arXiv:1404.5997)."""

import functools

import jax
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

SPEC = Spec(
  parameters=61_100_840, source="torchvision 0.28 AlexNet_Weights.IMAGENET1K_V1"
)
VARIANTS = {"alexnet": Variant(SPEC)}
CHECKPOINTS: dict[str, Rules] = {
  # The reference's own split of the head (pretrained-models.pytorch).
  "cadene": (
    (r"^_features\.", "features."),
    (r"^linear0\.", "classifier.1."),
    (r"^linear1\.", "classifier.4."),
    (r"^last_linear\.", "classifier.6."),
  ),
}
ORACLES = {"alexnet": "torchvision:alexnet"}

_RATE = 0.5  # torchvision's rate of dropout
_pool = functools.partial(layers.max_pool, window=3, stride=2)


class Network(nnx.Module):
  """Five convolutions and three linear layers, for at least 63 x 63 pixels."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, with torchvision's positions of layers."""
    conv = functools.partial(layers.conv, rngs=rngs)
    linear = functools.partial(layers.linear, rngs=rngs)
    relu = layers.relu
    self.features = layers.Stack(
      (
        conv(3, 64, 11, 4, 2),
        relu,
        _pool,
        conv(64, 192, 5, padding=2),
        relu,
        _pool,
        conv(192, 384, 3, padding=1),
        relu,
        conv(384, 256, 3, padding=1),
        relu,
        conv(256, 256, 3, padding=1),
        relu,
        _pool,
      )
    )
    self.classifier = layers.Stack(
      (
        layers.Dropout(_RATE),
        linear(256 * 6 * 6, 4096),
        relu,
        layers.Dropout(_RATE),
        linear(4096, 4096),
        relu,
        linear(4096, num_classes),
      )
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = layers.adaptive_avg_pool(self.features(x), 6)
    return self.classifier(layers.flatten_as_torch(x))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS, oracles=ORACLES)

"""A small CNN for digits at 32 px and signs at 64, trained in seconds.

Those with batch norms are what docs/ADAPTATION.md adapts.
"""

from __future__ import annotations

import dataclasses

import jax
from flax import nnx

from models import layers
from models.family import Family
from models.spec import Spec, Variant

SPEC = Spec(
  input_px=32,
  resize="squash",
  resize_px=32,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  label_space="digits",
  num_classes=10,
  flexible=False,
  weights="robust_tfds",
  parameters=33_834,
  source="trained here (configs/quickstart.py)",
)
SIGNS = dataclasses.replace(
  SPEC,
  input_px=64,
  resize_px=64,
  label_space="signs",
  num_classes=12,
  parameters=38_524,
)
_NORMED = {"normed": True}
VARIANTS = {
  "digits_cnn": Variant(SPEC),
  "signs_cnn": Variant(SIGNS, {"stem": (8, 4, 2), "standardised": True}),
  "digits_bn": Variant(dataclasses.replace(SPEC, parameters=34_058), _NORMED),
  "signs_bn": Variant(
    dataclasses.replace(SIGNS, parameters=38_748),
    {"stem": (8, 4, 2), **_NORMED},
  ),
}
# Least variance, so that the noise of a flat picture is not amplified: a little
# above one level, squared.
_MIN_VARIANCE = 1e-4


class Network(nnx.Module):
  """A network of three strided convolutions and a linear head."""

  def __init__(
    self,
    *,
    num_classes: int,
    stem: tuple[int, int, int] = (3, 2, 1),
    standardised: bool = False,
    normed: bool = False,
    rngs: nnx.Rngs,
  ):
    """Create the network with channels 16, 32, 64 at 16, 8 and 4 pixels.

    Args:
      num_classes: number of logits.
      stem: kernel, stride and padding of the first convolution.
      standardised: whether each channel of a picture is first normalised to
        mean 0 and variance 1, so that light and contrast count for little.
      normed: whether each convolution is followed by a batch norm.
      rngs: for the initial weights.
    """
    self.standardised = standardised
    self.conv1 = layers.conv(3, 16, *stem, rngs=rngs)
    self.conv2 = layers.conv(16, 32, 3, 2, 1, rngs=rngs)
    self.conv3 = layers.conv(32, 64, 3, 2, 1, rngs=rngs)
    if normed:
      self.bn1, self.bn2, self.bn3 = (
        layers.BatchNorm(channels, rngs=rngs) for channels in (16, 32, 64)
      )
    self.head = layers.linear(64 * 4 * 4, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, S, S, 3]` to logits `[B, num_classes]`."""
    if self.standardised:
      x = jax.nn.standardize(x, axis=(1, 2), epsilon=_MIN_VARIANCE)
    for number in (1, 2, 3):
      x = getattr(self, f"conv{number}")(x)
      if norm := getattr(self, f"bn{number}", None):
        x = norm(x)
      x = layers.relu(x)
    return self.head(x.reshape(x.shape[0], -1))


FAMILY = Family(
  Network,
  VARIANTS,
  stages=(r"(?:conv|bn)(\d)",),
)

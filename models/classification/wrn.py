"""Wide ResNets for CIFAR (Zagoruyko & Komodakis 2016, arXiv:1605.07146).

AugMix's and PixMix's code trains `wrn_40_2` and `wrn_40_4`; attribute names are
theirs. `digits_resnet` is a small one for the embedded digits.
`wide_resnet50_2` and its like, for ImageNet, are in `resnet.py`.
"""

from __future__ import annotations

import dataclasses

import jax
from flax import nnx

from models import layers
from models.classification import digits_cnn
from models.family import Family, Rules
from models.spec import Spec, Variant

# google-research/augmix cifar.py; of all its networks.
AUGMIX = Spec(
  input_px=32,
  resize="squash",
  resize_px=32,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  label_space="cifar10",
  num_classes=10,
  weights="augmix",
  source="google-research/augmix, cifar.py and third_party",
)
_TABLE = "trained here (configs/train_standard.py)"


def _variant(
  depth: int, factor: int, parameters: int, dropout: float = 0.0
) -> Variant:
  spec = dataclasses.replace(AUGMIX, parameters=parameters)
  options = {"depth": depth, "factor": factor, "dropout": dropout}
  return Variant(spec, options)


VARIANTS = {
  "wrn_40_2": _variant(40, 2, 2_243_546),
  "wrn_40_4": _variant(40, 4, 8_949_210, dropout=0.3),  # PixMix's code
  "wrn_28_10": _variant(28, 10, 36_479_194),
  # WRN-10-1, to train by every recipe; its stem halves digits, which are
  # enlarged from 8 px.
  "digits_resnet": Variant(
    dataclasses.replace(digits_cnn.SPEC, parameters=77_850, source=_TABLE),
    {"depth": 10, "factor": 1, "dropout": 0.0, "stride": 2},
  ),
}
# Names of pytorchcv's CIFAR networks: prefixes of a norm and a convolution, and
# places in a stage, from 1.
PYTORCHCV: Rules = tuple(
  (rf"^features\.stage(\d)\.unit{i + 1}\.", rf"block\1.layer.{i}.")
  for i in range(12)
)
CHECKPOINTS: dict[str, Rules] = {
  "augmix": (),
  "pytorchcv": (
    *PYTORCHCV,
    (r"^features\.init_block\.", "conv1."),
    (r"^features\.post_activ\.bn\.", "bn1."),
    (r"\.body\.conv(\d)\.(bn|conv)\.", r".\2\1."),
    (r"\.identity_conv\.", ".convShortcut."),
    (r"^output\.", "fc."),
  ),
}
ORACLES = {
  name: "pytorchcv:wrn_cifar.get_wrn_cifar"
  f":blocks={variant.options['depth']},width_factor={variant.options['factor']}"
  for name, variant in VARIANTS.items()
  if variant.spec.weights != "robust_tfds"
}


class Block(nnx.Module):
  """A block of norm, relu, 3 x 3, twice; a 1 x 1 shortcut reads the normalised
  input.
  """

  def __init__(
    self,
    inputs: int,
    outputs: int,
    stride: int,
    dropout: float,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the block; `stride` is the first convolution's, `dropout` comes
    before the second.
    """
    self.bn1 = layers.BatchNorm(inputs, rngs=rngs)
    self.conv1 = layers.conv(
      inputs, outputs, 3, stride, 1, bias=False, rngs=rngs
    )
    self.bn2 = layers.BatchNorm(outputs, rngs=rngs)
    self.conv2 = layers.conv(outputs, outputs, 3, 1, 1, bias=False, rngs=rngs)
    self.dropout = layers.Dropout(dropout)
    self.widens = inputs != outputs
    if self.widens:
      self.convShortcut = layers.conv(
        inputs, outputs, 1, stride, bias=False, rngs=rngs
      )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    normal = layers.relu(self.bn1(x))
    y = layers.relu(self.bn2(self.conv1(normal)))
    shortcut = self.convShortcut(normal) if self.widens else x
    return self.conv2(self.dropout(y)) + shortcut


class Network(nnx.Module):
  """A 3 x 3 stem, three stages of blocks, a norm, a mean, and a linear head."""

  def __init__(
    self,
    *,
    depth: int,
    factor: int,
    dropout: float,
    stride: int = 1,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `depth` counts convolutions, 4 more than a multiple
    of 6; `factor` widens.

    `dropout` is the rate inside the blocks, `stride` the stem's.
    """
    self.conv1 = layers.conv(3, 16, 3, stride, 1, bias=False, rngs=rngs)
    inputs = 16
    for stage in range(3):
      outputs, blocks = (16 << stage) * factor, []
      for i in range((depth - 4) // 6):
        stride = 2 if stage and not i else 1
        blocks.append(Block(inputs, outputs, stride, dropout, rngs=rngs))
        inputs = outputs
      block = layers.Stack({"layer": layers.Stack(blocks)})
      setattr(self, f"block{stage + 1}", block)
    self.bn1 = layers.BatchNorm(inputs, rngs=rngs)
    self.fc = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.conv1(x)
    for stage in (1, 2, 3):
      x = getattr(self, f"block{stage}")(x)
    return self.fc(layers.global_mean(layers.relu(self.bn1(x))))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  stages=("conv1", r"block(\d)"),
)

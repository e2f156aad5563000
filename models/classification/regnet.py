"""RegNetX and RegNetY (Radosavovic et al. 2020, arXiv:2003.13678).

torchvision's weights. RegNetY excites its 3 x 3 convolutions. `regnet_y_128gf`
was published only with SWAG's weights (arXiv:2201.08371), fine-tuned at 384 px.
"""

import dataclasses
import functools

import jax
from flax import nnx

from models import layers
from models.classification import inverted
from models.family import Family, Rules
from models.spec import Spec, Variant

_SPEC = Spec(source="torchvision 0.28 models/regnet.py, IMAGENET1K_V1")
_SWAG = dataclasses.replace(
  _SPEC,
  input_px=384,
  resize_px=384,
  interpolation="bicubic",
  source="torchvision 0.28 models/regnet.py, IMAGENET1K_SWAG_E2E_V1",
)


def _variant(
  parameters: int,
  depths: tuple[int, ...],
  widths: tuple[int, ...],
  group: int,
  *,
  excites: bool = False,
  spec: Spec = _SPEC,
) -> Variant:
  spec = dataclasses.replace(spec, parameters=parameters)
  options = {"depths": depths, "widths": widths, "group": group}
  return Variant(spec, {**options, "excites": excites})


_y = functools.partial(_variant, excites=True)
# Blocks and channels per stage and channels of a group: the models of tables
# 8 and 9, with channels rounded to whole groups.
VARIANTS = {
  "regnet_x_400mf": _variant(5_495_976, (1, 2, 7, 12), (32, 64, 160, 400), 16),
  "regnet_x_800mf": _variant(7_259_656, (1, 3, 7, 5), (64, 128, 288, 672), 16),
  "regnet_x_1_6gf": _variant(9_190_136, (2, 4, 10, 2), (72, 168, 408, 912), 24),
  "regnet_x_3_2gf": _variant(
    15_296_552, (2, 6, 15, 2), (96, 192, 432, 1008), 48
  ),
  "regnet_x_8gf": _variant(
    39_572_648, (2, 5, 15, 1), (80, 240, 720, 1920), 120
  ),
  "regnet_x_16gf": _variant(
    54_278_536, (2, 6, 13, 1), (256, 512, 896, 2048), 128
  ),
  "regnet_x_32gf": _variant(
    107_811_560, (2, 7, 13, 1), (336, 672, 1344, 2520), 168
  ),
  "regnet_y_400mf": _y(4_344_144, (1, 3, 6, 6), (48, 104, 208, 440), 8),
  "regnet_y_800mf": _y(6_432_512, (1, 3, 8, 2), (64, 144, 320, 784), 16),
  "regnet_y_1_6gf": _y(11_202_430, (2, 6, 17, 2), (48, 120, 336, 888), 24),
  "regnet_y_3_2gf": _y(19_436_338, (2, 5, 13, 1), (72, 216, 576, 1512), 24),
  "regnet_y_8gf": _y(39_381_472, (2, 4, 10, 1), (224, 448, 896, 2016), 56),
  "regnet_y_16gf": _y(83_590_140, (2, 4, 11, 1), (224, 448, 1232, 3024), 112),
  "regnet_y_32gf": _y(145_046_770, (2, 5, 12, 1), (232, 696, 1392, 3712), 232),
  "regnet_y_128gf": _y(
    644_812_894, (2, 7, 17, 1), (528, 1056, 2904, 7392), 264, spec=_SWAG
  ),
}


def _timm_names() -> Rules:
  """Return rules for timm's names: timm counts the blocks of a stage from 1,
  torchvision from 0.
  """
  longest = max(max(v.options["depths"]) for v in VARIANTS.values())
  blocks = [
    (rf"^s(\d)\.b{i + 1}\.", rf"trunk_output.block\1.block\1-{i}.")
    for i in range(longest)
  ]
  return (
    *blocks,
    (r"^stem\.conv\.", "stem.0."),
    (r"^stem\.bn\.", "stem.1."),
    (r"\.conv1\.", ".f.a."),
    (r"\.conv2\.", ".f.b."),
    (r"\.conv3\.", ".f.c."),
    (r"\.se\.", ".f.se."),
    (r"\.downsample\.", ".proj."),
    (r"\.conv\.", ".0."),
    (r"\.bn\.", ".1."),
    (r"^head\.fc\.", "fc."),
  )


# torchvision's names are ours.
CHECKPOINTS: dict[str, Rules] = {"timm": _timm_names()}
ORACLES = {name: f"torchvision:{name}" for name in VARIANTS}
_STEM = 32


class Block(nnx.Module):
  """A block of 1 x 1, 3 x 3 in groups, 1 x 1 around a shortcut."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    stride: int,
    *,
    group: int,
    excites: bool,
    rngs: nnx.Rngs,
  ):
    """Create the block; `group` is the channels of a group of the 3 x 3, at
    most `outputs`.
    """
    conv = functools.partial(inverted.conv_norm, rngs=rngs)
    curved = functools.partial(conv, activation=layers.relu)
    groups = outputs // min(group, outputs)
    steps: dict[str, nnx.Module] = {
      "a": curved(inputs, outputs, 1),
      "b": curved(outputs, outputs, 3, stride, groups=groups),
    }
    if excites:
      # A quarter of the block's inputs, not of those of the 3 x 3.
      squeeze = round(inputs / 4)
      steps["se"] = inverted.Excite(outputs, squeeze, rngs=rngs)
    steps["c"] = conv(outputs, outputs, 1)
    self.f = layers.Stack(steps)
    self.changes_shape = stride != 1 or inputs != outputs
    if self.changes_shape:
      self.proj = conv(inputs, outputs, 1, stride)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    shortcut = self.proj(x) if self.changes_shape else x
    return layers.relu(shortcut + self.f(x))


class Network(nnx.Module):
  """A 3 x 3 stem, four stages of blocks, a mean, and a linear head."""

  def __init__(
    self,
    *,
    depths: tuple[int, ...],
    widths: tuple[int, ...],
    group: int,
    excites: bool,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Create the network; `depths` are blocks and `widths` channels per stage,
    see `Block`.
    """
    block = functools.partial(Block, group=group, excites=excites, rngs=rngs)
    self.stem = inverted.conv_norm(
      3, _STEM, 3, 2, activation=layers.relu, rngs=rngs
    )
    stages, inputs = {}, _STEM
    for stage, (depth, width) in enumerate(
      zip(depths, widths, strict=True), start=1
    ):
      blocks = {}
      for i in range(depth):
        blocks[f"block{stage}-{i}"] = block(inputs, width, 1 if i else 2)
        inputs = width
      stages[f"block{stage}"] = layers.Stack(blocks)
    self.trunk_output = layers.Stack(stages)
    self.fc = layers.linear(inputs, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    return self.fc(layers.global_mean(self.trunk_output(self.stem(x))))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  oracles=ORACLES,
  stages=("stem", r"trunk_output/block(\d)"),
)

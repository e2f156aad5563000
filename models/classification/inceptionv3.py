"""Inception v3 (Szegedy et al. 2016, arXiv:1512.00567).

torchvision's weights are TensorFlow's, ported: pixels are `(p / 255 - 0.5) /
0.5`, which torchvision reaches from its usual statistics by `transform_input`.
The auxiliary classifier serves training alone.
"""

import functools

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

SPEC = Spec(
  input_px=299,
  resize_px=342,
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  # 27,161,264 with the auxiliary classifier, which is not built here.
  parameters=23_834_568,
  source="torchvision 0.28 models/inception.py, IMAGENET1K_V1",
)
VARIANTS = {"inceptionv3": Variant(SPEC)}
CHECKPOINTS: dict[str, Rules] = {"cadene": ((r"^last_linear\.", "fc."),)}
IGNORED = (r"^AuxLogits\.",)
ORACLES = {"inceptionv3": "torchvision:inception_v3"}

# A step is (name, outputs, kernel, stride, padding); a block is its branches in
# the order of concatenation; a branch may start with a pooling. `split` makes
# the last steps of a branch read the same input (figure 7 of the paper).
_ROW3, _COLUMN3 = ((1, 3), 1, (0, 1)), ((3, 1), 1, (1, 0))
_ROW7, _COLUMN7 = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
_ONE, _THREE, _HALF = (1, 1, 0), (3, 1, 1), (3, 2, 0)


def _a(pooled: int) -> tuple:
  return (
    (("branch1x1", 64, *_ONE),),
    (("branch5x5_1", 48, *_ONE), ("branch5x5_2", 64, 5, 1, 2)),
    (
      ("branch3x3dbl_1", 64, *_ONE),
      ("branch3x3dbl_2", 96, *_THREE),
      ("branch3x3dbl_3", 96, *_THREE),
    ),
    ("avg", ("branch_pool", pooled, *_ONE)),
  )


_B = (
  (("branch3x3", 384, *_HALF),),
  (
    ("branch3x3dbl_1", 64, *_ONE),
    ("branch3x3dbl_2", 96, *_THREE),
    ("branch3x3dbl_3", 96, *_HALF),
  ),
  ("max",),
)


def _c(inner: int) -> tuple:
  return (
    (("branch1x1", 192, *_ONE),),
    (
      ("branch7x7_1", inner, *_ONE),
      ("branch7x7_2", inner, *_ROW7),
      ("branch7x7_3", 192, *_COLUMN7),
    ),
    (
      ("branch7x7dbl_1", inner, *_ONE),
      ("branch7x7dbl_2", inner, *_COLUMN7),
      ("branch7x7dbl_3", inner, *_ROW7),
      ("branch7x7dbl_4", inner, *_COLUMN7),
      ("branch7x7dbl_5", 192, *_ROW7),
    ),
    ("avg", ("branch_pool", 192, *_ONE)),
  )


_D = (
  (("branch3x3_1", 192, *_ONE), ("branch3x3_2", 320, *_HALF)),
  (
    ("branch7x7x3_1", 192, *_ONE),
    ("branch7x7x3_2", 192, *_ROW7),
    ("branch7x7x3_3", 192, *_COLUMN7),
    ("branch7x7x3_4", 192, *_HALF),
  ),
  ("max",),
)
_E = (
  (("branch1x1", 320, *_ONE),),
  (
    ("branch3x3_1", 384, *_ONE),
    "split",
    ("branch3x3_2a", 384, *_ROW3),
    ("branch3x3_2b", 384, *_COLUMN3),
  ),
  (
    ("branch3x3dbl_1", 448, *_ONE),
    ("branch3x3dbl_2", 384, *_THREE),
    "split",
    ("branch3x3dbl_3a", 384, *_ROW3),
    ("branch3x3dbl_3b", 384, *_COLUMN3),
  ),
  ("avg", ("branch_pool", 192, *_ONE)),
)
_BLOCKS = {
  "Mixed_5b": _a(32),
  "Mixed_5c": _a(64),
  "Mixed_5d": _a(64),
  "Mixed_6a": _B,
  "Mixed_6b": _c(128),
  "Mixed_6c": _c(160),
  "Mixed_6d": _c(160),
  "Mixed_6e": _c(192),
  "Mixed_7a": _D,
  "Mixed_7b": _E,
  "Mixed_7c": _E,
}


# A convolution, its norm and a relu, in both Inceptions.
conv_norm = functools.partial(layers.ConvNorm, epsilon=1e-3)


class Mixed(nnx.Module):
  """Branches side by side, whose outputs are concatenated."""

  def __init__(self, inputs: int, branches: tuple, *, rngs: nnx.Rngs):
    """Create the branches; `branches` as in `_BLOCKS`."""
    self.branches = branches
    self.outputs = 0
    for branch in branches:
      split, channels = False, inputs
      for step in branch:
        if step == "split":
          split, base = True, channels
          channels = 0
        elif not isinstance(step, str):
          name, outputs, *shape = step
          before = base if split else channels
          setattr(self, name, conv_norm(before, outputs, *shape, rngs=rngs))
          channels = channels + outputs if split else outputs
      self.outputs += channels

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H', W', outputs]`."""
    parts: list[jax.Array] = []
    for branch in self.branches:
      parts += self._branch(branch, x)
    return jnp.concatenate(parts, axis=-1)

  def _branch(self, branch: tuple, x: jax.Array) -> list[jax.Array]:
    for i, step in enumerate(branch):
      if step == "avg":
        x = layers.avg_pool(x, 3, 1, 1)
      elif step == "max":
        x = layers.max_pool(x, 3, 2)
      elif step == "split":
        return [getattr(self, name)(x) for name, *_ in branch[i + 1 :]]
      else:
        x = getattr(self, step[0])(x)
    return [x]


class Network(nnx.Module):
  """A stem, eleven mixed blocks, a mean, and a linear head."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network, with torchvision's names."""
    conv = functools.partial(conv_norm, rngs=rngs)
    self.Conv2d_1a_3x3 = conv(3, 32, *_HALF)
    self.Conv2d_2a_3x3 = conv(32, 32, 3, 1, 0)
    self.Conv2d_2b_3x3 = conv(32, 64, *_THREE)
    self.Conv2d_3b_1x1 = conv(64, 80, *_ONE)
    self.Conv2d_4a_3x3 = conv(80, 192, 3, 1, 0)
    channels = 192
    for name, branches in _BLOCKS.items():
      block = Mixed(channels, branches, rngs=rngs)
      setattr(self, name, block)
      channels = block.outputs
    self.dropout = layers.Dropout(0.5)  # torchvision's
    self.fc = layers.linear(channels, num_classes, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`; sides of 75 and more."""
    x = self.Conv2d_1a_3x3(x)
    x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(x))
    x = layers.max_pool(x, 3, 2)
    x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x))
    x = layers.max_pool(x, 3, 2)
    for name in _BLOCKS:
      x = getattr(self, name)(x)
    return self.fc(self.dropout(layers.global_mean(x)))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  ignored=IGNORED,
  oracles=ORACLES,
)

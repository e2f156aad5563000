"""NASNet-A (arXiv:1707.07012) and PNASNet-5 (arXiv:1712.00559).

A cell combines the two previous states in five pairs of operations; here the
pairs are data. The public checkpoints are TensorFlow's, ported in
pretrained-models.pytorch; their files may have a background class first.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.family import Family, Rules
from models.spec import Spec, Variant

_LARGE = Spec(
  input_px=331,
  resize_px=378,  # floor(331 / 0.875), pretrainedmodels' TransformImage
  mean=(0.5, 0.5, 0.5),
  std=(0.5, 0.5, 0.5),
  weights="cadene",
  source="pretrainedmodels 0.7.4 nasnet.py, nasnet_mobile.py, pnasnet.py",
)
_MOBILE = dataclasses.replace(_LARGE, input_px=224, resize_px=256)
VARIANTS = {
  "nasnetalarge": Variant(
    dataclasses.replace(_LARGE, parameters=88_753_150),
    {"stem": 96, "width": 168, "repeats": 6},
  ),
  "nasnetamobile": Variant(
    dataclasses.replace(_MOBILE, parameters=5_289_978),
    {"stem": 32, "width": 44, "repeats": 4, "mobile": True},
  ),
  "pnasnet5large": Variant(
    dataclasses.replace(_LARGE, parameters=86_057_668),
    {"stem": 96, "width": 216, "repeats": 4, "progressive": True},
  ),
}
CHECKPOINTS: dict[str, Rules] = {
  "cadene": (
    (r"^conv_0\.", "conv0."),
    (r"^(cell_\w+)\.(path_\d|final_path_bn)\.", r"\1.conv_prev_1x1.\2."),
  )
}
ORACLES = {name: f"pretrainedmodels:{name}" for name in VARIANTS}
_EPSILON = 1e-3  # epsilon of every norm
_LEFT, _RIGHT = "left", "right"


class Op(NamedTuple):
  """One operation of a pair.

  Attributes:
    kind: `sep` (two separable convolutions), `max`, `avg`, `conv`, `same`.
    source: `left` (the previous state), `right` (the current one), or the
      number of an earlier pair.
    size: size of a separable convolution's kernel.
    strided: whether it halves the sides in a reduction cell.
    shifts: whether it shifts in a shifted cell.
  """

  kind: str
  source: str | int
  size: int = 3
  strided: bool = True
  shifts: bool = True


Pairs = tuple[tuple[Op, Op], ...]
_NORMAL: Pairs = (
  (Op("sep", _RIGHT, 5), Op("sep", _LEFT, 3)),
  (Op("sep", _LEFT, 5), Op("sep", _LEFT, 3)),
  (Op("avg", _RIGHT), Op("same", _LEFT)),
  (Op("avg", _LEFT), Op("avg", _LEFT)),
  (Op("sep", _RIGHT, 3), Op("same", _RIGHT)),
)
_REDUCTION: Pairs = (
  (Op("sep", _RIGHT, 5), Op("sep", _LEFT, 7)),
  (Op("max", _RIGHT), Op("sep", _LEFT, 7)),
  (Op("avg", _RIGHT), Op("sep", _LEFT, 5)),
  (Op("same", 1), Op("avg", 0, strided=False, shifts=False)),
  (Op("sep", 0, 3, strided=False), Op("max", _RIGHT)),
)


def _progressive(last: str) -> Pairs:
  return (
    (Op("sep", _LEFT, 5), Op("max", _LEFT)),
    (Op("sep", _RIGHT, 7), Op("max", _RIGHT)),
    (Op("sep", _RIGHT, 5), Op("sep", _RIGHT, 3)),
    (Op("sep", 2, 3, strided=False, shifts=False), Op("max", _RIGHT)),
    (Op("sep", _LEFT, 3), Op(last, _RIGHT)),
  )


def _shift(x: jax.Array) -> jax.Array:
  """Pad with a row and a column of zeros before, which are cut off after the
  operation.
  """
  return jnp.pad(x, ((0, 0), (1, 0), (1, 0), (0, 0)))


def _pool(x: jax.Array, kind: str, stride: int, shifted: bool) -> jax.Array:
  x = _shift(x) if shifted else x
  if kind == "max":
    x = layers.max_pool(x, 3, stride, 1)
  else:
    x = layers.avg_pool(x, 3, stride, 1, count_padding=False)
  return x[:, 1:, 1:] if shifted else x


class Depthwise(nnx.Module):
  """A convolution per channel, then a 1 x 1 over channels."""

  def __init__(
    self, inputs: int, outputs: int, size: int, stride: int, *, rngs: nnx.Rngs
  ):
    """Create the convolutions, without biases."""
    self.depthwise_conv2d = layers.conv(
      inputs,
      inputs,
      size,
      stride,
      size // 2,
      groups=inputs,
      bias=False,
      rngs=rngs,
    )
    self.pointwise_conv2d = layers.conv(
      inputs, outputs, 1, bias=False, rngs=rngs
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    return self.pointwise_conv2d(self.depthwise_conv2d(x))


class Separable(nnx.Module):
  """A relu, separable convolution and norm, twice; the first has the stride."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    size: int,
    stride: int,
    shifted: bool,
    *,
    rngs: nnx.Rngs,
  ):
    """Create the module; `shifted` as in `_shift`."""
    self.shifted = shifted
    self.separable_1 = Depthwise(inputs, outputs, size, stride, rngs=rngs)
    self.bn_sep_1 = layers.BatchNorm(outputs, _EPSILON, rngs=rngs)
    self.separable_2 = Depthwise(outputs, outputs, size, 1, rngs=rngs)
    self.bn_sep_2 = layers.BatchNorm(outputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    x = layers.relu(x)
    if self.shifted:
      x = self.separable_1(_shift(x))[:, 1:, 1:]
    else:
      x = self.separable_1(x)
    return self.bn_sep_2(self.separable_2(layers.relu(self.bn_sep_1(x))))


class Project(nnx.Module):
  """A relu (or a pooling), a 1 x 1 convolution, and a norm."""

  def __init__(
    self,
    inputs: int,
    outputs: int,
    stride: int = 1,
    *,
    pooled: bool = False,
    rngs: nnx.Rngs,
  ):
    """Create the layers; `pooled` puts a max pooling of `stride` in place of
    the relu.
    """
    self.pool_stride = stride if pooled else 0
    stride = 1 if pooled else stride
    self.conv = layers.conv(inputs, outputs, 1, stride, bias=False, rngs=rngs)
    self.bn = layers.BatchNorm(outputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H / stride, W / stride, outputs]`."""
    if self.pool_stride:
      x = _pool(x, "max", self.pool_stride, False)
    else:
      x = layers.relu(x)
    return self.bn(self.conv(x))


class Factorized(nnx.Module):
  """A reduction that halves the sides without losing every other pixel, by two
  offset paths.
  """

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the reduction; each path makes half of the outputs."""
    conv = functools.partial(
      layers.conv, inputs, outputs // 2, 1, bias=False, rngs=rngs
    )
    self.path_1, self.path_2 = Path(conv()), Path(conv())
    self.final_path_bn = layers.BatchNorm(outputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, ceil(H / 2), ceil(W / 2), outputs]`."""
    x = layers.relu(x)
    offset = jnp.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)))[:, 1:, 1:]
    parts = [self.path_1(x[:, ::2, ::2]), self.path_2(offset[:, ::2, ::2])]
    return self.final_path_bn(jnp.concatenate(parts, axis=-1))


class Path(nnx.Module):
  """A holder of a path's convolution under the checkpoint's name."""

  def __init__(self, conv: nnx.Conv):
    """Create the holder of a 1 x 1 convolution, `conv`."""
    self.conv = conv

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H, W, outputs]`."""
    return self.conv(x)


class Cell(nnx.Module):
  """A cell: five pairs of operations on the two previous states."""

  def __init__(
    self,
    left: int,
    right: int,
    width: int,
    table: Pairs,
    joined: tuple[str | int, ...],
    *,
    previous: str = "conv",
    stride: int = 1,
    shifted: bool = False,
    rngs: nnx.Rngs,
  ):
    """Build the pairs.

    Args:
      left: channels of the previous state.
      right: channels of the current state.
      width: channels of every operation.
      table: the pairs.
      joined: states and numbers of pairs that are concatenated.
      previous: `conv`, `factorized` if the previous state is twice as large,
        `raw` if it is taken as it is.
      stride: 2 in reduction cells.
      shifted: whether reductions start one pixel later.
      rngs: for the initial weights.
    """
    self.table, self.joined, self.previous = table, joined, previous
    self.stride, self.shifted = stride, shifted
    self.outputs = len(joined) * width
    self.conv_prev_1x1: Factorized | Project
    if previous == "factorized":
      self.conv_prev_1x1 = Factorized(left, width, rngs=rngs)
    elif previous == "conv":
      self.conv_prev_1x1 = Project(left, width, rngs=rngs)
    self.conv_1x1 = Project(right, width, rngs=rngs)
    raw = left if previous == "raw" else width
    modules = set()
    for i, pair in enumerate(table):
      for side, op in zip((_LEFT, _RIGHT), pair, strict=True):
        inputs = raw if op.source == _LEFT else width
        module = self._module(op, inputs, width, rngs)
        if module is not None:
          setattr(self, f"comb_iter_{i}_{side}", module)
          modules.add(f"comb_iter_{i}_{side}")
    self.modules = frozenset(modules)

  def _module(
    self, op: Op, inputs: int, width: int, rngs: nnx.Rngs
  ) -> nnx.Module | None:
    stride = self.stride if op.strided else 1
    if op.kind == "sep":
      shifted = self.shifted and op.shifts
      return Separable(inputs, width, op.size, stride, shifted, rngs=rngs)
    if op.kind == "conv":
      return Project(inputs, width, stride, rngs=rngs)
    if op.kind == "max" and inputs != width:
      return Project(inputs, width, stride, pooled=True, rngs=rngs)
    return None

  def __call__(self, before: jax.Array, current: jax.Array) -> jax.Array:
    """Map two states, previous and current, to the next, `[B, H, W, outputs]`."""
    state: dict[str | int, jax.Array] = {_RIGHT: self.conv_1x1(current)}
    raw = self.previous == "raw"
    state[_LEFT] = before if raw else self.conv_prev_1x1(before)
    for i, (first, second) in enumerate(self.table):
      one = self._run(f"comb_iter_{i}_left", first, state)
      state[i] = one + self._run(f"comb_iter_{i}_right", second, state)
    return jnp.concatenate([state[name] for name in self.joined], axis=-1)

  def _run(
    self, name: str, op: Op, state: dict[str | int, jax.Array]
  ) -> jax.Array:
    x = state[op.source]
    if name in self.modules:
      return getattr(self, name)(x)
    if op.kind == "same":
      return x
    stride = self.stride if op.strided else 1
    return _pool(x, op.kind, stride, self.shifted and op.shifts)


class Stem(nnx.Module):
  """A 3 x 3 convolution of stride 2 and a norm."""

  def __init__(self, outputs: int, *, rngs: nnx.Rngs):
    """Create the stem, without relu: the cells start with one."""
    self.conv = layers.conv(3, outputs, 3, 2, bias=False, rngs=rngs)
    self.bn = layers.BatchNorm(outputs, _EPSILON, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to `[B, H / 2, W / 2, outputs]`."""
    return self.bn(self.conv(x))


class Network(nnx.Module):
  """A stem, two stem cells, three stages of cells, a mean, and a linear head."""

  cell_stem_0: Cell

  def __init__(
    self,
    *,
    stem: int,
    width: int,
    repeats: int,
    progressive: bool = False,
    mobile: bool = False,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build and chain the cells.

    Args:
      stem: channels of the stem.
      width: channels of an operation in the first stage; twice and four times
        as many in the others, a quarter and a half in the stem cells.
      repeats: number of normal cells of a stage.
      progressive: whether to build PNASNet's cells instead of NASNet's.
      mobile: whether every reduction except the first is shifted, and the next
        cell reads the state right before it, as the mobile checkpoint was
        trained.
      num_classes: number of logits.
      rngs: for the initial weights.
    """
    self.progressive, self.mobile = progressive, mobile
    self.conv0 = Stem(stem, rngs=rngs)
    self.plan: tuple[str, ...] = ()
    # Channels of the previous and current states.
    self._state = (stem, stem)
    self._add("cell_stem_0", width // 4, rngs, stride=2, previous="raw")
    self._state = (stem, self._state[1])
    self._add(
      "cell_stem_1",
      width // 2,
      rngs,
      stride=2,
      previous="factorized",
      shifted=mobile,
    )
    count = 0
    for stage in range(3):
      wide = width << stage
      if stage:
        name = f"cell_{count}" if progressive else f"reduction_cell_{stage - 1}"
        self._add(name, wide, rngs, stride=2, shifted=mobile or stage == 1)
        # The mobile network keeps the large one's numbers: 0.., 6.., 12..
        count = count + 1 if progressive else 6 * stage
      normal = repeats - 1 if progressive and stage else repeats
      for i in range(normal):
        previous = "conv" if i else "factorized"
        self._add(f"cell_{count}", wide, rngs, previous=previous)
        count += 1
    self.dropout = layers.Dropout(0.5)  # slim's, before the head
    self.last_linear = layers.linear(self._state[1], num_classes, rngs=rngs)

  def _add(
    self,
    name: str,
    width: int,
    rngs: nnx.Rngs,
    *,
    stride: int = 1,
    **options: Any,
  ) -> None:
    if self.progressive:
      table = _progressive("conv" if stride == 2 else "same")
      joined: tuple[str | int, ...] = (0, 1, 2, 3, 4)
    elif stride == 2:
      table, joined = _REDUCTION, (1, 2, 3, 4)
    else:
      table, joined = _NORMAL, (_LEFT, 0, 1, 2, 3, 4)
    cell = Cell(
      *self._state, width, table, joined, stride=stride, rngs=rngs, **options
    )
    setattr(self, name, cell)
    self.plan = (*self.plan, name)
    self._state = (self._after(name), cell.outputs)

  def _after(self, name: str) -> int:
    """Return the channels of the previous state, once cell `name` has run."""
    return self._state[0 if self._skips(name) else 1]

  def _skips(self, name: str) -> bool:
    """Return whether the next cell reads past this one, as after NASNet's
    reductions.
    """
    return name.startswith("reduction") and not self.mobile

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, 3]` to logits `[B, num_classes]`."""
    x = self.conv0(x)
    before, current = x, self.cell_stem_0(x, x)
    for name in self.plan[1:]:
      after = getattr(self, name)(before, current)
      before = before if self._skips(name) else current
      current = after
    x = layers.global_mean(layers.relu(current))
    return self.last_linear(self.dropout(x))


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  drops_background=True,
  oracles=ORACLES,
)

"""AdaIN style transfer: its networks and arithmetic, for the user's weights.

Huang & Belongie 2017, arXiv:1703.06868; as naoto0804/pytorch-AdaIN, by
docs/evidence/specs/training.md section 1: a 1 x 1 convolution, then VGG-19 to relu4_1
with reflection padding and ceil max pools; t = std(s) (c - mean(c)) / std(c) + mean(s),
unbiased variances plus 1e-5; a decoder that mirrors the encoder. The encoder's
"normalised" weights and the decoder belong together: both are the user's.
"""

import dataclasses
import functools
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.convert import formats, match, sources
from models.family import Family
from models.model import Classifier
from models.spec import Spec, Variant
from robust_tfds import missing

_EPSILON = 1e-5
# Widths of VGG-19's convolutions to conv4_1, by stage; the rest of a file is
# not used.
_STAGES = ((64, 64), (128, 128), (256, 256, 256, 256), (512,))
# Widths between which the decoder's convolutions lie, before each doubling.
_DECODER = ((512, 256), (256, 256, 256, 256, 128), (128, 128, 64))
# Two px of relu4_1, 8 px each: a mirror needs a neighbour, a variance two
# values.
LEAST_PX = 9
_UNUSED = r"^encoder\.(?:3[1-9]|[4-9]\d)\."


@dataclasses.dataclass(frozen=True, eq=False)
class Stylizer:
  """An encoder and a decoder with their weights.

  Attributes:
    name: `adain`.
    variables: variables of `Network`.
  """

  name: str
  variables: Any


jax.tree_util.register_dataclass(Stylizer, ["variables"], ["name"])


def load_stylizer(
  encoder: str | os.PathLike[str], decoder: str | os.PathLike[str]
) -> Stylizer:
  """Load AdaIN with the user's weights, for `stylize`.

  Args:
    encoder: checkpoint of the encoder for `models.convert`, e.g.
      `vgg_normalised.pth`.
    decoder: checkpoint of the decoder, e.g. `decoder.pth`; the names in both
      are positions in torch's `Sequential`: `2.weight`.

  Raises:
    MissingError: a file is missing.
    UserError: a file is damaged, or holds arrays of another network.
  """
  arrays: dict[str, np.ndarray] = {}
  files = {"encoder": encoder, "decoder": decoder}
  for part, checkpoint in files.items():
    try:
      located = sources.locate(checkpoint)
    except FileNotFoundError as e:
      get = (
        "Name files of AdaIN's weights, as vgg_normalised.pth and decoder.pth."
      )
      what = f"the {part} of load_stylizer"
      raise missing.MissingError(missing.Lack(what, str(e), get=get)) from e
    read = formats.read(located.path)
    arrays |= {f"{part}.{name}": array for name, array in read.items()}
  origin = " and ".join(map(str, files.values()))
  loaded = match.match_arrays(_model(), arrays, origin)
  return Stylizer("adain", loaded.variables)


def render(
  variables: Any,
  content: jax.Array,
  style: jax.Array,
  alpha: float,
  size: jax.Array | None = None,
) -> jax.Array:
  """Render a picture in another's style.

  A picture in a canvas has the result that it would have alone: the rest of the
  canvas enters no convolution, pool or mean.

  Args:
    variables: variables of a `Stylizer`.
    content: float32 `[B, H, W, 3]` in [0, 1].
    style: float32 `[B, H', W', 3]` in [0, 1].
    alpha: 1 takes all of the style, 0 none.
    size: int32 `[2]`, height and width of the pictures in their canvases, from
      `LEAST_PX`; None: they fill the canvases.

  Returns:
    float32 `[B, H, W, 3]`, not clipped.
  """
  network = _model().merge(variables)
  height, width = content.shape[1:3]
  with jax.default_matmul_precision("float32"):
    features, valid = _walked(network.encoder, content, size)
    styled = restyled(features, network.encoder(style), valid)
    mixed = alpha * styled + (1 - alpha) * features
    # The side is 8 ceil(n / 8) px.
    decoded, _ = _walked(network.decoder, mixed, valid)
    return decoded[:, :height, :width]


def restyled(
  content: jax.Array, style: jax.Array, valid: jax.Array | None = None
) -> jax.Array:
  """Give features `[B, H, W, C]` the means and deviations of a style's features.

  Args:
    content: features of the pictures.
    style: features of the styles, of any height and width.
    valid: int32 `[2]`, the rows and columns of `content` that count; None: all.
  """
  mean, deviation = _moments(content, valid)
  its_mean, its_deviation = _moments(style)
  return (content - mean) / deviation * its_deviation + its_mean


def _moments(
  features: jax.Array, valid: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
  """Compute mean and deviation of each picture's channels, `[B, 1, 1, C]`."""
  inside = None
  if valid is not None:
    rows, columns = (
      jnp.arange(n) < v for n, v in zip(features.shape[1:], valid)
    )
    inside = (rows[:, None] & columns)[..., None]
  features = jnp.asarray(features)
  mean = features.mean((1, 2), keepdims=True, where=inside)
  variance = features.var((1, 2), ddof=1, keepdims=True, where=inside)
  return mean, jnp.sqrt(variance + _EPSILON)


def _walked(
  steps: layers.Stack, x: jax.Array, size: jax.Array | None
) -> tuple[jax.Array, jax.Array | None]:
  """Run the steps on pictures in canvases.

  The result and its valid size are returned.
  """
  if size is None:
    return steps(x), None
  for step in steps:
    if step is _reflect:
      x = _continued(x, size, 2)
    if step is _pool:
      x, size = _continued(x, size, 1), (size + 1) // 2
    if step is _twice:
      size = 2 * size
    x = step(x)  # type: ignore[operator]
  return x, size


def _continued(x: jax.Array, size: jax.Array, back: int) -> jax.Array:
  """Fill the line behind a picture with the one `back` before its end."""
  for axis, length in zip((1, 2), size):
    line = jax.lax.dynamic_index_in_dim(x, length - back, axis)
    place = jax.lax.broadcasted_iota(jnp.int32, x.shape, axis)
    x = jnp.where(place == length, line, x)
  return x


class Network(nnx.Module):
  """The encoder and the decoder, whose positions are those of the port's files."""

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network.

    It has no classes, `num_classes` is every network's argument.
    """
    del num_classes
    steps: list[layers.Step] = [layers.conv(3, 3, 1, rngs=rngs)]
    width = 3
    for stage in _STAGES:
      steps += [_pool] * (stage != _STAGES[0])
      for outputs in stage:
        steps += _conv(width, outputs, rngs)
        width = outputs
    self.encoder = layers.Stack(steps)
    steps = []
    for widths in _DECODER:
      for inputs, outputs in zip(widths, widths[1:]):
        steps += _conv(inputs, outputs, rngs)
      steps.append(_twice)
    steps += [*_conv(64, 64, rngs), *_conv(64, 3, rngs)[:-1]]
    self.decoder = layers.Stack(steps)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Encode and decode pictures `[B, H, W, 3]` in [0, 1]."""
    return self.decoder(self.encoder(x))


def _conv(inputs: int, outputs: int, rngs: nnx.Rngs) -> list[layers.Step]:
  return [_reflect, layers.conv(inputs, outputs, 3, rngs=rngs), layers.relu]


def _reflect(x: jax.Array) -> jax.Array:
  """Pad as `torch.nn.ReflectionPad2d(1)` does."""
  return jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")


def _twice(x: jax.Array) -> jax.Array:
  """Apply `torch.nn.Upsample(scale_factor=2)`, nearest neighbour."""
  return x.repeat(2, axis=1).repeat(2, axis=2)


_pool = functools.partial(layers.max_pool, window=2, stride=2, ceil=True)


@functools.cache
def _model() -> Classifier:
  spec = Spec(
    mean=(0, 0, 0),
    std=(1, 1, 1),
    weights="robust_tfds",
    source="arXiv:1703.06868",
  )
  family = Family(Network, {"adain": Variant(spec)}, ignored=(_UNUSED,))
  return Classifier("adain", spec, Variant(spec), family)

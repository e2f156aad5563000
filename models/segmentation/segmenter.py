"""A segmenter: a network's shape, its spec, and pure functions of variables.

Pictures lie in the top-left corners of canvases and their sizes travel as data, so
that one compilation serves all sizes that share a canvas.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx

from models.checks import arguments
from models.model import NetworkModel
from models.segmentation import inference, resize
from models.segmentation.spec import SegmenterSpec as SegmenterSpec
from models.variables import Variables


class SegmenterNetwork(nnx.Module):
  """The base class of the families' networks."""

  def __call__(
    self, x: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits of a batch, and the part of them that pictures fill.

    Args:
      x: pixels `[B, H, W, 3]`, zeros beyond the pictures.
      sizes: int32 `[B, 2]`, valid (height, width).

    Returns:
      `[B, h, w, classes]`, and int32 `[B, 2]`.
    """
    raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Segmenter(NetworkModel):
  """A network of the catalogue that labels every pixel."""

  spec: SegmenterSpec

  @property
  def trainable(self) -> bool:
    """Whether it can be trained: it can, on the logits of `apply_train`."""
    return True

  def apply(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    sizes: jax.typing.ArrayLike | None = None,
  ) -> jax.Array:
    """Return the class ids of the pixels of a batch of canvases.

    Args:
      variables: from `init` or `models.convert.load`.
      batch: uint8 `[B, H, W, 3]`, RGB.
      sizes: int32 `[B, 2]`, the valid (height, width) of each canvas; None: the
        whole canvas.

    Returns:
      int32 `[B, H, W]` in 0..num_classes - 1; beyond a picture any of them.

    Raises:
      UserError: the batch has a wrong dtype or shape, or the variables do not
        fit.
    """
    images, valid_px = arguments.canvases(self.name, batch, sizes)
    logits, grid = self.logits(variables, images, valid_px)
    return inference.class_ids(
      logits,
      images.shape[1:3],
      sizes=valid_px,
      valid=grid,
      align_corners=self.spec.align_corners,
    )

  def logits(
    self, variables: Variables, images: jax.Array, sizes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits at the network's resolution, and the part that is valid.

    Args:
      variables: as for `apply`.
      images: uint8 `[B, H, W, 3]`.
      sizes: int32 `[B, 2]`.

    Returns:
      float32 `[B, h, w, classes]`, and int32 `[B, 2]`.
    """
    pixels, seen_px = resize.to_network(images, sizes, self.spec)
    network: SegmenterNetwork = self.merge(variables)

    def run(x: jax.Array, sizes: jax.Array) -> tuple[jax.Array, jax.Array]:
      logits, valid = network(x.astype(self.dtype), sizes)
      return logits.astype(jnp.float32), valid

    with jax.default_matmul_precision("highest"):
      if not self.spec.window_px:
        return run(pixels, seen_px)
      window_px, stride_px = self.spec.window_px, self.spec.stride_px
      return inference.sliding(run, pixels, seen_px, window_px, stride_px)

  def apply_train(
    self,
    variables: Variables,
    batch: jax.typing.ArrayLike,
    key: jax.Array,
    *,
    frozen_norms: bool = False,
    frozen_stages: int = 0,
  ) -> tuple[jax.Array, Variables]:
    """Compute logits in train mode, and variables with updated statistics.

    Args:
      variables: as for `apply`.
      batch: uint8 RGB `[B, H, W, 3]`, or preprocessed float pixels, of the size
        that the network learns from: they are not resized.
      key: a JAX key of this step: all draws depend on it alone.
      frozen_norms: see `Classifier.apply_train`.
      frozen_stages: see there.

    Returns:
      float32 `[B, H, W, classes]`, and the variables, of which the statistics
      are new.

    Raises:
      UserError: the batch, the variables or the key do not fit this model.
    """
    pixels = self.pixels(batch)
    drawn = arguments.key(self.name, key, "apply_train")
    network = self.in_train_mode(
      variables, drawn, frozen_norms=frozen_norms, stages=frozen_stages
    )
    canvas = pixels.shape[1:3]
    sizes = jnp.asarray(arguments.whole_sizes(pixels))
    with jax.default_matmul_precision("highest"):
      logits, valid = network(pixels.astype(self.dtype), sizes)
    wide = inference.enlarged(
      logits.astype(jnp.float32),
      canvas,
      sizes=sizes,
      valid=valid,
      align_corners=self.spec.align_corners,
    )
    return wide, self.replace_statistics(variables, network)

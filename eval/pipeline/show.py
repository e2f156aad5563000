"""The inputs of models made from a batch, on the devices, under every condition."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval.pipeline import clip_steps, inputs, predict, programs
from robust_tfds import devices
from robust_tfds.conditions import Condition

Seen = tuple[jax.Array, jax.Array | None]


class Show(Protocol):
  """An object that puts a batch onto the devices, then shows it under each condition.

  Attributes:
    several: whether the batches of a block may be on the devices together.
  """

  several: bool

  def put(self, batch: inputs.Batch) -> Any:
    """Put the batch onto the devices."""
    ...

  def shapes(self, batch: inputs.Batch) -> Any:
    """Return the result of `put` as shapes; None if nothing can be compiled ahead."""
    ...

  def see(self, placed: Any, condition: Condition, spec: Any) -> Seen:
    """Return images, and sizes for models that need them, without waiting.

    Args:
      placed: the result of `put` or `shapes`.
      spec: the model's spec, if inputs differ between models; else None.
    """
    ...


@dataclasses.dataclass(frozen=True)
class Placed:
  """Pictures on the devices, or their shapes.

  Attributes:
    images: uint8 `[B, H, W, 3]` or `[B, T, H, W, 3]`.
    sizes: int32 `[B, 2]`; None if all pictures have one size and no model needs
      it.
    example_id: the id of every row.
  """

  images: Any
  sizes: Any
  example_id: Sequence[str]


class PictureShow:
  """A show of pictures, canvases or sequences, the same for every model."""

  several = True

  def __init__(
    self,
    mesh: Mesh,
    transform: predict.Transform | None,
    *,
    seed: int,
    dataset: str,
    sized: bool,
  ):
    """Create it without compiling.

    Args:
      mesh: all devices.
      transform: applies a condition to the pictures; None: they stay unchanged.
      dataset: name of the data set in the examples' keys.
      sized: whether models get the valid sizes of canvases.
    """
    self._mesh, self._transform = mesh, transform
    self._seed, self._dataset, self._sized = seed, dataset, sized

  def put(self, batch: inputs.Batch) -> Placed:
    """Put the batch onto the devices, see `Show`."""
    return self._placed(batch, devices.put_batch)

  def shapes(self, batch: inputs.Batch) -> Placed:
    """Return the shapes, see `Show`."""
    return self._placed(batch, devices.batch_shape)

  def _placed(
    self, batch: inputs.Batch, put: Callable[[np.ndarray, Mesh], Any]
  ) -> Placed:
    with_sizes = batch.any_size or self._sized
    sizes = put(batch.size, self._mesh) if with_sizes else None
    return Placed(put(batch.image, self._mesh), sizes, batch.example_id)

  def see(self, placed: Placed, condition: Condition, spec: Any) -> Seen:
    """Return images and sizes, see `Show`."""
    images = placed.images
    if self._transform is not None:
      keys = condition.keys(self._seed, self._dataset, placed.example_id)
      images = self._transform(images, placed.sizes, condition, keys)
    return images, placed.sizes if self._sized else None


@dataclasses.dataclass(eq=False)
class _Whole:
  """The pictures on their canvases, their sizes, and the rows of the batch."""

  placed: Placed
  size: np.ndarray
  mask: np.ndarray
  rows: int


class CroppedShow(PictureShow):
  """A show of pictures corrupted at full size, then cropped for each model."""

  # What was changed last, which the next model is shown too.
  _last: tuple[_Whole | None, Condition, Any] = None, Condition(), None

  def put(self, batch: inputs.Batch) -> Any:
    """Put the batch onto the devices, see `Show`."""
    few = len(batch.image)
    cut = dataclasses.replace(
      batch, size=batch.size[:few], example_id=batch.example_id[:few]
    )
    rows = len(batch.mask)
    return _Whole(super().put(cut), cut.size, batch.mask[:few], rows)

  def shapes(self, batch: inputs.Batch) -> Any:
    """Return None: the taps of a crop are only known with the sizes."""
    del batch

  def see(self, placed: Any, condition: Condition, spec: Any) -> Seen:
    """Return images and sizes, see `Show`."""
    if self._last[0] is not placed or self._last[1] != condition:
      seen, _ = super().see(placed.placed, condition, spec)
      self._last = placed, condition, seen
    if spec is None or spec.geometry == "whole":
      return self._last[2], placed.placed.sizes
    mesh = self._mesh
    names = placed.placed.example_id
    rows = clip_steps.batch_taps(spec.geometry, placed.size, placed.mask, names)
    taps = [devices.put_batch(row, mesh) for row in rows]
    images = clip_steps.crop(mesh)(self._last[2][:, None], *taps)
    side = images.shape[2]
    images = images.reshape(-1, side, side, 3)
    return _filled(mesh, placed.rows - len(images))(images), None


@programs.cached
def _filled(mesh: Mesh, more: int) -> Callable[[jax.Array], jax.Array]:
  """Return f(rows of a batch) -> the batch padded with black rows."""
  if not more:
    return lambda images: images
  margin = ((0, more), *[(0, 0)] * 3)
  pad = functools.partial(jnp.pad, pad_width=margin)
  return jax.jit(pad, out_shardings=devices.rows(mesh))

"""Operations of the devices on video frames: gather, perturb, crop, assemble.

Every step is compiled for each canvas, not for each size: sizes travel as data, and
so do the taps of the resize (`robust_tfds/resizing.py`). B is the videos of a
batch, n the frames of each that are worked on at once.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from eval.pipeline import programs
from robust_tfds import errors, resizing
from robust_tfds.building import geometry
from robust_tfds.corruptions import batching
from robust_tfds.corruptions import video as perturbations
from robust_tfds.corruptions.ops import resampling

_ROWS, _ALL = PartitionSpec("data"), PartitionSpec()


@programs.cached
def gather(where: Mesh) -> programs.Program:
  """Return f(frames uint8 `[B, F, H, W, 3]`, index int32 `[B, n]`) -> `[B, n,
  H, W, 3]`.
  """

  def step(frames: jax.Array, index: jax.Array) -> jax.Array:
    return jax.vmap(
      lambda video, at: video.at[at].get(mode="promise_in_bounds")
    )(frames, index)

  return _program(step, where)


@programs.cached
def perturb(
  where: Mesh, name: str, drawn: tuple[str, ...], sized: bool
) -> programs.Program:
  """Return the program of one perturbation of frames.

  Args:
    where: the mesh.
    name: a perturbation that works frame by frame.
    drawn: names of its random draws, see `corruptions.video.draws`.
    sized: whether frames are smaller than their canvases.

  Returns:
    f(severity, frames uint8 `[B, n, H, W, 3]`, draws `[B, n, ...]` in the order of
    their names, sizes int32 `[B, n, 2]` where sized) -> uint8 `[B, n, H', W' * 3]`.
  """

  def step(
    severity: jax.Array, frames: jax.Array, *arrays: jax.Array
  ) -> jax.Array:
    rows = [x.reshape(-1, *x.shape[2:]) for x in (frames, *arrays)]
    sizes = rows.pop() if sized else None
    canvases, *values = rows
    levels = perturbations.perturb_canvases(
      canvases,
      name,
      severity,
      dict(zip(drawn, values, strict=True)),
      sizes=sizes,
    )
    return levels.reshape(*frames.shape[:2], *levels.shape[1:])

  return _program(step, where, first=_ALL)


@programs.cached
def crop(where: Mesh) -> programs.Program:
  """Return the program that resizes and crops, see `robust_tfds/resizing.py`.

  Returns:
    f(frames uint8 `[B, n, H, W * 3]` or `[B, n, H, W, 3]`, the taps down and
    across (first int32 `[B, S]`, weights int32 `[B, S, K]` each)) -> uint8
    `[B, n, S, S * 3]`.
  """

  def step(frames: jax.Array, *taps: jax.Array) -> jax.Array:
    count = frames.shape[1]
    canvases = frames.reshape(
      -1,
      frames.shape[2],
      frames.size // (frames.shape[0] * count * frames.shape[2] * 3),
      3,
    )
    each = [jnp.repeat(x, count, axis=0) for x in taps]

    def resample_frame(frame: jax.Array, *rows: jax.Array) -> jax.Array:
      down, across = resizing.Taps(*rows[:2]), resizing.Taps(*rows[2:])
      return resampling.resample(frame, down, across)

    cropped = batching.over_batch(resample_frame, canvases, *each)
    return cropped.reshape(-1, count, *cropped.shape[1:])

  return _program(step, where)


@programs.cached
def assemble(
  where: Mesh, views: int, frames: int, side: int
) -> programs.Program:
  """Return f(order int32 `[B, views * frames]`, parts uint8 `[B, n, S, S * 3]`).

  Returns:
    A function to uint8 `[B, views, frames, S, S, 3]`; the order indexes the
    frames of all parts.
  """

  def step(order: jax.Array, *parts: jax.Array) -> jax.Array:
    whole = jnp.concatenate(parts, axis=1)
    clips = jax.vmap(
      lambda video, at: video.at[at].get(mode="promise_in_bounds")
    )(whole, order)
    return clips.reshape(-1, views, frames, side, side, 3)

  return _program(step, where)


@functools.lru_cache(maxsize=256)
def taps_of(
  rule: str, height: int, width: int
) -> tuple[resizing.Taps, resizing.Taps]:
  """Return the taps of a rule for frames of a size: down and across.

  Raises:
    UserError: see `geometry.fit`.

  """
  return geometry.fit(rule, width, height).taps


def batch_taps(
  rule: str, sizes: np.ndarray, mask: np.ndarray, names: Sequence[str]
) -> list[np.ndarray]:
  """Return the taps of a batch, as `crop` takes them; padding is black.

  Raises:
    UserError: see `geometry.fit`; the message begins with the example's name.
  """
  rows = []
  for name, size in zip(names, sizes.tolist(), strict=True):
    with errors.prefixed(name):
      rows.append(taps_of(rule, *size))
  down = resizing.stack([row[0] for row in rows])
  across = resizing.stack([row[1] for row in rows])
  return [
    np.asarray(down.first),
    np.where(mask[:, None, None], down.weights, 0),
    np.asarray(across.first),
    np.where(mask[:, None, None], across.weights, 0),
  ]


def _program(
  step: Callable[..., jax.Array], where: Mesh, first: PartitionSpec = _ROWS
) -> programs.Program:
  """Return a program over rows of any number of arrays."""

  def sharded(*arrays: jax.Array) -> jax.Array:
    return jax.shard_map(
      step,
      mesh=where,
      in_specs=(first, *[_ROWS] * (len(arrays) - 1)),
      out_specs=_ROWS,
      check_vma=False,
    )(*arrays)

  return programs.Program(sharded, where)

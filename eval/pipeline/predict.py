"""Programs on the devices: corrupt, preprocess, run the model, reduce; sharded.

Two steps with the pixels staying on the devices between them: one per corruption
(severity is data), one per (model, image shape). So 19 corruptions x 5 severities
x M models compile 19 + M programs, not 95 M. Both run under `shard_map` over the
`('data',)` mesh: each device works on its own rows and nothing crosses devices,
so the number of devices cannot change a result. The clean pixels stay for the
next condition. Called with shapes in place of arrays, both are compiled ahead, see
`eval/pipeline/programs.py`.
"""

import concurrent.futures
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from eval.pipeline import packing, programs
from robust_tfds import corruptions, devices, errors
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import plugins

# Of logits, or of a detector's outputs by name, and of the true classes.
Reduce = Callable[[Any, jax.Array], Mapping[str, jax.Array]]
Transform = Callable[
  [jax.Array, jax.Array | None, Condition, np.ndarray], jax.Array
]
# Codecs that are made on the devices or beside them.
PICTURE_CODECS = ("raw", "jpeg85")
SEQUENCE_CODECS = ("png", "h264")
_ROWS, _ALL = PartitionSpec("data"), PartitionSpec()


class Predictor:
  """A model with its weights on the mesh."""

  def __init__(self, model: Any, variables: Any, where: Mesh):
    """Put the weights on every device.

    Args:
      model: has `.apply(variables, uint8 [B, H, W, 3]) -> logits [B, classes]`.
      where: the mesh.
    """
    self._model, self._where = model, where
    self._variables = devices.put_replicated(variables, where)
    self._packed = programs.cached(self._new_packed)
    self._item = model.spec.item_axes

  def __call__(
    self,
    images: jax.Array,
    labels: jax.Array,
    reduce: Reduce,
    sizes: jax.Array | None = None,
    count: int | None = None,
  ) -> packing.Outputs:
    """Return reduced outputs of a sharded uint8 batch, without waiting for them.

    Args:
      images: uint8 `[B, H, W, 3]`, `[B, T, H, W, 3]` for sequences, or `[B,
        views, T, H, W, 3]` for clips.
      labels: int32 `[B]`, the true classes; below 0 if there is none.
      sizes: int32 `[B, 2]`, the valid (height, width) of each canvas, for
        detectors: `.apply(variables, images, sizes) -> {name: array [B, ...]}`,
        which `reduce` gets. None for classifiers.
      reduce: logits `[B, (T,) classes]` and labels -> arrays with a leading
        axis of B. The same function object compiles once.
      count: number of this host's rows that are examples; the following rows
        are padding and computed too. None: all.

    Returns:
      The result of `reduce`, and `finite`, bool `[B]`, on their way to the
      host. For shapes, the outputs cannot be fetched; the program is compiled
      ahead.
    """
    rows = [images, labels] if sizes is None else [images, labels, sizes]
    return self._packed(reduce, len(rows))(*rows)

  def give_up(self) -> None:
    """Do nothing: devices finish what they were given."""

  def _new_packed(self, reduce: Reduce, rows: int) -> packing.Packed:
    step = self._logits if rows == 2 else self._detections
    whole = functools.partial(step, reduce)
    return packing.Packed(whole, self._where, self._variables, rows)

  def _logits(
    self, reduce: Reduce, variables: Any, images: jax.Array, labels: jax.Array
  ) -> Mapping[str, jax.Array]:
    flat = images.reshape(-1, *images.shape[-self._item :])
    logits = self._model.apply(variables, flat).astype(jnp.float32)
    logits = logits.reshape(*images.shape[: -self._item], -1)
    return reduce_logits(reduce, logits, labels)

  def _detections(
    self,
    reduce: Reduce,
    variables: Any,
    images: jax.Array,
    labels: jax.Array,
    sizes: jax.Array,
  ) -> Mapping[str, jax.Array]:
    answer = self._model.apply(variables, images, sizes)
    if not isinstance(answer, Mapping):  # a segmenter's
      answer = {"classes": answer}
    return reduce_detections(reduce, answer, labels)


def reduce_logits(
  reduce: Reduce, logits: jax.Array, labels: jax.Array
) -> Mapping[str, jax.Array]:
  """Return the reduction of logits `[B, (T,) classes]`, and `finite` bool `[B]`."""
  inner = tuple(range(1, logits.ndim))
  finite = jnp.isfinite(logits).all(axis=inner)
  return {**reduce(logits, labels), "finite": finite}


def reduce_detections(
  reduce: Reduce, detections: Mapping[str, jax.Array], labels: jax.Array
) -> Mapping[str, jax.Array]:
  """Return the reduction of outputs by name, and `finite` bool `[B]`."""
  outputs = reduce(detections, labels)
  finite = jnp.ones(len(labels), bool)
  for name in ("scores", "boxes"):  # class ids are always
    if name in outputs:
      rows = jnp.isfinite(outputs[name]).reshape(len(labels), -1)
      finite &= rows.all(axis=1)
  return {**outputs, "finite": finite}


def unchanged(
  images: jax.Array,
  sizes: jax.Array | None,
  condition: Condition,
  keys: np.ndarray,
) -> jax.Array:
  """Return the images unchanged: the `Transform` of data that is not corrupted here."""
  return images


def corruptor(where: Mesh, edition: str, codec: str) -> Transform:
  """Return a transform that corrupts sharded batches of images on their devices.

  Args:
    where: the mesh.
    edition: edition of the corruptions.
    codec: `raw`, or `jpeg85` for the published sets' last JPEG.

  Returns:
    f(images uint8 `[B, H, W, 3]`, sizes, condition, keys uint32 `[B, 2]`) ->
    uint8 `[B, H, W, 3]`; clean images only pass through the codec.

  Raises:
    UserError: another codec.
  """
  _check_codec(codec, PICTURE_CODECS)

  def transform(
    images: jax.Array,
    sizes: jax.Array | None,
    condition: Condition,
    keys: np.ndarray,
  ) -> jax.Array:
    if condition.name:
      step = _corrupt_step(where, condition.name, edition)
      severity = np.int32(condition.level)
      images = step(images, severity, devices.put_batch(keys, where))
    if codec == "jpeg85":
      images = _jpeg_step(where)(images)
    return images

  return transform


def canvas_corruptor(where: Mesh, edition: str) -> Transform:
  """Return a transform that corrupts pictures of any size on their canvases.

  Returns:
    f(images uint8 `[B, H, W, 3]`, sizes int32 `[B, 2]`, condition, keys uint32
    `[B, 2]`) -> uint8 `[B, H, W, 3]`.
  """

  def transform(
    images: jax.Array,
    sizes: jax.Array | None,
    condition: Condition,
    keys: np.ndarray,
  ) -> jax.Array:
    if not condition.name:
      return images
    step = _corrupt_step(where, condition.name, edition, sized=True)
    severity = np.int32(condition.level)
    return step(images, severity, devices.put_batch(keys, where), sizes)

  return transform


def as_bgr(transform: Transform, where: Mesh) -> Transform:
  """Return a transform that corrupts pictures with their channels as BGR.

  OpenCV reads pictures so, and the authors corrupted them in that order.
  """

  def swapped(
    images: jax.Array,
    sizes: jax.Array | None,
    condition: Condition,
    keys: np.ndarray,
  ) -> jax.Array:
    if condition.clean:
      return images
    swap = _swap_step(where)
    return swap(transform(swap(images), sizes, condition, keys))

  return swapped


def sequencer(where: Mesh, edition: str, codec: str) -> Transform:
  """Return a transform that makes perturbation sequences of batches on their devices.

  Args:
    where: the mesh.
    edition: edition of the sequences.
    codec: `png`, or `h264` for the published videos' codec, on the host.

  Returns:
    f(images uint8 `[B, H, W, 3]`, sizes int32 `[B, 2]` or None, condition, keys
    uint32 `[B, 2]`) -> uint8 `[B, T, S, S, 3]`; the clean crop has T = 1.

  Raises:
    UserError: another codec.
  """
  _check_codec(codec, SEQUENCE_CODECS)

  def transform(
    images: jax.Array,
    sizes: jax.Array | None,
    condition: Condition,
    keys: np.ndarray,
  ) -> jax.Array:
    name = "" if condition.clean else condition.config
    step = _sequence_step(where, name, edition, sizes is not None)
    rows = [images, devices.put_batch(keys, where)]
    frames = step(*rows, *([] if sizes is None else [sizes]))
    if codec == "h264":
      frames = _through_h264(frames, condition.name, where)
    return frames

  return transform


def _check_codec(codec: str, codecs: Sequence[str]) -> None:
  if codec not in codecs:
    raise errors.unknown_error("codec that is made on the fly", codec, codecs)


@programs.cached
def _sequence_step(
  where: Mesh, name: str, edition: str, sized: bool
) -> programs.Program:
  from robust_tfds.corruptions.sequence import crop_batch, sequence_batch

  def step(
    images: jax.Array, keys: jax.Array, sizes: jax.Array | None = None
  ) -> jax.Array:
    if not name:
      crop = crop_batch(images, edition=edition, sizes=sizes)
      return crop[:, None]
    return jnp.asarray(
      sequence_batch(images, name, edition=edition, keys=keys, sizes=sizes)
    )

  return programs.Program(
    jax.shard_map(
      step,
      mesh=where,
      in_specs=(_ROWS,) * (3 if sized else 2),
      out_specs=_ROWS,
      check_vma=False,
    ),
    where,
    name=f"sequence {name} {edition} {sized}",
  )


def _through_h264(
  frames: jax.Array, perturbation: str, where: Mesh
) -> jax.Array:
  """Send every sequence through the codec, in threads: FFmpeg releases the GIL."""
  from robust_tfds.building import sequences

  if isinstance(frames, jax.ShapeDtypeStruct):
    return frames
  rows = devices.local_rows(frames)
  with concurrent.futures.ThreadPoolExecutor() as pool:
    coded = pool.map(lambda f: sequences.through_h264(f, perturbation), rows)
    return devices.put_batch(np.stack(list(coded)), where)


@programs.cached
def _corrupt_step(
  where: Mesh, name: str, edition: str, sized: bool = False
) -> programs.Program:
  def step(
    images: jax.Array,
    severity: jax.Array,
    keys: jax.Array,
    sizes: jax.Array | None = None,
  ) -> jax.Array:
    return jnp.asarray(
      corruptions.corrupt_batch(
        images, name, severity, edition=edition, keys=keys, sizes=sizes
      )
    )

  return programs.Program(
    jax.shard_map(
      step,
      mesh=where,
      in_specs=(_ROWS, _ALL, _ROWS, *[_ROWS] * sized),
      out_specs=_ROWS,
      check_vma=False,
    ),
    where,
    name=f"corrupt {name} {edition} {sized}" * plugins.is_code_alone(name),
  )


@programs.cached
def _swap_step(where: Mesh) -> programs.Program:
  """Return the step that turns RGB to BGR, and back."""
  step = jax.shard_map(
    lambda images: images[..., ::-1],
    mesh=where,
    in_specs=_ROWS,
    out_specs=_ROWS,
    check_vma=False,
  )
  return programs.Program(step, where, name="swap channels")


@programs.cached
def _jpeg_step(where: Mesh) -> programs.Program:
  """Return the last step of the published images: JPEG of quality 85, 4:2:0."""
  from robust_tfds.corruptions.ops import jpeg

  def step(images: jax.Array) -> jax.Array:
    return jpeg.roundtrip_batch(images, 85)

  return programs.Program(
    jax.shard_map(
      step, mesh=where, in_specs=_ROWS, out_specs=_ROWS, check_vma=False
    ),
    where,
    name="jpeg85",
  )

"""Clips of videos for models: decoded once, then perturbed and cropped on devices.

`Reader` decodes every video once per run and keeps the frames that any
condition shows to any model. MPEG perturbations need all frames: these go
through the encoders while the video is decoded, and only the small coded videos
are kept. So a long video needs no more memory than its shown frames.

`Show` puts a batch's frames onto the devices once. Under every condition the
frames that a model sees are perturbed and cropped there, a few at a time
(`clip_steps.py`). Coded videos are decoded on the host, in threads that run one
condition ahead.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval.pipeline import clip_steps, inputs
from eval.pipeline import views as views_lib
from robust_tfds import devices, errors, strings
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import canvas
from robust_tfds.corruptions import video as perturbations
from robust_tfds.corruptions.ops import mpeg
from robust_tfds.reading import videos as video_files

_WORKERS = os.cpu_count() or 1
_PART = 16  # frames of a video worked on at once, at the most
_PART_PIXELS = 1 << 25  # limit over all videos of a device
# Of videos, where a plan needs one: ten seconds of UCF101.
_USUAL_FRAMES, _USUAL_PX = 300, (240, 320)

Shown = Mapping[tuple[Condition, views_lib.Clip], np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
  """One decoded video.

  Attributes:
    example: its features except the video.
    frames: uint8 `[N, H, W, 3]`, the shown frames.
    numbers: int64 `[N]`, their numbers, ascending.
    num_frames: number of frames of the video.
    fps: frames per second.
    shown: (condition, clip) -> numbers of the frames shown, int64 `[views,
      frames]`; for clean and the temporal conditions.
    coded: the whole video under each MPEG condition, encoded.
  """

  example: Mapping[str, Any]
  frames: np.ndarray
  numbers: np.ndarray
  num_frames: int
  fps: float
  shown: Shown
  coded: Mapping[Condition, bytes]

  @property
  def size(self) -> tuple[int, int]:
    """The (height, width) in px."""
    return self.frames.shape[1], self.frames.shape[2]

  @property
  def nbytes(self) -> int:
    """The bytes of all that is kept."""
    return self.frames.nbytes + sum(map(len, self.coded.values()))

  @property
  def plain_numbers(self) -> np.ndarray:
    """The numbers of the frames under conditions that do not choose frames."""
    shown = [x.ravel() for (c, _), x in self.shown.items() if c.clean]
    return np.unique(np.concatenate(shown))


@dataclasses.dataclass(frozen=True)
class Batch(inputs.Batch):
  """A batch whose `image` holds the shown frames on canvases: uint8 `[B, F, H, W, 3]`.

  Attributes:
    videos: the valid rows, without their frames.
  """

  videos: Sequence[Row] = ()


class Reader:
  """A reader of videos, each decoded once for all conditions and models."""

  def __init__(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
    *,
    seed: int,
    dataset: str,
    edition: str,
    views: int,
    sampling: str = "dense",
  ):
    """Create the reader.

    Args:
      conditions: the conditions to make; only clean for prepared ones.
      specs: `models.video.spec.VideoSpec` of the models, by label.
      dataset: name of the data set in the videos' keys.
      views: number of clips of a video.
      sampling: `dense` or `uniform`, see `views.py`.
    """
    self._source, self._seed, self._dataset = source, seed, dataset
    self._views = views_lib.Views(views, sampling, edition)
    self._edition = edition
    self._specs = list(specs.values())
    self._clips = list(dict.fromkeys(clip_of(s) for s in self._specs))
    named = [c for c in conditions if c.name]
    self._codecs = [c for c in named if perturbations.is_codec(c.name)]
    self._temporal = [c for c in named if perturbations.is_temporal(c.name)]
    self._moved = [
      c for c in named if c not in self._codecs and c not in self._temporal
    ]

  @property
  def usual_nbytes(self) -> int:
    """The bytes of a usual video's frames, before one is read."""
    shown = sum(clip.frames for clip in self._clips) * self._views.count
    count = min(shown * (1 + len(self._temporal)), _USUAL_FRAMES)
    return max(count, 1) * _USUAL_PX[0] * _USUAL_PX[1] * 3

  def rows(self, start: int, stop: int | None = None) -> Iterator[Row]:
    """Yield rows `start` to `stop` of this host, decoded in threads.

    Raises:
      reading.videos.BrokenVideoError: a file that cannot be decoded.
      UserError: frames that a model's resize rule cannot be applied to.
    """
    examples = self._source.rows(start, stop, skipped=("video",))
    ahead: collections.deque[concurrent.futures.Future[Row]]
    ahead = collections.deque()
    with contextlib.ExitStack() as stack:
      pool = concurrent.futures.ThreadPoolExecutor(
        _WORKERS, thread_name_prefix="videos"
      )
      stack.callback(pool.shutdown, cancel_futures=True)
      for example in examples:
        ahead.append(pool.submit(self._row, example))
        if len(ahead) > _WORKERS:
          yield ahead.popleft().result()
      while ahead:
        yield ahead.popleft().result()

  def group(self, row: Row) -> Hashable:
    """Return the canvas; on several hosts all videos share one group."""
    return canvas.shape(*row.size) if self._source.host.count == 1 else ()

  def most(self, group: Hashable) -> int:
    """Return the batch size, see `blocks.Reader`."""
    del group
    return self._source.batch_size

  def batch(self, rows: Sequence[Row]) -> Batch:
    """Return at most `batch_size` videos, padded, on a canvas that holds them all."""
    size = self._source.batch_size
    image, sizes = _canvases([r.frames for r in rows], size)
    return Batch(
      image=image,
      size=sizes,
      videos=[dataclasses.replace(r, frames=r.frames[:0]) for r in rows],
      **inputs.described_rows([r.example for r in rows], size),
    )

  def _row(self, example: Mapping[str, Any]) -> Row:
    text = strings.text(example["example_id"])
    try:
      return self._decoded(example, text)
    except errors.UserError as e:
      raise type(e)(f"{text}: {e}") from e

  def _decoded(self, example: Mapping[str, Any], text: str) -> Row:
    fps = float(example["fps"])
    shown: dict[tuple[Condition, views_lib.Clip], np.ndarray] = {}
    num_frames = 0

    def choose(count: int) -> list[int]:
      nonlocal num_frames
      num_frames = count
      for condition in (Condition(), *self._temporal):
        key = condition.key(self._seed, self._dataset, text)
        for clip in self._clips:
          shown[condition, clip] = self._views.numbers(
            count, fps, condition, key, clip
          )
      every = np.concatenate([x.ravel() for x in shown.values()])
      return np.unique(every).tolist()

    with contextlib.ExitStack() as stack:
      encoders = {
        c: stack.enter_context(perturbations.encoder(c.name, c.level, fps))
        for c in self._codecs
      }

      def code(frame: np.ndarray) -> None:
        for encoder in encoders.values():
          encoder.add(frame)

      numbers, frames = [], []
      for number, frame in video_files.frames_at(
        example["video"], choose, watch=code if encoders else None
      ):
        numbers.append(number)
        frames.append(frame)
      coded = {c: encoder.finish() for c, encoder in encoders.items()}
    self._check_size(frames[0].shape[:2])
    return Row(
      example={k: v for k, v in example.items() if k != "video"},
      frames=np.stack(frames),
      numbers=np.array(numbers),
      num_frames=num_frames,
      fps=fps,
      shown=shown,
      coded=coded,
    )

  def _check_size(self, shape: tuple[int, int]) -> None:
    """Raise UserError unless all rules can be applied to frames of this size."""
    canvas.shape(*shape)
    for spec in self._specs:
      clip_steps.taps_of(spec.geometry, *shape)


def clip_of(spec: Any) -> views_lib.Clip:
  """Return the clip of a model's spec."""
  return views_lib.Clip(spec.frames, spec.rate)


@dataclasses.dataclass(eq=False)
class Placed:
  """A batch on the devices, or its shapes.

  Attributes:
    batch: the batch on the host.
    frames: uint8 `[B, F, H, W, 3]` of this host's rows.
    coded: the frames of coded videos; None for shapes.
    clips: the last clips under `condition`, for further models.
    condition: the condition of `clips`.
  """

  batch: Batch
  frames: Any
  coded: _Coded | None
  clips: dict[Hashable, Any] = dataclasses.field(default_factory=dict)
  condition: Condition | None = None


@dataclasses.dataclass(frozen=True)
class _Frames:
  """The frames on the devices, and their numbers in their videos.

  Attributes:
    array: uint8 `[B, F, H, W, 3]`.
    numbers: numbers for the valid rows, int64 `[at most F]` each.
  """

  array: Any
  numbers: Sequence[np.ndarray]


class Show:
  """The inputs that models get from videos; nothing waits for the devices."""

  several = False  # the coded videos of a batch are decoded beside it

  def __init__(
    self,
    mesh: Mesh,
    specs: Mapping[str, Any],
    *,
    seed: int,
    dataset: str,
    edition: str,
    fly: bool = True,
  ):
    """Create it without compiling.

    Args:
      mesh: all devices.
      specs: the models' specs, by label.

      dataset: name of the data set in the videos' keys. fly: whether videos are
      perturbed here; else they are shown unchanged.
    """
    self._mesh, self._here = mesh, devices.here(mesh)
    self._seed, self._dataset, self._edition = seed, dataset, edition
    self._fly = fly
    kinds = collections.Counter(map(_kind, specs.values()))
    self._again = {kind for kind, count in kinds.items() if count > 1}

  def put(self, batch: inputs.Batch) -> Placed:
    """Put the frames of a `Batch` onto the devices, once."""
    assert isinstance(batch, Batch)
    frames = devices.put_batch(batch.image, self._here)
    return Placed(batch, frames, _Coded(batch))

  def shapes(self, batch: inputs.Batch) -> Placed:
    """Return the result of `put` as shapes."""
    assert isinstance(batch, Batch)
    return Placed(batch, self._shape(batch.image), None)

  def see(
    self, placed: Placed, condition: Condition, spec: Any
  ) -> tuple[jax.Array, None]:
    """Return the clips of a model under a condition.

    Args:
      placed: the result of `put` or `shapes`.

    Returns:
      uint8 `[B, views, frames, S, S, 3]`, rows of all hosts, and None.
    """
    condition = condition if self._fly else Condition()
    if placed.condition != condition:
      placed.condition, placed.clips = condition, {}
    kind = _kind(spec)
    if kind not in placed.clips:
      clips = self._clips(placed, condition, spec)
      if kind not in self._again:
        return clips, None
      placed.clips[kind] = clips
    return placed.clips[kind], None

  def _clips(self, placed: Placed, condition: Condition, spec: Any) -> Any:
    frames = self._frames(placed, condition)
    plan = _Plan.from_batch(
      placed.batch, frames, condition, spec, self._here.size
    )
    sizes, taps = placed.batch.size, None
    parts = []
    for i in range(plan.parts):
      index = self._give(placed, plan.index[:, i])
      part = clip_steps.gather(self._here)(frames.array, index)
      if _frame_by_frame(condition):
        part = self._perturbed(placed, condition, part, plan.numbers[:, i])
        sizes = perturbations.sizes_after(
          condition.name, self._edition, placed.batch.size
        )
      if taps is None:
        rows = clip_steps.batch_taps(
          spec.geometry, sizes, placed.batch.mask, placed.batch.example_id
        )
        taps = [self._give(placed, x) for x in rows]
      parts.append(clip_steps.crop(self._here)(part, *taps))
    step = clip_steps.assemble(self._here, *plan.shape, spec.input_px)
    clips = step(self._give(placed, plan.order), *parts)
    return devices.join_hosts(clips, self._mesh)

  def _frames(self, placed: Placed, condition: Condition) -> _Frames:
    """Return the frames that a condition is made from."""
    videos = placed.batch.videos
    if not (condition.name and perturbations.is_codec(condition.name)):
      return _Frames(placed.frames, [v.numbers for v in videos])
    numbers = [v.plain_numbers for v in videos]
    if placed.coded is None:
      batch, _, *canvas_shape = placed.batch.image.shape
      count = _room(max(map(len, numbers), default=1))
      shape = (batch, count, *canvas_shape)
      frames = np.broadcast_to(np.uint8(0), shape)
      return _Frames(self._shape(frames), numbers)
    if placed.coded.condition != condition:
      placed.coded.load(condition, self._here)
    return _Frames(placed.coded.frames, numbers)

  def _perturbed(
    self, placed: Placed, condition: Condition, part: Any, numbers: np.ndarray
  ) -> Any:
    """Return frames `[B, n, ...]` of some numbers `[B, n]` under a condition."""
    batch, shape = placed.batch, numbers.shape
    keys = condition.keys(self._seed, self._dataset, batch.example_id)
    sizes = np.repeat(batch.size, shape[1], axis=0)
    drawn = perturbations.draws(
      condition.name,
      condition.level,
      edition=self._edition,
      sizes=sizes,
      keys=np.repeat(keys, shape[1], axis=0),
      numbers=numbers.ravel(),
    )
    rows = list(drawn.values())
    sized = bool((batch.size != batch.image.shape[2:4]).any())
    if sized:
      rows.append(sizes)
    given = [self._give(placed, x.reshape(*shape, *x.shape[1:])) for x in rows]
    step = clip_steps.perturb(self._here, condition.name, tuple(drawn), sized)
    return step(np.int32(condition.level), part, *given)

  def _give(self, placed: Placed, rows: np.ndarray) -> Any:
    """Put a host's array onto its devices, or return its shape."""
    if placed.coded is None:
      return self._shape(rows)
    return devices.put_batch(rows, self._here)

  def _shape(self, rows: np.ndarray) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
      rows.shape, rows.dtype, sharding=devices.rows(self._here)
    )


@dataclasses.dataclass(frozen=True)
class _Plan:
  """The order in which frames are processed, part by part.

  Attributes:
    index: int32 `[B, parts, n]`, places among the frames on the devices.
    numbers: int64 `[B, parts, n]`, the frames' numbers in their videos.
    order: int32 `[B, views * frames]`, places among all parts' frames.
    shape: (views, frames).
  """

  index: np.ndarray
  numbers: np.ndarray
  order: np.ndarray
  shape: tuple[int, int]

  @property
  def parts(self) -> int:
    """The number of parts."""
    return self.index.shape[1]

  @classmethod
  def from_batch(
    cls,
    batch: Batch,
    frames: _Frames,
    condition: Condition,
    spec: Any,
    num_devices: int,
  ) -> _Plan:
    """Create the plan of a batch; rows beyond the videos repeat frame 0."""
    temporal = condition.name and perturbations.is_temporal(condition.name)
    key = condition if temporal else Condition()
    shown = [v.shown[key, clip_of(spec)] for v in batch.videos]
    shape = shown[0].shape if shown else (1, spec.frames)
    distinct = [np.unique(x, return_inverse=True) for x in shown]
    pixels = batch.image.shape[2] * batch.image.shape[3]
    part = _part(len(batch.mask) // num_devices * pixels, shape[0] * shape[1])
    most = max((len(numbers) for numbers, _ in distinct), default=1)
    parts = -(-most // part)
    numbers = np.zeros((len(batch.mask), parts * part), np.int64)
    index = np.zeros(numbers.shape, np.int32)
    order = np.zeros((len(batch.mask), shape[0] * shape[1]), np.int32)
    for i, (some, inverse) in enumerate(distinct):
      numbers[i] = some[0]
      numbers[i, : len(some)] = some
      index[i] = np.searchsorted(frames.numbers[i], numbers[i])
      order[i] = inverse.ravel()
    split = (len(batch.mask), parts, part)
    return cls(index.reshape(split), numbers.reshape(split), order, shape)


class _Coded:
  """The frames of a batch's coded videos, decoded one condition ahead.

  Attributes:
    condition: the condition of `frames`.

    frames: uint8 `[B, F, H, W, 3]` on the devices.
  """

  def __init__(self, batch: Batch):
    """Start with the first condition."""
    self.condition: Condition | None = None
    self.frames: Any = None
    self._batch = batch
    listed = list(batch.videos[0].coded) if batch.videos else []
    self._waiting = collections.deque(listed)
    self._started: dict[Condition, list[concurrent.futures.Future]] = {}
    self._start_next()

  def load(self, condition: Condition, where: Mesh) -> None:
    """Put a condition's frames onto the devices, and start with the next.

    Raises:
      UserError: a codec that returned another number of frames.
    """
    if condition not in self._started:
      self._start(condition)
    videos = [f.result() for f in self._started.pop(condition)]
    self._start_next()
    size = self._batch.image.shape
    image, _ = _canvases(videos, size[0], (size[2], size[3]))
    self.condition = condition
    self.frames = devices.put_batch(image, where)

  def _start_next(self) -> None:
    if self._waiting:
      self._start(self._waiting[0])

  def _start(self, condition: Condition) -> None:
    if condition in self._waiting:
      self._waiting.remove(condition)
    self._started[condition] = [
      _pool().submit(_decoded, video, condition, size)
      for video, size in zip(self._batch.videos, self._batch.size.tolist())
    ]


@functools.cache
def _pool() -> concurrent.futures.ThreadPoolExecutor:
  """Return the threads that decode coded videos; FFmpeg releases Python's lock."""
  return concurrent.futures.ThreadPoolExecutor(
    _WORKERS, thread_name_prefix="coded videos"
  )


def _decoded(
  video: Row, condition: Condition, size: tuple[int, int]
) -> np.ndarray:
  """Return the shown frames of a coded video."""
  try:
    return mpeg.frames_at(
      video.coded[condition],
      video.num_frames,
      size,
      video.plain_numbers.tolist(),
    )
  except errors.UserError as e:
    text = strings.text(video.example["example_id"])
    raise type(e)(f"{text}: {condition.config}: {e}") from e


def _kind(spec: Any) -> Hashable:
  """Return a key of the model's kind; models of one kind get the same clips."""
  return clip_of(spec), spec.geometry, spec.input_px


def _frame_by_frame(condition: Condition) -> bool:
  name = condition.name
  return bool(name) and not (
    perturbations.is_temporal(name) or perturbations.is_codec(name)
  )


def _room(count: int) -> int:
  """Return one of few frame counts that others are padded to: 8, 12, 16, 24, 32, ..."""
  power = max(1 << (max(count, 1) - 1).bit_length(), 8)
  return power * 3 // 4 if power > 8 and count <= power * 3 // 4 else power


def _part(pixels: int, slots: int) -> int:
  """Return how many frames of each video are processed at once.

  Args:
    pixels: number of pixels of one frame of all videos of a device.
    slots: number of frames of a model's clips.
  """
  most = _PART
  while most > 1 and most * pixels > _PART_PIXELS:
    most //= 2
  return min(most, -(-slots // 4) * 4)


def _canvases(
  videos: Sequence[np.ndarray], size: int, shape: tuple[int, int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
  """Return videos on canvases, padded to a batch.

  Args:
    videos: uint8 `[n, h, w, 3]` each.
    shape: (height, width) of the canvas; None: the smallest for all.

  Returns:
    uint8 `[size, F, H, W, 3]` and int32 `[size, 2]`, (height, width) of each; rows
    beyond the videos are black and fill their canvases.
  """
  sizes = np.array([v.shape[1:3] for v in videos], np.int32).reshape(-1, 2)
  if shape is None:
    shape = canvas.shape(*sizes.max(axis=0, initial=1).tolist())
  count = _room(max((len(v) for v in videos), default=1))
  image = np.zeros((size, count, *shape, 3), np.uint8)
  for whole, video in zip(image, videos):
    whole[: len(video), : video.shape[1], : video.shape[2]] = video
  padding = np.tile(np.array(shape, np.int32), (size - len(videos), 1))
  return image, np.concatenate([sizes, padding])

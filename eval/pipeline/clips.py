"""Clips of videos for a model: perturbed, sampled, resized, cropped.

Views are placed as PySlowFast places them (docs/specs/video.md section 2): a
clip spans frames * rate / 30 seconds; view v of n starts at v / n of what is
left of the video, its frames are evenly spaced, truncated and kept inside.
Temporal perturbations act on the whole video first, as index maps, before any
pixel is there. Only frames that some view shows are brought to RGB, perturbed
and cropped, a few at a time: a long video needs no more memory than a short
one.
"""

from __future__ import annotations

import concurrent.futures
import itertools
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import video as perturbations
from robust_tfds.datasets import geometry
from robust_tfds.eval.pipeline import inputs
from robust_tfds.reading import videos as video_files

_NATIVE_FPS = 30.0  # what a model's rate counts in
_PART = 16  # frames perturbed at once
# Number of frames -> the numbers of those that are needed, ascending.
_Choose = Callable[[int], list[int]]
_NumberedFrame = tuple[int, np.ndarray]


def view_indices(
  num_frames: int, fps: float, frames: int, rate: int, views: int
) -> np.ndarray:
  """Which frames each view shows.

  Args:
    num_frames: of the video.
    fps: of the video.
    frames: of a clip.
    rate: stride between a clip's frames at 30 fps.
    views: how many clips, evenly placed.

  Returns:
    int64 `[views, frames]`, in 0..num_frames-1; short videos repeat their last
    frame.

  >>> view_indices(20, 30.0, 4, 2, 2).tolist()
  [[0, 2, 4, 7], [6, 8, 10, 13]]
  """
  span = rate * frames / _NATIVE_FPS * fps
  left = max(num_frames - span, 0)
  start = left * np.arange(views) / views
  at = np.linspace(start, start + span - 1, frames, axis=1)
  return np.clip(at, 0, num_frames - 1).astype(np.int64)


def uniform_indices(num_frames: int, frames: int) -> np.ndarray:
  """One view over the whole video: the middles of equal parts.

  How Something-Something v2 is sampled (docs/specs/video.md section 2): parts
  of (num_frames - 1) / frames, the middle of each.

  Args:
    num_frames: of the video.
    frames: of the clip.

  Returns:
    int64 `[1, frames]`.

  >>> uniform_indices(41, 4).tolist()
  [[5, 15, 25, 35]]
  """
  part = (num_frames - 1) / frames
  starts = np.round(part * np.arange(frames)).astype(np.int64)
  ends = np.round(part * np.arange(1, frames + 1)).astype(np.int64)
  return ((starts + ends) // 2)[None]


def sample_clips(
  video: bytes | np.ndarray,
  fps: float,
  name: str,
  severity: int,
  edition: str,
  key: jax.typing.ArrayLike,
  spec: Any,
  views: int,
  sampling: str = "dense",
) -> np.ndarray:
  """The clips of one video under one condition.

  Args:
    video: a video file's bytes, or its frames, uint8 `[T, H, W, 3]`.
    fps: of the video.
    name: of the perturbation; empty for clean.
    severity: 1-5.
    edition: of the perturbations.
    key: JAX key, or its raw words uint32 `[2]`.
    spec: `models.video.spec.VideoSpec`.
    views: how many clips.
    sampling: `dense` (`view_indices`) or `uniform` (`uniform_indices`).

  Returns:
    uint8 `[views, frames, S, S, 3]`, S the spec's `input_px`.

  Raises:
    reading.videos.BrokenVideoError: a file that cannot be decoded.
  """
  temporal = bool(name) and perturbations.is_temporal(name)
  clip_frames = np.empty(0, np.int64)
  key = jnp.asarray(key)

  def choose(count: int) -> list[int]:
    nonlocal clip_frames
    order = np.arange(count)
    if temporal:
      order = perturbations.frame_indices(
        count, name, severity, edition=edition, key=key
      )
    if sampling == "uniform":
      view = uniform_indices(len(order), spec.frames)
    else:
      view = view_indices(len(order), fps, spec.frames, spec.rate, views)
    clip_frames = order[view]
    return np.unique(clip_frames).tolist()

  if name and perturbations.is_codec(name):
    perturbed = _through_mpeg(video, fps, name, severity, choose)
  else:
    perturbed = _frame_by_frame(
      video, "" if temporal else name, severity, edition, key, choose
    )
  cropped = {number: _cropped(frame, spec) for number, frame in perturbed}
  flat = np.stack([cropped[number] for number in clip_frames.ravel().tolist()])
  return flat.reshape(*clip_frames.shape, *flat.shape[1:])


def _frame_by_frame(
  video: bytes | np.ndarray,
  name: str,
  severity: int,
  edition: str,
  key: jax.Array,
  choose: _Choose,
) -> Iterator[_NumberedFrame]:
  """(number, frame) of the chosen frames, perturbed in parts of one length."""
  frames = _chosen(video, choose)
  if not name:
    yield from frames
    return
  while part := list(itertools.islice(frames, _PART)):
    numbers = np.array([number for number, _ in part])
    spare = _PART - len(part)  # one length: one compilation
    clip = np.stack([frame for _, frame in part] + [part[0][1]] * spare)
    perturbed = perturbations.perturb_frames(
      clip,
      name,
      severity,
      edition=edition,
      key=key,
      first=np.resize(numbers, _PART),
    )
    yield from zip(numbers.tolist(), np.asarray(perturbed))


def _through_mpeg(
  video: bytes | np.ndarray,
  fps: float,
  name: str,
  severity: int,
  choose: _Choose,
) -> Iterator[_NumberedFrame]:
  """(number, frame) of the chosen frames of the whole video, coded anew."""
  count = 0

  def counted() -> Iterator[np.ndarray]:
    nonlocal count
    for frame in (
      video_files.iterate(video) if isinstance(video, bytes) else video
    ):
      count += 1
      yield frame

  coded = enumerate(perturbations.stream(counted(), name, severity, fps))
  first = next(coded)  # the whole video is encoded by now
  numbers = choose(count)
  for number, frame in itertools.chain([first], coded):
    if number in numbers:
      yield number, frame
    if number == numbers[-1]:
      return


def _chosen(
  video: bytes | np.ndarray, choose: _Choose
) -> Iterator[_NumberedFrame]:
  if isinstance(video, bytes):
    yield from video_files.frames_at(video, choose)
  else:
    yield from ((number, video[number]) for number in choose(len(video)))


def _cropped(frame: np.ndarray, spec: Any) -> np.ndarray:
  """A frame by the spec's resize rule and centre crop."""
  from PIL import Image

  return np.asarray(geometry.apply(Image.fromarray(frame), spec.geometry))


class Clips:
  """A source of videos as batches of one model's clips under one condition."""

  def __init__(
    self,
    source: inputs.Source,
    condition: Any,
    spec: Any,
    *,
    seed: int,
    dataset: str,
    edition: str,
    views: int,
    sampling: str = "dense",
  ):
    """See `sample_clips`; the key of a video follows from its id."""
    self._source, self._condition, self._spec = source, condition, spec
    self._seed, self._dataset = seed, dataset
    self._edition, self._views, self._sampling = edition, views, sampling
    self.steps, self.shape = source.steps, (0,)  # one size for all

  def batches(self) -> Iterator[inputs.Batch]:
    """`image` uint8 `[B, views, frames, S, S, 3]`; the last batch is padded."""
    yield from self._source.prefetch(self._batches())

  def _batches(self) -> Iterator[inputs.Batch]:
    size = self._source.batch_size
    with concurrent.futures.ThreadPoolExecutor() as pool:
      examples = self._source.examples(skipped=("video",))
      for _ in range(self.steps):
        rows = list(itertools.islice(examples, size))
        yield self._batch(rows, list(pool.map(self._clips, rows)), size)

  def _clips(self, example: dict[str, Any]) -> np.ndarray:
    condition, text = self._condition, inputs.text(example["example_id"])
    key = condition.key(self._seed, self._dataset, text)
    try:
      return sample_clips(
        example["video"],
        float(example["fps"]),
        condition.name,
        condition.level,
        self._edition,
        key,
        self._spec,
        self._views,
        self._sampling,
      )
    except errors.UserError as e:
      raise type(e)(f"{text}: {e}") from e

  def _batch(
    self,
    rows: Sequence[Mapping[str, Any]],
    clips: Sequence[np.ndarray],
    size: int,
  ) -> inputs.Batch:
    spec, padding = self._spec, size - len(rows)
    side = spec.input_px
    image = np.zeros((size, self._views, spec.frames, side, side, 3), np.uint8)
    for i, clip in enumerate(clips):
      image[i] = clip
    ids = [inputs.text(r["example_id"]) for r in rows]
    groups = [inputs.text(r["group_id"]) for r in rows]
    return inputs.Batch(
      image=image,
      size=np.full((size, 2), side, np.int32),
      mask=np.arange(size) < len(rows),
      example_id=ids + [""] * padding,
      group_id=groups + [""] * padding,
      frame=np.zeros(size, np.int32),
      label=np.array([r["label"] for r in rows] + [-1] * padding, np.int32),
      examples=[{k: v for k, v in r.items() if k != "video"} for r in rows],
    )

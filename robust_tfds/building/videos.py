"""The base of action video sets: codecs, streaming of long videos.

An example is one video: `video` uint8 `[T, H, W, 3]`, `label`, `fps` and the
keys. Configs: `clean` and `<perturbation>_<severity>` are stored lossless (FFV1
in AVI), with the suffix `_h264` as H.264, which is smaller and not exact;
`source` holds the unchanged source files, from which the evaluator makes the
lossless frames on the fly. Temporal perturbations change the length
(`corruptions.perturb_video`).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from robust_tfds import conditions, errors, movies
from robust_tfds.building import base, movie_feature, scratch
from robust_tfds.building import source as source_lib
from robust_tfds.reading import decoders
from robust_tfds.reading import videos as video_files

LOSSLESS, H264 = "lossless", "h264"
# Close to transparent (a CRF below x264's own 23), every size and colour kept.
_X264 = {"preset": "medium", "crf": "18"}
_PART = 64  # frames that are perturbed at once
_NATIVE_FPS = 30.0  # what a model's rate counts in
# Of a video's file: an example has 2 GiB (protobuf's limit), and other features.
_MAX_BYTES = (1 << 31) - (1 << 20)


class VideoFile(Protocol):
  """A picklable reference to a video's file, which is read on demand."""

  def data(self) -> bytes:
    """Return the file's bytes."""


@dataclasses.dataclass(frozen=True)
class Source(source_lib.Part):
  """A video before decoding.

  Attributes:
    example_id: unique and stable: the file's name.
    label: class id.
    file: the video's file.
    fps: frames per second; None: that in the file.
    extra: further features of the example.
    frames: stored frames, if they were decoded before.
    group_id: what it was cut from, perhaps with other clips; the example itself
      if empty.
  """

  example_id: str
  label: int
  file: VideoFile
  fps: float | None = None
  extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  frames: scratch.Pixels | None = None
  group_id: str = ""

  def decoded(self, folder: str) -> Source:
    """Return the source with frames in a scratch folder.

    Raises:
      UserError: a broken video; the message names it.
    """
    data = self.file.data()
    try:
      fps = self.fps or video_files.frame_rate(data)
      frames = scratch.keep(folder, video_files.iterate(data))
    except errors.UserError as e:
      raise type(e)(f"{self.example_id}: {e}") from e
    return dataclasses.replace(self, fps=fps, frames=frames)


Video = bytes | scratch.Pixels  # a file, or what was decoded of one
Row = tuple[Source, bytes, float]  # (source, encoded video, frames per second)


class Builder(
  base.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the video datasets."""

  KIND = "videos"
  FAMILY: ClassVar[conditions.Family | None] = conditions.VIDEOS
  EDITION = "paper"
  CODECS: ClassVar[tuple[str, ...]] = (LOSSLESS, H264)
  CHUNK = 4
  HAS_SOURCE = True

  def example_features(self) -> dict[str, Any]:
    """Return the features of a video, its label and rate."""
    return {
      "video": movie_feature.Movie((None, None, None, 3)),
      "label": self.label_feature(),
      "fps": np.float32,
      **self.extra_features(),
    }

  def extra_features(self) -> dict[str, Any]:
    """Return further features of the dataset's videos; `Source.extra` fills
    them.
    """
    return {}

  def _sources(self, dl_manager: Any) -> Sequence[Source]:
    """Return the clean videos; implemented by each dataset."""
    raise NotImplementedError

  def _encoder(self) -> Callable[[Sequence[Source]], list[Row]]:
    return functools.partial(encode_chunk, recipe=self._recipe())

  def _to_example(self) -> Callable[[Row], tuple[str, dict[str, Any]]]:
    return example

  def _decoder(self) -> Callable[[], str] | None:
    """Return what names PyAV's version, if videos are decoded."""
    return decoders.video_decoder if self._decodes() else None

  def _decodes(self) -> bool:
    return self.config.variant != base.SOURCE


def example(row: Row) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it."""
  source, data, fps = row
  return source.example_id, {
    "video": data,
    "label": source.label,
    "fps": fps,
    **base.example_keys(source.example_id, source.group_id),
    **source.extra,
  }


def encode_chunk(
  sources: Sequence[Source], *, recipe: base.Recipe
) -> list[Row]:
  """Return the rows of some sources under one condition; this runs in workers
  too.

  Raises:
    UserError: a broken video; the message names it.
  """
  rows = []
  for source in sources:
    video: Video = source.frames or source.file.data()
    try:
      data, fps = _encoded(video, source, recipe)
      if len(data) > _MAX_BYTES:
        raise errors.UserError(
          f"the video has {len(data):,} bytes, of which an example holds at most"
          f" {_MAX_BYTES:,}. Cut it into clips, or make it smaller."
        )
    except errors.UserError as e:
      raise type(e)(f"{source.example_id}: {e}") from e
    rows.append((source, data, fps))
  return rows


def _encoded(
  video: Video, source: Source, recipe: base.Recipe
) -> tuple[bytes, float]:
  """Return a video's file under a recipe's condition, and its frames per
  second.
  """
  fps = source.fps
  if not fps:
    assert isinstance(video, bytes)  # `decoded` fills the rate in
    fps = video_files.frame_rate(video)
  if recipe.config.variant == base.SOURCE:
    assert isinstance(video, bytes)  # files as they are: nothing is decoded
    return video, fps
  frames = perturbed(video, source.example_id, recipe, fps)
  return encode(frames, fps, recipe.config.codec), fps


def _frames(video: Video) -> Iterator[np.ndarray]:
  if isinstance(video, bytes):
    return video_files.iterate(video)
  return video.frames()


def encode(
  frames: Iterator[np.ndarray], fps: float, codec: str = LOSSLESS
) -> bytes:
  """Encode frames as a video: FFV1, which keeps RGB bit for bit, or H.264."""
  if codec == H264:
    return movies.encode(frames, options=_X264, fps=fps)
  return movies.encode(
    frames,
    codec="ffv1",
    options={},
    pixel_format="bgr0",
    fps=fps,
    container="avi",
  )


def perturbed(
  data: Video, example_id: str, recipe: base.Recipe, fps: float
) -> Iterator[np.ndarray]:
  """Yield the frames of a video under a recipe's condition, one by one.

  At most half a GiB of frames is in memory for any length: frame-by-frame
  perturbations work on parts, MPEG streams, temporal ones decode as often as
  needed to gather the frames of their index map.
  """
  import jax.numpy as jnp

  from robust_tfds.corruptions import video as perturbations

  condition, edition = recipe.condition, recipe.edition
  if condition.clean:
    yield from _frames(data)
    return
  key = jnp.asarray(recipe.keys([example_id])[0])
  if perturbations.is_temporal(condition.name):
    count = frame_count(data)
    index = perturbations.frame_indices(
      count, condition.name, condition.level, edition=edition, key=key
    )
    yield from frames_at(data, index)
  elif perturbations.is_codec(condition.name):
    frames = _frames(data)
    yield from perturbations.stream(
      frames, condition.name, condition.level, fps
    )
  else:
    yield from _perturb_parts(_frames(data), condition, edition, key)


def frame_count(video: Video) -> int:
  """Return how many frames a video has; a file is decoded for this."""
  if isinstance(video, bytes):
    return sum(1 for _ in video_files.iterate(video))
  return video.shape[0]


def _perturb_parts(
  frames: Iterator[np.ndarray],
  condition: conditions.Condition,
  edition: str,
  key: Any,
) -> Iterator[np.ndarray]:
  from robust_tfds.corruptions import video as perturbations

  first = 0
  while part := list(itertools.islice(frames, _PART)):
    yield from np.asarray(
      perturbations.perturb_frames(
        np.stack(part),
        condition.name,
        condition.level,
        edition=edition,
        key=key,
        first=first,
      )
    )
    first += len(part)


def clip_numbers(
  num_frames: int,
  fps: float,
  frames: int,
  rate: int,
  starts: np.ndarray,
  parts: int = 1,
) -> np.ndarray:
  """Return the frame numbers of some clips of a video, placed like
  PySlowFast's.

  A clip spans frames * rate / 30 seconds (docs/evidence/specs/video.md section 2).

  Args:
    rate: stride between a clip's frames at 30 fps.
    starts: `[clips]` in 0..parts, where each clip starts in the remaining length of
      the video.
    parts: number of parts of that length.

  Returns:
    int64 `[clips, frames]`, in 0..num_frames-1; short videos repeat their last
    frame.
  """
  span = rate * frames / _NATIVE_FPS * fps
  start = max(num_frames - span, 0) * starts / parts
  numbers = np.linspace(start, start + span - 1, frames, axis=1)
  return np.clip(numbers, 0, num_frames - 1).astype(np.int64)


def frames_at(
  data: Video, index: np.ndarray, held_bytes: int = 512 << 20
) -> Iterator[np.ndarray]:
  """Yield a video's frames in any order, holding few of them at a time.

  Args:
    data: the video's file, or its stored frames.
    index: int `[N]`, the numbers of the frames in the order to yield them.
    held_bytes: largest size of held frames; the file is decoded once per so
      many bytes of the result, up to the last frame needed.
  """
  if not isinstance(data, bytes):
    yield from map(data.frame, index.tolist())
    return
  first = next(iter(video_files.iterate(data)))
  most = max(1, held_bytes // first.nbytes)
  for start in range(0, len(index), most):
    part = index[start : start + most].tolist()
    numbers, last = set(part), max(part)
    held = {}
    for number, frame in enumerate(video_files.iterate(data)):
      if number in numbers:
        held[number] = frame
      if number == last:
        break
    yield from (held[number] for number in part)

"""What every `*_p` set of action videos shares: configs, codecs, streaming.

An example is one video: `video` uint8 `[T, H, W, 3]`, `label`, `fps`,
`example_id`, `group_id`, `frame`. Configs: `clean` and
`<perturbation>_<severity>` are stored lossless (FFV1 in AVI), with the suffix
`_h264` as H.264, which is smaller and no longer exact; `source` holds the source
files as they are, from which the evaluator makes the lossless frames on the fly.
Temporal perturbations change the length (`corruptions.perturb_video`).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions as conditions_lib
from robust_tfds import errors
from robust_tfds import movies
from robust_tfds.datasets import chunks
from robust_tfds.datasets import movie_feature
from robust_tfds.datasets import reproducible

NAMES = conditions_lib.VIDEOS.names()
LOSSLESS, H264 = "lossless", "h264"
CODECS = (LOSSLESS, H264)
# Close to transparent (a CRF below x264's own 23), every size and colour kept.
_X264 = {"preset": "medium", "crf": "18"}
_CHUNK = 4  # videos a worker takes at once
_PART = 64  # frames that are perturbed at once


@dataclasses.dataclass(kw_only=True)
class VideoConfig(tfds.core.BuilderConfig):
  """One condition.

  Attributes:
    perturbation: its name; empty for `clean` and `source`.
    severity: 1-5; 0 without one.
    codec: `lossless` or `h264`.
    seed: of the perturbation.
  """

  perturbation: str = ""
  severity: int = 0
  codec: str = LOSSLESS
  seed: int = 0


@dataclasses.dataclass(frozen=True)
class Source:
  """A video before decoding.

  Attributes:
    example_id: unique and stable: the file's name.
    label: class id.
    data: returns the file's bytes; picklable.
    fps: frames per second; None: what the file says.
    extra: further features of the example.
  """

  example_id: str
  label: int
  data: Callable[[], bytes]
  fps: float | None = None
  extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def of_file(
  path: pathlib.Path, example_id: str, label: int, **extra: Any
) -> Source:
  """The source of a video file."""
  return Source(
    example_id, label, functools.partial(_bytes, str(path)), extra=extra
  )


def _bytes(path: str) -> bytes:
  with open(path, "rb") as f:
    return f.read()


def check_present(
  listed: Mapping[str, pathlib.Path], instructions: str
) -> None:
  """FileNotFoundError that names the first listed videos that are not there."""
  absent = [name for name, path in listed.items() if not path.is_file()]
  if absent:
    first = ", ".join(str(listed[n]) for n in absent[:3])
    raise FileNotFoundError(
      f"{len(absent)} of {len(listed)} listed videos are absent, e.g. {first}."
      f"\n{instructions}"
    )


def configs(perturbations: Sequence[str] = NAMES) -> list[VideoConfig]:
  """`source`, then `clean` and every perturbation x 5 under every codec."""
  source = VideoConfig(
    name="source", description="the source files as they are"
  )
  return [source] + [
    _config(name, severity, codec)
    for codec in CODECS
    for name, severity in [
      ("", 0),
      *itertools.product(perturbations, conditions_lib.SEVERITIES),
    ]
  ]


def _config(perturbation: str, severity: int, codec: str) -> VideoConfig:
  name = f"{perturbation}_{severity}" if perturbation else "clean"
  what = f"{perturbation}, severity {severity}" if perturbation else "clean"
  return VideoConfig(
    name=name if codec == LOSSLESS else f"{name}_{codec}",
    description=f"{what}; {codec}",
    perturbation=perturbation,
    severity=severity,
    codec=codec,
  )


class PerturbedVideoBuilder(
  reproducible.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Base of the perturbed video datasets."""

  EDITION = "paper"
  SPLIT: str
  DEFAULT_BUILDER_CONFIG_NAME = "clean"

  workers = 1
  beam = False

  @classmethod
  def conditions(cls) -> list[str]:
    """Names of the lossless configs, clean first."""
    return [
      c.name
      for c in cls.BUILDER_CONFIGS
      if c.codec == LOSSLESS and c.name != "source"
    ]

  @classmethod
  def config_of(cls, name: str, *, codec: str | None = None) -> VideoConfig:
    """The config of a condition under a codec.

    Args:
      name: `source`, `clean`, `<perturbation>_<severity>` or any config's full
        name.
      codec: `lossless` if None or empty.

    Raises:
      ValueError: an unknown condition or codec.
    """
    by_name = {c.name: c for c in cls.BUILDER_CONFIGS}
    if name not in by_name:
      raise errors.unknown("config", name, by_name)
    found = by_name[name]
    if not codec or codec == found.codec or name == "source":
      return found
    if codec not in CODECS:
      raise errors.unknown("codec", codec, CODECS)
    wanted = _config(found.perturbation, found.severity, codec)
    return by_name[wanted.name]

  def features(self, label: Any, **extra: Any) -> tfds.features.FeaturesDict:
    """The keys of a video, and further ones."""
    return tfds.features.FeaturesDict(
      {
        "video": movie_feature.Movie((None, None, None, 3)),
        "label": label,
        "fps": np.float32,
        "example_id": tfds.features.Text(),
        "group_id": tfds.features.Text(),
        "frame": np.int32,
        **extra,
      }
    )

  def _sources(self, dl_manager: Any) -> Sequence[Source]:
    """The clean videos; implemented by each dataset."""
    raise NotImplementedError

  def _split_generators(self, dl_manager):
    return {self.SPLIT: self._generate_examples(self._sources(dl_manager))}

  def _generate_examples(self, sources):
    config = self.builder_config
    work = functools.partial(
      encode_chunk,
      dataset=self.name,
      edition=self.EDITION,
      config=config.name,
      perturbation=config.perturbation,
      severity=config.severity,
      codec=config.codec,
      seed=config.seed,
    )
    return chunks.examples(
      work,
      chunks.split(sources, _CHUNK),
      _example,
      workers=self.workers,
      beam=self.beam,
    )


def _example(row: tuple[Source, bytes, float]) -> tuple[str, dict[str, Any]]:
  source, data, fps = row
  return source.example_id, {
    "video": data,
    "label": source.label,
    "fps": fps,
    "example_id": source.example_id,
    "group_id": source.example_id,
    "frame": 0,
    **source.extra,
  }


def encode_chunk(
  sources: Sequence[Source],
  *,
  dataset: str,
  edition: str,
  config: str,
  perturbation: str,
  severity: int,
  codec: str,
  seed: int,
) -> list[tuple[Source, bytes, float]]:
  """(source, encoded video, fps) of some sources under one condition.

  Runs in worker processes too: all it needs comes as arguments.
  """
  out = []
  for source in sources:
    data = source.data()
    try:
      fps = source.fps or movies.frame_rate(data)
      if config != "source":
        frames = perturbed(
          data,
          source.example_id,
          dataset,
          edition,
          perturbation,
          severity,
          seed,
          fps,
        )
        data = encode(frames, fps, codec)
    except ValueError as e:
      raise ValueError(f"{source.example_id}: {e}") from e
    out.append((source, data, fps))
  return out


def encode(
  frames: Iterator[np.ndarray], fps: float, codec: str = LOSSLESS
) -> bytes:
  """Frames as a video: FFV1, whose RGB is kept bit for bit, or H.264."""
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
  data: bytes,
  example_id: str,
  dataset: str,
  edition: str,
  perturbation: str,
  severity: int,
  seed: int,
  fps: float,
) -> Iterator[np.ndarray]:
  """The frames of a video under one condition, one by one.

  No more than half a GiB of frames is held, whatever the length: frame-by-frame
  perturbations take parts, MPEG streams, temporal ones decode as often as needed
  to gather the frames of their index map.
  """
  from robust_tfds.corruptions import seeding
  from robust_tfds.corruptions import video as perturbations

  key = seeding.example_key(seed, dataset, perturbation, severity, example_id)
  if not perturbation:
    yield from movies.iterate(data)
  elif perturbations.is_temporal(perturbation):
    count = sum(1 for _ in movies.iterate(data))
    index = perturbations.frame_indices(
      count, perturbation, severity, edition=edition, key=key
    )
    yield from gathered(data, index)
  elif perturbations.is_codec(perturbation):
    yield from perturbations.stream(
      movies.iterate(data), perturbation, severity, fps
    )
  else:
    frames, first = movies.iterate(data), 0
    while part := list(itertools.islice(frames, _PART)):
      yield from np.asarray(
        perturbations.perturb_frames(
          np.stack(part),
          perturbation,
          severity,
          edition=edition,
          key=key,
          first=first,
        )
      )
      first += len(part)


def gathered(
  data: bytes, index: np.ndarray, held_bytes: int = 512 << 20
) -> Iterator[np.ndarray]:
  """A video's frames in any order, holding few of them at a time.

  Args:
    data: the video's file.
    index: which frames, in the order wanted.
    held_bytes: most that is held; the file is decoded once for every so much of
      the result, up to the last frame needed.
  """
  first = next(iter(movies.iterate(data)))
  most = max(1, held_bytes // first.nbytes)
  for start in range(0, len(index), most):
    part = index[start : start + most].tolist()
    wanted, last = set(part), max(part)
    held = {}
    for number, frame in enumerate(movies.iterate(data)):
      if number in wanted:
        held[number] = frame
      if number == last:
        break
    yield from (held[number] for number in part)

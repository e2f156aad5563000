"""What every `*_p` dataset shares: perturbation sequences, configs, codecs.

An example is one sequence: `frames` uint8 `[T, S, S, 3]`, made from the clean
image alone by `corruptions.sequence`. Two more configs:

  clean   the crop that the frames are compared with, as a sequence of one
  source  `image`: what the edition starts from, of any size; the evaluator
          makes the sequences from it on the fly, with equal pixels

Codecs: `png` (lossless, the default), `h264` (what the published ImageNet-P
went through: docs/specs/imagenet_p.md section 3) and `published` (the authors'
own files). Pixels depend on (seed, dataset, perturbation, difficulty, example
id) alone.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions as conditions_lib
from robust_tfds import errors
from robust_tfds import movies
from robust_tfds.datasets import chunks
from robust_tfds.datasets import corrupted
from robust_tfds.datasets import movie_feature
from robust_tfds.datasets import reproducible

PNG, H264, PUBLISHED = "png", "h264", "published"
_BATCH = 8


@dataclasses.dataclass(kw_only=True)
class PerturbedConfig(tfds.core.BuilderConfig):
  """One condition of a dataset of sequences.

  Attributes:
    perturbation: its name; empty for `clean` and `source`.
    difficulty: 1-3; above 1 for noise alone, where it is data of its own.
    codec: `png`, `h264` or `published`.
    seed: of the perturbation.
  """

  perturbation: str = ""
  difficulty: int = 1
  codec: str = PNG
  seed: int = 0


def is_noise(perturbation: str) -> bool:
  """Whether a perturbation has harder data, and compares with frame 0."""
  return conditions_lib.SEQUENCES.is_noise(perturbation)


def conditions() -> list[tuple[str, int]]:
  """(perturbation, difficulty) in paper order: 14 and 6 harder noises."""
  return [
    (name, difficulty)
    for name in conditions_lib.SEQUENCES.names()
    for difficulty in conditions_lib.SEQUENCES.levels(name)
  ]


def config_name(perturbation: str, difficulty: int = 1) -> str:
  """`clean`, `translate`, `gaussian_noise` or `gaussian_noise_2`."""
  if not perturbation:
    return "clean"
  return perturbation + (f"_{difficulty}" if difficulty > 1 else "")


def configs(codecs: Sequence[str]) -> list[PerturbedConfig]:
  """`source`, then `clean` and all conditions under every codec."""
  source = PerturbedConfig(
    name="source", description="the images that sequences are made from"
  )
  return [source] + [
    _config(name, difficulty, codec)
    for codec in codecs
    for name, difficulty in [("", 1), *conditions()]
    if name or codec != PUBLISHED
  ]


def _config(perturbation: str, difficulty: int, codec: str) -> PerturbedConfig:
  name = config_name(perturbation, difficulty)
  return PerturbedConfig(
    name=name if codec == PNG else f"{name}_{codec}",
    description=f"{perturbation or 'no perturbation'}, difficulty"
    f" {difficulty}; codec {codec}",
    perturbation=perturbation,
    difficulty=difficulty,
    codec=codec,
  )


class PerturbedBuilder(
  reproducible.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Base of the datasets of perturbation sequences."""

  EDITION: str
  SPLIT: str
  CODECS: tuple[str, ...] = (PNG, H264)
  PUBLISHED_PIXELS = False  # the authors' files are arrays, not videos
  SOURCE_SHAPE: tuple[int | None, int | None, int] = (None, None, 3)
  DEFAULT_BUILDER_CONFIG_NAME = "clean"

  workers = 1
  beam = False

  @classmethod
  def conditions(cls) -> list[str]:
    """Names of the lossless configs, clean first."""
    return [
      c.name
      for c in cls.BUILDER_CONFIGS
      if c.codec == PNG and c.name != "source"
    ]

  @classmethod
  def config_of(cls, name: str, *, codec: str | None = None) -> PerturbedConfig:
    """The config of a condition under a codec.

    Args:
      name: `clean`, `source`, a perturbation, with `_2` or `_3` a harder noise,
        or any config's full name.
      codec: `png` if None.

    Raises:
      ValueError: an unknown condition or codec, with a suggestion.
    """
    by_name = {c.name: c for c in cls.BUILDER_CONFIGS}
    name = name.removesuffix("_1")
    if name not in by_name:
      raise _bad_condition(cls, name)
    found = by_name[name]
    if codec is None or codec == found.codec or name == "source":
      return found
    if codec not in cls.CODECS:
      raise errors.unknown("codec", codec, cls.CODECS)
    wanted = _config(found.perturbation, found.difficulty, codec).name
    if wanted not in by_name:
      raise ValueError(
        f"{name} has no codec {codec!r}: nothing published has no perturbation."
      )
    return by_name[wanted]

  def features(self, label: Any, side_px: int) -> tfds.features.FeaturesDict:
    """The keys of a sequence; of a single image in `source`."""
    config = self.builder_config
    shape = (self._frames(), side_px, side_px, 3)
    pixels: dict[str, Any] = {"frames": movie_feature.Movie(shape)}
    if config.name == "source":
      image = tfds.features.Image(
        shape=self.SOURCE_SHAPE, encoding_format="png"
      )
      pixels = {"image": image}
    elif config.codec == PNG or self.PUBLISHED_PIXELS:
      video = tfds.features.Video(shape=shape, encoding_format="png")
      pixels = {"frames": video}
    return tfds.features.FeaturesDict(
      {
        **pixels,
        "label": label,
        "example_id": tfds.features.Text(),
        "group_id": tfds.features.Text(),
        "frame": np.int32,
      }
    )

  def _frames(self) -> int:
    from robust_tfds.corruptions.sequence import frame_count

    config = self.builder_config
    if not config.perturbation:
      return 1
    name = config_name(config.perturbation, config.difficulty)
    return frame_count(name, self.EDITION)

  def _sources(self, dl_manager: Any) -> Sequence[corrupted.Source]:
    """The clean examples; implemented by each dataset."""
    raise NotImplementedError

  def _published(self, dl_manager: Any) -> Iterator[tuple[str, int, Any]]:
    """(id, label, video bytes or frames) of the authors' files."""
    raise NotImplementedError

  def _split_generators(self, dl_manager):
    if self.builder_config.codec == PUBLISHED:
      rows = self._published(dl_manager)
      return {self.SPLIT: (self._example(row) for row in rows)}
    return {self.SPLIT: self._generate_examples(self._sources(dl_manager))}

  def _generate_examples(self, sources):
    config = self.builder_config
    work = functools.partial(
      encode_chunk,
      dataset=self.name,
      edition=self.EDITION,
      perturbation=config.perturbation,
      difficulty=config.difficulty,
      codec="source" if config.name == "source" else config.codec,
      seed=config.seed,
    )
    return chunks.examples(
      work,
      chunks.split(sources, _BATCH),
      _image_example if config.name == "source" else self._example,
      workers=self.workers,
      beam=self.beam,
    )

  def _example(self, row: tuple[str, int, Any]) -> tuple[str, dict[str, Any]]:
    example_id, label, data = row
    return example_id, _keys(example_id, label) | {"frames": data}


def _image_example(row: tuple[str, int, Any]) -> tuple[str, dict[str, Any]]:
  example_id, label, data = row
  return example_id, _keys(example_id, label) | {"image": data}


def _keys(example_id: str, label: int) -> dict[str, Any]:
  return {
    "label": label,
    "example_id": example_id,
    "group_id": example_id,
    "frame": 0,
  }


def encode_chunk(
  sources: Sequence[corrupted.Source],
  *,
  dataset: str,
  edition: str,
  perturbation: str,
  difficulty: int,
  codec: str,
  seed: int,
) -> list[tuple[str, int, Any]]:
  """(id, label, encoded) of some sources under one condition.

  Runs in worker processes too: all it needs comes as arguments.
  """
  images = [s.read() for s in sources]
  if codec == "source":
    made: Sequence[Any] = [io.BytesIO(_png(i)) for i in images]
  else:
    ids = [s.example_id for s in sources]
    frames = perturb(
      images, ids, dataset, edition, perturbation, difficulty, seed
    )
    made = [encode(f, codec, perturbation) for f in frames]
  return [
    (s.example_id, s.label, m) for s, m in zip(sources, made, strict=True)
  ]


def perturb(
  images: Sequence[np.ndarray],
  ids: Sequence[str],
  dataset: str,
  edition: str,
  perturbation: str,
  difficulty: int,
  seed: int,
) -> np.ndarray:
  """Sequences of images of any size: uint8 `[B, T, S, S, 3]`."""
  import jax.numpy as jnp

  from robust_tfds.corruptions import canvas
  from robust_tfds.corruptions.sequence import crop_batch
  from robust_tfds.corruptions.sequence import sequence_batch

  spare = _BATCH - len(images)  # one shape, one compilation
  batch, valid = canvas.stack([*images, *[images[0]] * spare])
  sizes = None if (valid == batch.shape[1:3]).all() else valid
  if not perturbation:
    done = crop_batch(batch, edition=edition, sizes=sizes)[:, None]
    return np.asarray(done)[: len(ids)]
  keys = conditions_lib.raw_keys(seed, dataset, perturbation, difficulty, ids)
  keys = np.concatenate([keys, np.repeat(keys[:1], spare, axis=0)])
  done = sequence_batch(
    batch,
    config_name(perturbation, difficulty),
    edition=edition,
    keys=jnp.asarray(keys),
    sizes=sizes,
  )
  return np.asarray(done)[: len(ids)]


def encode(frames: np.ndarray, codec: str, perturbation: str) -> Any:
  """uint8 `[T, H, W, 3]` as PNG files (`png`) or one MP4 file (`h264`)."""
  if codec == PNG:
    return [io.BytesIO(_png(f)) for f in frames]
  return movies.encode(frames, options=x264(perturbation))


def x264(perturbation: str) -> dict[str, str]:
  """The published videos' settings of x264."""
  return movies.X264_NOISE if is_noise(perturbation) else movies.X264_SMOOTH


def through_h264(frames: np.ndarray, perturbation: str) -> np.ndarray:
  """Frames as they come back from the published videos' codec."""
  return movies.decode(movies.encode(frames, options=x264(perturbation)))


def _png(image: np.ndarray) -> bytes:
  return corrupted.encode(image, "raw")


def _bad_condition(cls: Any, name: str) -> ValueError:
  try:
    conditions_lib.SEQUENCES.parse(name)
  except ValueError as e:
    if "harder variants" in str(e):
      return e
  known = [c.name for c in cls.BUILDER_CONFIGS if c.codec == PNG]
  return errors.unknown("config", name, known)

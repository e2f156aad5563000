"""The base of all `*_p` datasets of pictures: perturbation sequences, codecs.

An example is one sequence: `frames` uint8 `[T, S, S, 3]`, made from the clean
image by `corruptions.sequence`. Two more configs:

  clean   the crop that the frames are compared with, as a sequence of one
  source  `image`: what the edition starts from, of any size; the evaluator
          makes the sequences from it on the fly, with equal pixels

Codecs: `png` (lossless, the default), `h264` (what the published ImageNet-P
went through: docs/evidence/specs/imagenet_p.md section 3) and `published` (the authors'
own files).
"""

import functools
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions, movies
from robust_tfds.building import base, geometry, movie_feature, pictures
from robust_tfds.reading import videos as video_files

PNG, H264, PUBLISHED = "png", "h264", base.PUBLISHED
_BATCH = 8

# (example id, label, PNG files or frames of a sequence, or a video's bytes)
Row = tuple[str, int, Any]


class Builder(
  base.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the datasets of perturbation sequences.

  Attributes:
    SIDE_PX: side of the frames.
    SOURCE_SHAPE: shape of the pictures that sequences are made from.
    PUBLISHED_PIXELS: the authors' files are arrays, not videos.
  """

  KIND = "sequences"
  FAMILY: ClassVar[conditions.Family | None] = conditions.SEQUENCES
  CODECS: ClassVar[tuple[str, ...]] = (PNG, H264)
  CHUNK = _BATCH
  HAS_SOURCE = True
  SIDE_PX: ClassVar[int] = 0
  SOURCE_SHAPE: ClassVar[tuple[int | None, int | None, int]] = (None, None, 3)
  PUBLISHED_PIXELS: ClassVar[bool] = False

  def example_features(self) -> dict[str, Any]:
    """Return the features: the frames, or in `source` the picture, and the
    label.
    """
    config = self.config
    label = {"label": self.label_feature()}
    shape = self.frames_shape()
    if config.variant == base.SOURCE:
      return label | {
        "image": tfds.features.Image(
          shape=self.SOURCE_SHAPE, encoding_format="png"
        )
      }
    lossless = config.codec == PNG or self.PUBLISHED_PIXELS
    if not lossless:
      return label | {"frames": movie_feature.Movie(shape)}
    return label | {
      "frames": tfds.features.Video(shape=shape, encoding_format="png")
    }

  def frames_shape(self) -> tuple[int, int, int, int]:
    """Return the shape of the config's sequences: (frames, height, width, 3)."""
    condition, rule = self.config.condition, self.config.geometry
    side = (geometry.shape(rule)[0] if rule else None) or self.SIDE_PX
    if condition.clean:
      return 1, side, side, 3
    from robust_tfds.corruptions.sequence import frame_count

    frames = frame_count(condition.config, self.edition_of(rule))
    return frames, side, side, 3

  def _sources(self, dl_manager: Any) -> Sequence[pictures.Source]:
    """Return the clean examples; implemented by each dataset."""
    raise NotImplementedError

  def _published(self, dl_manager: Any) -> Iterable[Row]:
    """Return (id, label, video bytes or frames) of the authors' files."""
    raise NotImplementedError

  def _encoder(self) -> Callable[[Sequence[pictures.Source]], list[Row]]:
    return functools.partial(encode_chunk, recipe=self._recipe())

  def _to_example(self) -> Callable[[Row], tuple[str, dict[str, Any]]]:
    source = self.config.variant == base.SOURCE
    return functools.partial(example, feature="image" if source else "frames")


def example(row: Row, *, feature: str) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it, with the pixels under `feature`."""
  example_id, label, data = row
  keys = base.example_keys(example_id)
  return example_id, {feature: data, "label": label, **keys}


def encode_chunk(
  sources: Sequence[pictures.Source], *, recipe: base.Recipe
) -> list[Row]:
  """Return the rows of some sources under one condition; this runs in workers
  too.
  """
  images = [s.picture.read() for s in sources]
  data: list[Any]
  if recipe.config.variant == base.SOURCE:
    data = [io.BytesIO(pictures.encode(i, pictures.RAW)) for i in images]
  else:
    rows = perturb(images, [s.example_id for s in sources], recipe)
    data = [
      encode(frames, recipe.config.codec, recipe.condition.name)
      for frames in rows
    ]
  return [
    (s.example_id, s.label, d) for s, d in zip(sources, data, strict=True)
  ]


def perturb(
  images: Sequence[np.ndarray], example_ids: Sequence[str], recipe: base.Recipe
) -> np.ndarray:
  """Return the sequences of images of any size: uint8 `[B, T, S, S, 3]`."""
  import jax.numpy as jnp

  from robust_tfds.corruptions import canvas
  from robust_tfds.corruptions.sequence import crop_batch, sequence_batch

  spare = _BATCH - len(images)  # one shape, one compilation
  batch, valid = canvas.stack([*images, *[images[0]] * spare])
  sizes = None if (valid == batch.shape[1:3]).all() else valid
  if recipe.condition.clean:
    crops = crop_batch(batch, edition=recipe.edition, sizes=sizes)
    return np.asarray(crops[:, None])[: len(images)]
  keys = recipe.keys(example_ids)
  keys = np.concatenate([keys, np.repeat(keys[:1], spare, axis=0)])
  frames = sequence_batch(
    batch,
    recipe.condition.config,
    edition=recipe.edition,
    keys=jnp.asarray(keys),
    sizes=sizes,
  )
  return np.asarray(frames)[: len(images)]


def encode(frames: np.ndarray, codec: str, perturbation: str) -> Any:
  """Encode uint8 `[T, H, W, 3]` as PNG files (`png`) or one MP4 file (`h264`)."""
  if codec == PNG:
    return [io.BytesIO(pictures.encode(f, pictures.RAW)) for f in frames]
  return movies.encode(frames, options=x264(perturbation))


def x264(perturbation: str) -> dict[str, str]:
  """Return x264's settings of the published videos; without a name, for clean
  ones.
  """
  noise = bool(perturbation) and conditions.SEQUENCES.is_noise(perturbation)
  return movies.X264_NOISE if noise else movies.X264_SMOOTH


def through_h264(frames: np.ndarray, perturbation: str) -> np.ndarray:
  """Encode and decode frames with the published videos' codec."""
  return video_files.decode(movies.encode(frames, options=x264(perturbation)))

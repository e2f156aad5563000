"""The base of all `*_c` datasets of single pictures: pixels, codecs, features.

An example is one picture: `image` uint8 `[H, W, 3]`, `label` and the keys. Codecs:
`raw` (lossless PNG), `jpeg85` (quality 85, 4:2:0, optimised: what the published
ImageNet-C stores) and `published` (the authors' own files).
"""

from __future__ import annotations

import dataclasses
import functools
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from robust_tfds import conditions, errors
from robust_tfds.building import (
  base,
  geometry,
  jpeg_feature,
  pipelines,
  scratch,
  source,
)
from robust_tfds.building.sources import folders, frost

RAW, JPEG85 = "raw", "jpeg85"
_BATCH = 32

Row = tuple[str, int, bytes]  # (example id, label, encoded picture)


class Picture(Protocol):
  """A picklable reference to a picture, which is read on demand."""

  def read(self) -> np.ndarray:
    """Return the picture: uint8 `[H, W, 3]`."""


@dataclasses.dataclass(frozen=True)
class Source(source.Part):
  """A clean example before decoding.

  Attributes:
    example_id: unique and stable: the file's name.
    label: class id.
    picture: the cropped picture.
    group_id: the video that it is a frame of; None for a single picture.
  """

  example_id: str
  label: int
  picture: Picture
  group_id: str | None = None

  def decoded(self, folder: str) -> Source:
    """Return the source with pixels in a scratch folder."""
    pixels = scratch.keep_picture(folder, self.picture.read())
    return dataclasses.replace(self, picture=pixels)


class Builder(
  base.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the corrupted classification datasets.

  Attributes:
    SIDE_PX: side of square pictures that are not cropped.
    PUBLISHED_LOSSLESS: the rows of the authors' files are PNG, not JPEG.
  """

  KIND = "pictures"
  FAMILY: ClassVar[conditions.Family | None] = conditions.PICTURES
  CODECS: ClassVar[tuple[str, ...]] = (RAW,)
  CHUNK = _BATCH
  SUPERVISED = ("image", "label")
  MANUAL_DOWNLOAD_INSTRUCTIONS = frost.INSTRUCTIONS
  SIDE_PX: ClassVar[int | None] = None
  PUBLISHED_LOSSLESS: ClassVar[bool] = False

  def example_features(self) -> dict[str, Any]:
    """Return the features of a picture and its label."""
    codec = self.config.codec
    lossless = codec in ("", RAW) or (
      codec == base.PUBLISHED and self.PUBLISHED_LOSSLESS
    )
    side = self.side_px()
    return {
      "image": jpeg_feature.picture((side, side, 3), lossless=lossless),
      "label": self.label_feature(),
    }

  def side_px(self) -> int | None:
    """Return the side of the config's square pictures; None where sizes vary."""
    rule = self.config.geometry
    return geometry.shape(rule)[0] if rule else self.SIDE_PX

  def unprepared(
    self, manual_dir: str | os.PathLike | None
  ) -> Mapping[str, Sequence[Source]] | None:
    """Return the sources of a clean set, by split; write nothing.

    In the order in which a prepared set would hold them (`write_order`).

    Args:
      manual_dir: as of `check_sources`.

    Returns:
      None where the set has to be prepared: it is embedded or corrupted, its
      pixels are stored with loss, or its sources are downloaded or unpacked.

    Raises:
      MissingError, UserError: as `check_sources`; or there is no example.
    """
    read = self.OWN or self.MANUAL_DOWNLOAD_INSTRUCTIONS != frost.INSTRUCTIONS
    lossless = self.config.codec in ("", RAW)
    if not (read and lossless and self.config.condition.clean):
      return None
    if self.KIND != Builder.KIND or self.EMBEDDED or not self.CODECS:
      return None
    look = self._look(manual_dir)
    with self._lacking(manual_dir):
      try:
        by_split = self._split_sources(look)
      except folders.NotFetchedError:
        return None
    if not all(by_split.values()):
      raise self._no_example(look)
    self.note_decoders(next(iter(by_split.values()))[0])
    self.info.metadata.update(self.made_of())
    order = pipelines.write_order
    return {split: order(each, split) for split, each in by_split.items()}

  def read(self, listed: Source, pixels: bool = True) -> dict[str, Any]:
    """Return an example of `unprepared` as a prepared set would give it.

    Args:
      listed: its source.
      pixels: whether `image`, uint8 `[H, W, 3]`, is in it.

    Raises:
      UserError: it cannot be read; the message begins with the file.
    """
    _, out = self._to_example()((listed.example_id, listed.label, b""))
    del out["image"]
    out = {
      k: v if isinstance(v, str) else np.asarray(v) for k, v in out.items()
    }
    if pixels:
      try:
        out["image"] = listed.picture.read()
      except OSError as e:
        where = next((file.where for file in listed.files()), listed.example_id)
        raise source.gone_error(where, e) from e
    return out

  def _sources(self, dl_manager: Any) -> Sequence[Source]:
    """Return the clean examples; implemented by each dataset."""
    raise NotImplementedError

  def _published(self, dl_manager: Any) -> Iterable[Row]:
    """Return rows of the authors' files, if there are any."""
    raise NotImplementedError

  def _encoder(self) -> Callable[[Sequence[Source]], list[Row]]:
    return functools.partial(encode_chunk, recipe=self._recipe())

  def _to_example(self) -> Callable[[Row], tuple[str, dict[str, Any]]]:
    return example


def sources_from_files(
  files: Iterable[source.File], rule: str = "", **options: Any
) -> list[Source]:
  """Return the sources of labelled files.

  Args:
    **options: see `source.Picture`.
  """
  return [
    Source(f.name, cast(int, f.label), source.Picture(f, rule, **options))
    for f in files
  ]


def example(row: Row) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it."""
  example_id, label, data = row
  keys = base.example_keys(example_id)
  return example_id, {"image": io.BytesIO(data), "label": label, **keys}


def encode_chunk(
  sources: Sequence[Source], *, recipe: base.Recipe
) -> list[Row]:
  """Return the rows of some sources under one condition; this runs in workers
  too.
  """
  recipe.set_up()
  images: Any = [s.picture.read() for s in sources]
  if not recipe.condition.clean and recipe.edition == "any":
    images = [
      corrupt_one(image, s.example_id, recipe)
      for image, s in zip(images, sources, strict=True)
    ]
  elif not recipe.condition.clean:
    images = corrupt(images, [s.example_id for s in sources], recipe)
  return [
    (s.example_id, s.label, encode(image, recipe.config.codec or RAW))
    for s, image in zip(sources, images, strict=True)
  ]


def corrupt(
  images: Sequence[np.ndarray], example_ids: Sequence[str], recipe: base.Recipe
) -> np.ndarray:
  """Corrupt images of one shape, padded to a fixed batch for one compilation."""
  import jax.numpy as jnp

  from robust_tfds import corruptions

  keys = recipe.keys(example_ids)
  spare = _BATCH - len(images)
  batch = np.stack([*images, *[images[0]] * spare])
  keys = np.concatenate([keys, np.repeat(keys[:1], spare, axis=0)])
  corrupted = corruptions.corrupt_batch(
    batch,
    recipe.condition.name,
    recipe.condition.level,
    edition=recipe.edition,
    keys=jnp.asarray(keys),
  )
  return np.asarray(corrupted)[: len(images)]


def corrupt_one(
  image: np.ndarray, example_id: str, recipe: base.Recipe
) -> np.ndarray:
  """Corrupt one picture of any size under a recipe's condition: uint8 `[H, W,
  3]`.
  """
  import jax.numpy as jnp

  from robust_tfds import corruptions

  condition = recipe.condition
  key = jnp.asarray(recipe.keys([example_id])[0])
  return np.asarray(
    corruptions.corrupt(
      image, condition.name, condition.level, edition=recipe.edition, key=key
    )
  )


def encode(image: np.ndarray, codec: str) -> bytes:
  """Encode uint8 `[H, W, 3]` as PNG (`raw`) or as the published JPEG
  (`jpeg85`).

  Raises:
    UserError: another codec.
  """
  from PIL import Image

  if codec not in (RAW, JPEG85):
    raise errors.unknown_error("codec of pictures", codec, (RAW, JPEG85))
  out = io.BytesIO()
  picture = Image.fromarray(np.asarray(image))
  if codec == RAW:
    picture.save(out, "PNG", compress_level=1)
  else:
    picture.save(out, "JPEG", quality=85, optimize=True)  # make_imagenet_c.py
  return out.getvalue()

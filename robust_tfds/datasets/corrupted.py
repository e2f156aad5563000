"""What every `*_c` dataset shares: configs, corruption in batches, codecs.

A dataset's builder names its EDITION, SPLIT, CODECS and yields its clean
sources; this module crops, corrupts and encodes them. Pixels depend on (seed,
dataset, corruption, severity, example id) alone: neither the number of workers
nor the batch changes a byte.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions as conditions_lib
from robust_tfds import errors
from robust_tfds.datasets import chunks
from robust_tfds.datasets import geometry as geometry_lib
from robust_tfds.datasets import reproducible

CODECS = ("raw", "jpeg85", "published")
_BATCH = 32
_FROST_URL = (
  "https://raw.githubusercontent.com/hendrycks/robustness/master/"
  "ImageNet-C/create_c"
)


@dataclasses.dataclass(kw_only=True)
class CorruptedConfig(tfds.core.BuilderConfig):
  """One condition of a corrupted dataset.

  Attributes:
    corruption: its name; empty for clean images.
    severity: 1-5; 0 for clean images.
    codec: `raw` (lossless PNG), `jpeg85` (quality 85, 4:2:0, optimised: what the
      published ImageNet-C stores) or `published` (the authors' own files).
    geometry: how images are cropped, see `geometry.py`; empty where the source
      is used as it is.
    seed: of the corruption.
  """

  corruption: str = ""
  severity: int = 0
  codec: str = "raw"
  geometry: str = ""
  seed: int = 0


@dataclasses.dataclass(frozen=True)
class Source:
  """A clean example before decoding.

  Attributes:
    example_id: unique and stable: the file's name.
    label: class id.
    read: returns the picture, uint8 `[H, W, 3]`, cropped; picklable.
  """

  example_id: str
  label: int
  read: Callable[[], np.ndarray]


def conditions() -> list[tuple[str, int]]:
  """(corruption, severity), clean first: 96 of them, in paper order."""
  return [
    ("", 0),
    *itertools.product(
      conditions_lib.PICTURES.names(), conditions_lib.SEVERITIES
    ),
  ]


def configs(
  codec: str, geometry: str = "", others: Sequence[str] = ()
) -> list[CorruptedConfig]:
  """All configs: the default codec under plain names, others with a suffix."""
  return [
    _config(c, s, k, geometry, codec, geometry)
    for k in (codec, *others)
    for c, s in conditions()
  ]


def _config(corruption, severity, codec, geometry, plain_codec, plain_geometry):
  name = f"{corruption}_{severity}" if corruption else "clean"
  what = f"{corruption}, severity {severity}" if corruption else "no corruption"
  if codec != plain_codec:
    name += f"_{codec}"
  if geometry != plain_geometry:
    name += f"_{geometry}"
  return CorruptedConfig(
    name=name,
    description=f"{what}; codec {codec}"
    + (f"; crop {geometry}" if geometry else ""),
    corruption=corruption,
    severity=severity,
    codec=codec,
    geometry=geometry,
  )


class CorruptedBuilder(
  reproducible.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Base of the corrupted classification datasets."""

  EDITION: str
  SPLIT: str
  CODEC: str = "raw"
  GEOMETRY: str = ""
  OTHER_CODECS: tuple[str, ...] = ()
  DEFAULT_BUILDER_CONFIG_NAME = "clean"
  MANUAL_DOWNLOAD_INSTRUCTIONS = """\
Only the frost corruption may need it: the authors' frost1.png ... frost6.jpg in a
folder `frost`, where no imagecorruptions is installed."""

  workers = 1
  beam = False
  _frost_dir: str | None = None

  @classmethod
  def conditions(cls) -> list[str]:
    """Config names under the default codec and geometry, clean first."""
    return [c.name for c in cls.BUILDER_CONFIGS if c.codec == cls.CODEC]

  @classmethod
  def config_of(
    cls, name: str, *, codec: str | None = None, geometry: str | None = None
  ) -> CorruptedConfig:
    """The config of a condition under a codec and a geometry.

    Args:
      name: `clean` or `<corruption>_<severity>`, or any config's full name.
      codec: the dataset's default if None.
      geometry: the dataset's default if None.

    Raises:
      ValueError: an unknown condition, codec or geometry, with a suggestion.
    """
    by_name = {c.name: c for c in cls.BUILDER_CONFIGS}
    if name not in by_name:
      raise _bad_condition(cls, name)
    found = by_name[name]
    codec = found.codec if codec is None else codec
    geometry = found.geometry if geometry is None else geometry
    if codec not in (cls.CODEC, *cls.OTHER_CODECS):
      raise errors.unknown("codec", codec, (cls.CODEC, *cls.OTHER_CODECS))
    if geometry != cls.GEOMETRY:
      if not cls.GEOMETRY:
        raise ValueError(f"{cls.__module__}: images are used as they are.")
      shape = geometry_lib.shape(geometry)  # refuses unknown rules
      if found.corruption and None in shape:
        raise ValueError(
          f"Geometry {geometry!r} leaves images of many sizes; corrupted"
          " configs need one, e.g. short256_crop224."
        )
    made = _config(
      found.corruption,
      found.severity,
      codec,
      geometry,
      cls.CODEC,
      cls.GEOMETRY,
    )
    return by_name.get(made.name, made)

  def features(
    self, shape: tuple[int | None, int | None, int], label: Any
  ) -> tfds.features.FeaturesDict:
    """The keys that every classification dataset has."""
    config = self.builder_config
    encoding = "png" if config.codec == "raw" else "jpeg"
    return tfds.features.FeaturesDict(
      {
        "image": tfds.features.Image(shape=shape, encoding_format=encoding),
        "label": label,
        "example_id": tfds.features.Text(),
        "group_id": tfds.features.Text(),
        "frame": np.int32,
      }
    )

  def _sources(self, dl_manager: Any) -> Sequence[Source]:
    """The clean examples; implemented by each dataset."""
    raise NotImplementedError

  def _published(self, dl_manager: Any) -> Iterator[tuple[str, int, bytes]]:
    """(id, label, JPEG bytes) of the authors' files; where there are any."""
    raise NotImplementedError

  def _split_generators(self, dl_manager):
    if self.builder_config.codec == "published":
      return {self.SPLIT: map(_example, self._published(dl_manager))}
    if self.builder_config.corruption == "frost":
      self._frost_dir = find_frost(dl_manager)
    return {self.SPLIT: self._generate_examples(self._sources(dl_manager))}

  def _generate_examples(self, sources):
    config = self.builder_config
    work = functools.partial(
      encode_chunk,
      dataset=self.name,
      edition=self.EDITION,
      corruption=config.corruption,
      severity=config.severity,
      codec=config.codec,
      seed=config.seed,
      frost_dir=self._frost_dir,
    )
    return chunks.examples(
      work,
      chunks.split(sources, _BATCH),
      _example,
      workers=self.workers,
      beam=self.beam,
    )


def _example(row: tuple[str, int, bytes]) -> tuple[str, dict[str, Any]]:
  example_id, label, data = row
  return example_id, {
    "image": io.BytesIO(data),
    "label": label,
    "example_id": example_id,
    "group_id": example_id,
    "frame": 0,
  }


def encode_chunk(
  sources: Sequence[Source],
  *,
  dataset: str,
  edition: str,
  corruption: str,
  severity: int,
  codec: str,
  seed: int,
  frost_dir: str | None = None,
) -> list[tuple[str, int, bytes]]:
  """(id, label, encoded bytes) of some sources under one condition.

  Runs in worker processes too: all it needs comes as arguments.
  """
  if frost_dir:
    from robust_tfds.corruptions import frost_pictures

    frost_pictures.use_folder(frost_dir)
  images: Any = [s.read() for s in sources]
  if corruption:
    ids = [s.example_id for s in sources]
    images = corrupt(images, ids, dataset, edition, corruption, severity, seed)
  return [
    (s.example_id, s.label, encode(image, codec))
    for s, image in zip(sources, images, strict=True)
  ]


def corrupt(
  images: Sequence[np.ndarray],
  ids: Sequence[str],
  dataset: str,
  edition: str,
  corruption: str,
  severity: int,
  seed: int,
) -> np.ndarray:
  """Corrupts images of one shape; padded to a fixed batch, one compilation."""
  import jax.numpy as jnp

  from robust_tfds import corruptions

  keys = conditions_lib.raw_keys(seed, dataset, corruption, severity, ids)
  spare = _BATCH - len(ids)
  batch = np.stack([*images, *[images[0]] * spare])
  keys = np.concatenate([keys, np.repeat(keys[:1], spare, axis=0)])
  done = corruptions.corrupt_batch(
    batch, corruption, severity, edition=edition, keys=jnp.asarray(keys)
  )
  return np.asarray(done)[: len(ids)]


def encode(image: np.ndarray, codec: str) -> bytes:
  """uint8 `[H, W, 3]` as PNG (`raw`) or as the published JPEG (`jpeg85`)."""
  from PIL import Image

  out = io.BytesIO()
  picture = Image.fromarray(np.asarray(image))
  if codec == "raw":
    picture.save(out, "PNG", compress_level=1)
  else:
    picture.save(out, "JPEG", quality=85, optimize=True)  # make_imagenet_c.py
  return out.getvalue()


def find_frost(dl_manager: Any) -> str:
  """The folder of the frost pictures.

  The manual dir's `frost` folder, else an installed imagecorruptions, else the
  download manager with checksums.
  """
  from robust_tfds.corruptions import frost_pictures

  folder = _manual_dir(dl_manager)
  if folder is not None and (folder / "frost").is_dir():
    return os.fspath(folder / "frost")
  if frost_pictures.available():
    return os.fspath(frost_pictures.folder())
  return _download_frost(dl_manager, frost_pictures.SHA256)


def _download_frost(dl_manager: Any, names: Iterable[str]) -> str:
  """Fetches the pictures and lays them into one folder under their names."""
  try:
    paths = dl_manager.download({n: f"{_FROST_URL}/{n}" for n in names})
  except Exception as e:  # TFDS raises many kinds for a missing network
    raise FileNotFoundError(
      f"The frost pictures could not be downloaded ({e}). Put frost1.png ..."
      " frost6.jpg into a folder `frost` of the manual dir, or run"
      " `pip install --no-deps imagecorruptions`."
    ) from e
  folder = tempfile.mkdtemp(prefix="frost")
  for name, path in paths.items():
    shutil.copy(path, f"{folder}/{name}")
  return folder


def _manual_dir(dl_manager: Any) -> Any:
  # Reading manual_dir raises where there is none.
  try:
    return dl_manager.manual_dir
  except AssertionError:
    return None


def _bad_condition(cls: Any, name: str) -> ValueError:
  stem, _, last = name.rpartition("_")
  if stem in conditions_lib.PICTURES.names() and last.lstrip("-").isdigit():
    return ValueError(
      f"Severity must be 1-5, got {last} in {name!r}"
      + (" (severity 0 is the config 'clean')." if last == "0" else ".")
    )
  if stem and last in map(str, conditions_lib.SEVERITIES):
    return errors.unknown("corruption", stem, conditions_lib.PICTURES.names())
  return errors.unknown(
    "config",
    name,
    [c.name for c in cls.BUILDER_CONFIGS if c.codec == cls.CODEC],
  )

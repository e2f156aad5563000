"""The base of all datasets: configs and their names, workers, Beam, example
keys.

A dataset's folder names its source, edition and features; the six kinds (pictures,
sequences, videos, objects, masks, frames) define what an example is. All else is
here. Pixels depend only on (seed, dataset, corruption, level, example
id): neither the number of workers nor the batch changes a byte.

The name of a config is

  <stem>[_<codec>][_<geometry>][_<ending>][_seed<n>]

with the condition's name (`clean`, `fog_3`) as the stem; the dataset's defaults
are omitted. Clean data of a crop that is an edition of its own is named after
the crop: `inception`. Corrupted data of a crop whose size is another edition's
have that edition's name after the crop: `fog_3_short342_crop299_inception`.
"""

import contextlib
import dataclasses
import functools
import itertools
import os
import re
import sys
import types
from collections.abc import (
  Callable,
  Collection,
  Hashable,
  Iterable,
  Iterator,
  Mapping,
  Sequence,
)
from typing import Any, ClassVar, cast

import numpy as np
import tensorflow_datasets as tfds
from etils import epath

from robust_tfds import conditions, errors, own_corruptions
from robust_tfds.building import (
  file_formats,
  jpeg_feature,
  movie_feature,
  own_set,
  pipelines,
  set_folder,
  source_notes,
  writer,
)
from robust_tfds.building import geometry as geometry_lib
from robust_tfds.building.build_session import BuildSession
from robust_tfds.building.sources import folders, frost, known_files
from robust_tfds.reading import decoders
from robust_tfds.storage import paths

PUBLISHED = "published"  # the codec of the authors' own files
SOURCE = "source"  # the variant that holds what conditions are made from
_MADE_WITH = "made_with"  # key of the metadata
_OWN = "own_corruption"  # key of the metadata: sha256 of its file
_AND = " and "
# What encodes with loss, by codec.
_ENCODERS = {"jpeg85": decoders.picture_decoder, "h264": decoders.video_decoder}
_SEEDED = re.compile(r"(?P<name>.+)_seed(?P<seed>\d+)")
_frost_in_use: list[str | int] = []  # in this process: folder and version


@dataclasses.dataclass(kw_only=True)
class Config(tfds.core.BuilderConfig):
  """One state of a dataset on disk.

  Attributes:
    condition: clean, or a corruption at a level.
    codec: how pixels are stored, see the kinds; `published` for the authors' own
      files.
    geometry: how pictures are cropped, see `geometry.py`; empty if the source
      is used as it is.
    variant: another distinction of examples: `source`, or a word of a kind or a
      dataset; empty for the usual ones.
    seed: the corruption's seed.
  """

  condition: conditions.Condition = conditions.Condition()
  codec: str = ""
  geometry: str = ""
  variant: str = ""
  seed: int = 0


@dataclasses.dataclass(frozen=True)
class Recipe:
  """The data that a worker needs to make a config's examples; picklable.

  Attributes:
    dataset: its name, part of every key.
    edition: edition of the corruptions.
    config: the config of the examples.
    frost_dir: folder of the frost pictures; empty if they are not needed.
    own: source and sha256 of a registered corruption of the user's own, else
      empty.
  """

  dataset: str
  edition: str
  config: Config
  frost_dir: str = ""
  own: tuple[str, ...] = ()

  @property
  def condition(self) -> conditions.Condition:
    """The config's condition."""
    return self.config.condition

  def keys(self, example_ids: Sequence[str]) -> np.ndarray:
    """Return the raw keys of examples: uint32 `[B, 2]`."""
    return self.condition.keys(self.config.seed, self.dataset, example_ids)

  def set_up(self) -> None:
    """Register the corruption's data in this process.

    These are its file if it is the user's own, and the frost pictures, which
    are loaded once because they are large.
    """
    if self.own:
      own_corruptions.register(*self.own)
    if not self.frost_dir:
      return
    from robust_tfds.corruptions import frost_pictures

    if _frost_in_use != [self.frost_dir, frost_pictures.assets_version()]:
      frost_pictures.use_folder(self.frost_dir)
      _frost_in_use[:] = [self.frost_dir, frost_pictures.assets_version()]


class Builder(
  tfds.core.GeneratorBasedBuilder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of all builders.

  Attributes:
    FAMILY: the conditions that the dataset has; None for only clean data.
    EDITION: edition of the corruptions; empty if there are none.
    KIND: what its examples are; each base of a kind has its own.
    SPLIT: the split that is built.
    OTHER_SPLITS: the other splits -> how many published examples they have; 0
      if unknown.
    CODECS: how pixels may be stored, the default first; empty for a dataset
      without configs.
    GEOMETRY: the default crop; empty if pictures are used as they are.
    OTHER_GEOMETRIES: other listed crops; if there is a default one, any crop
      can be requested.
    EDITIONS: crop -> edition of its corruptions, if it is another one.
    HAS_SOURCE: there is a config `source`.
    CHUNK: sources that a worker takes at once.
    CLASSES: number of classes, or their names in label order.
    SUPERVISED: what `as_supervised` reads.
    HOMEPAGE: web page of the data.
    USUAL_PX: side of a usual picture or frame if they have many sizes.
    PUBLISHED_EXAMPLES: how many examples the published benchmark has in a
      config's `SPLIT`; 0 if unknown.
    RUN_BY: the file in `configs/` that runs the set, and after a colon the
      argument of its `get_config`; empty if there is none.
    OWN: the description of a user's own set, which is no benchmark; see
      `robust_tfds/user_data`.
    NAMES_VARY: files, and thus ids, may have other names than the official
      ones.
    EMBEDDED: the data are part of this package: no file is decoded for them.
    session: resources shared with the builders of other configs: processes,
      sources, their pixels.
    beam: make examples in an Apache Beam pipeline instead.
    limit: make examples only of the first sources; TFDS limits what is written,
      but not with Beam.
    found_on_disk: the set was prepared before, and is not built again.
  """

  FAMILY: ClassVar[conditions.Family | None] = None
  EDITION: ClassVar[str] = ""
  KIND: ClassVar[str] = ""
  SPLIT: ClassVar[str] = "test"
  OTHER_SPLITS: ClassVar[Mapping[str, int]] = types.MappingProxyType({})
  CODECS: ClassVar[tuple[str, ...]] = ()
  GEOMETRY: ClassVar[str] = ""
  OTHER_GEOMETRIES: ClassVar[tuple[str, ...]] = ()
  EDITIONS: ClassVar[Mapping[str, str]] = types.MappingProxyType({})
  HAS_SOURCE: ClassVar[bool] = False
  CHUNK: ClassVar[int] = 32
  CLASSES: ClassVar[int | Sequence[str]] = 0
  SUPERVISED: ClassVar[tuple[str, str] | None] = None
  HOMEPAGE: ClassVar[str] = ""
  USUAL_PX: ClassVar[int] = 640  # about COCO's
  PUBLISHED_EXAMPLES: ClassVar[int] = 0
  RUN_BY: ClassVar[str] = ""
  OWN: ClassVar[own_set.OwnSet | None] = None
  NAMES_VARY: ClassVar[bool] = False
  EMBEDDED: ClassVar[bool] = False
  DEFAULT_BUILDER_CONFIG_NAME: ClassVar[str | None] = conditions.CLEAN

  session: BuildSession | None = None
  beam: bool = False
  limit: int | None = None
  found_on_disk: bool = False
  _frost_dir: str = ""
  _note: source_notes.Note | None = (
    None  # about the sources that it is made from
  )

  def __init_subclass__(cls, **kwargs: Any):
    """Give every dataset the configs that follow from its attributes."""
    super().__init_subclass__(**kwargs)
    if cls.VERSION is None:
      return  # a kind of data sets, which is never built itself
    if not kwargs.get("skip_registration"):
      REGISTERED[cls.name] = cls
    if "." not in cls.__module__:  # TFDS finds files beside packages alone
      file = getattr(sys.modules[cls.__module__], "__file__", None)
      cls.pkg_dir_path = epath.Path(file or ".").parent
    cls.BUILDER_CONFIGS = cls.configs()
    if not cls.BUILDER_CONFIGS:
      cls.DEFAULT_BUILDER_CONFIG_NAME = None
    conditions.when_added(cls._list_added)

  @classmethod
  def _list_added(cls) -> None:
    """Add the configs of a newly registered condition."""
    known = {config.name for config in cls.BUILDER_CONFIGS}
    added = [c for c in cls.configs() if c.name not in known]
    cls.BUILDER_CONFIGS = [*cls.BUILDER_CONFIGS, *added]
    # TFDS makes these once.
    cls.builder_configs.update({config.name: config for config in added})

  @classmethod
  def configs(cls) -> list[Config]:
    """Return the listed configs, those of the default codec and crop first.

    Users' data list no others: `config_of` makes a config that is asked for.
    """
    if not cls.CODECS:
      return []
    codecs, geometries = cls.CODECS, (cls.GEOMETRY, *cls.OTHER_GEOMETRIES)
    if cls.OWN:
      codecs, geometries = codecs[:1], geometries[:1]
    default = Config(name="", codec=codecs[0], geometry=cls.GEOMETRY)
    sources = [
      cls.changed(default, variant=SOURCE, geometry=geometry)
      for geometry in (geometries if cls.HAS_SOURCE else ())
    ]
    return sources + [
      cls.changed(
        default,
        condition=condition,
        codec=codec,
        geometry=geometry,
        variant=variant,
      )
      for geometry in geometries
      for variant in cls._variants()
      for codec in codecs
      for condition in cls._conditions()
      if codec != PUBLISHED or cls._is_published(condition)
    ]

  @classmethod
  def condition_names(cls) -> list[str]:
    """Return the names of the configs under the default options, clean first."""
    plain = ("", cls.CODECS[:1], cls.GEOMETRY)
    return [
      c.name
      for c in cls.BUILDER_CONFIGS
      if (c.variant, (c.codec,), c.geometry) == plain
    ] or [""]

  @classmethod
  def config_of(
    cls,
    name: str,
    *,
    codec: str | None = None,
    geometry: str | None = None,
    seed: int = 0,
    **options: Any,
  ) -> Config | None:
    """Return the config of a condition under a codec, a crop and a seed.

    Args:
      name: a condition (`clean`, `fog_3`), `source` if there is one, or a
        config's full name.
      codec: the config's own (the dataset's default) if None or empty.
      seed: the corruption's seed; clean data and sources have none.
      **options: none here; a dataset may have its own options.

    Returns:
      None for a dataset without configs.

    Raises:
      UserError: an unknown condition, codec, geometry or option, with a
        suggestion; or options that exclude each other.
    """
    if options:
      raise errors.unknown_error(
        f"option of {cls.name}", next(iter(options)), ("codec", "geometry")
      )
    if not cls.CODECS:
      return cls._no_config(name, codec, geometry)
    listed = cls._find_config(name)
    codec, geometry = codec or listed.codec, geometry or listed.geometry
    if codec not in cls.CODECS:
      raise errors.unknown_error("codec", codec, cls.CODECS)
    cls._check_geometry(listed.condition, geometry)
    if listed.variant == SOURCE:
      changed = cls.changed(listed, geometry=geometry)
      return cls.builder_configs.get(changed.name, changed)
    seed = conditions.check_seed(seed)
    seed = 0 if listed.condition.clean else seed or listed.seed
    if codec == PUBLISHED:
      cls._check_published(listed.condition, geometry, seed)
    changed = cls.changed(listed, codec=codec, geometry=geometry, seed=seed)
    return cls.builder_configs.get(changed.name, changed)

  @classmethod
  def changed(cls, config: Config, **changes: Any) -> Config:
    """Return a config with other options, under the name that encodes them.

    Args:
      **changes: new values of its fields except `name` and `description`.
    """
    config = dataclasses.replace(config, **changes)
    stem = cls._stem(config.condition, config.variant)
    crop = "" if config.geometry == cls.GEOMETRY else config.geometry
    if stem == conditions.CLEAN and crop in cls.EDITIONS:
      stem, crop = crop, ""
    edition = ""
    if crop and crop not in cls.EDITIONS and not config.condition.clean:
      edition = cls.edition_of(crop)
    parts = (
      stem,
      "" if config.codec == cls.CODECS[0] else config.codec,
      crop,
      "" if edition == cls.EDITION else edition,
      cls._ending(config.variant),
      f"seed{config.seed}" if config.seed else "",
    )
    facts = {
      "condition": config.condition.config,
      "codec": config.codec,
      "crop": config.geometry,
      "variant": config.variant,
      "seed": str(config.seed),
    }
    config.name = "_".join(filter(None, parts))
    config.description = "; ".join(f"{k} {v}" for k, v in facts.items() if v)
    return config

  @classmethod
  def edition_of(cls, geometry: str) -> str:
    """Return the edition of the corruptions under a crop: the one of its size.

    Raises:
      UserError: an unknown rule, or pictures too large for any edition.
    """
    if not (cls.EDITION and cls.GEOMETRY) or geometry in ("", cls.GEOMETRY):
      return cls.EDITIONS.get(geometry, cls.EDITION)
    if geometry in cls.EDITIONS:
      return cls.EDITIONS[geometry]
    side = geometry_lib.shape(geometry)[0]
    if side is None:  # clean data alone
      return cls.EDITION
    from robust_tfds.corruptions import spec

    return spec.edition_for(side)

  @classmethod
  def crop(cls, rule: str) -> str:
    """Return the rule of the crop in which models of a rule are shown the set."""
    return rule

  @property
  def config(self) -> Config:
    """The builder's config; clean by default if the dataset has none."""
    return cast(Config, self.builder_config or Config(name=""))

  @classmethod
  def set_name(cls) -> str:
    """Return the set's name in example keys and tables: the own set's, or the
    builder's.
    """
    return cls.OWN.name if cls.OWN else cls.name

  def made_of(self) -> dict[str, str]:
    """Return the identity of a user's own set; nothing for benchmarks.

    It includes the file of a user's own corruption.
    """
    out = self._own_corruption()
    if self.OWN:
      out |= {"set": self.OWN.name, "content": self.OWN.content}
    return out

  def _own_corruption(self) -> dict[str, str]:
    """Return the file of a user's own corruption; nothing for others."""
    pictures = self.FAMILY and self.FAMILY.kind == "pictures"
    own = pictures and own_corruptions.sha256(self.config.condition.name)
    return {_OWN: own} if own else {}

  def data_version(self) -> str:
    """Return the builder's version, and the content of a user's own set."""
    content = (self.info.metadata or {}).get("content")
    return "-".join(filter(None, (str(self.info.version), content)))

  def made_with(self) -> str | None:
    """Return what decoded and encoded a set on disk when it was made, in words.

    The result is '' if nothing did, and None for sets made before this was
    recorded.
    """
    return (self.info.metadata or {}).get(_MADE_WITH)

  def made_otherwise(self) -> str:
    """Return a warning if the set was made with other decoder versions; else
    ''.
    """
    made, here = self.made_with() or "", self._made_here()
    if set(made.split(_AND)) <= {"", *here.split(_AND)}:
      return ""
    return f"made with {made}; here is {here}: levels may differ"

  def read_with(self) -> str:
    """Return what decodes a set's pixels here; '' for PNG, which decodes uniquely."""
    features = self.info.features.values()
    if any(isinstance(f, movie_feature.Movie) for f in features):
      return decoders.video_decoder()
    if not any(isinstance(f, jpeg_feature.Jpeg) for f in features):
      return ""
    if file_formats.is_array_record(self):
      return decoders.picture_decoder()
    return decoders.tensorflow_decoder()

  @classmethod
  def splits(cls) -> tuple[str, ...]:
    """Return all splits that the set may have, the default one first."""
    return (cls.SPLIT, *cls.OTHER_SPLITS)

  @classmethod
  def published_in(cls, split: str | None = None) -> int:
    """Return how many examples a published split has; 0 if unknown.

    Args:
      split: None for `SPLIT`.
    """
    return cls.OTHER_SPLITS.get(split or cls.SPLIT, cls.PUBLISHED_EXAMPLES)

  def published_examples(self, split: str) -> int:
    """Return how many examples a split of the published config has; 0 if
    unknown.
    """
    return self.published_in(split)

  def counted(self, examples: int, split: str) -> str:
    """Return a number of examples and the published one: `42 of 50,000
    published`.
    """
    published = self.published_examples(split)
    return f"{examples:,}" + (
      f" of {published:,} published" if published else ""
    )

  def download_and_prepare(self, **options: Any) -> None:
    """Build the set like any TFDS builder, atomically and in one process at a
    time.

    Raises:
      UserError: broken sources, or none; a data_dir that cannot be written; an
        existing set that is damaged, or made from other sources than the manual
        dir holds now.
      MissingError: a source is missing; the message says which, and where it is
        expected.
      MissingPackageError: TFRecord files, and TensorFlow is not installed.
    """
    if self.session is None:  # alone
      with BuildSession() as self.session:
        self.download_and_prepare(**options)
      self.session = None
      return
    path, manual_dir = self.data_path, _manual_dir(options)
    self.found_on_disk = path.exists()
    if self.found_on_disk:
      if not self.info.splits and (path / "dataset_info.json").exists():
        # Another process built it after this builder had looked.
        self.info.read_from_directory(path)
      super().download_and_prepare(**options)
    else:
      if manual_dir and self.config.codec != PUBLISHED:
        # Elsewhere TFDS looks itself; a published tar is walked over once.
        self.check_sources(manual_dir)
      file_formats.check_writable(self, options.get("file_format"))
      set_folder.check_folder(self._data_dir_root)
      root = self._data_dir_root
      with (
        set_folder.nothing_of_missing(root, self.name),
        set_folder.locked(path),
      ):
        self.found_on_disk = (
          path.exists()
        )  # made by the process that had the lock
        if self.found_on_disk:
          self.info.read_from_directory(path)
        else:
          set_folder.discard_leftovers(path)
          refusals = set_folder.refusals(path)
          with self._lacking(manual_dir), refusals, self._bars():
            super().download_and_prepare(**options)
    set_folder.check_whole(self)
    self._check_made_of()
    if self.found_on_disk and manual_dir:
      self._compare_sources(manual_dir)

  def check_sources(
    self, manual_dir: str | os.PathLike | None, split: str | None = None
  ) -> list[str]:
    """Check that the sources of a build are present; write nothing.

    Files that a build downloads or unpacks itself are not checked.

    Args:
      manual_dir: where files were put; TFDS's own place if None.
      split: the required split; None: any.

    Returns:
      A line about what a build downloads or unpacks, and one for each file.

    Raises:
      MissingError: sources of a set that is not built yet are missing.
      UserError: broken sources, or a missing folder that is not needed either.
    """
    embedded = self.MANUAL_DOWNLOAD_INSTRUCTIONS in (None, frost.INSTRUCTIONS)
    with self._lacking(manual_dir):
      if manual_dir and not paths.parse(manual_dir).is_dir():
        fault = f"{manual_dir}: there is no such folder"
        if embedded:
          raise errors.UserError(
            f"{fault}, and {self.set_name()} is made without: leave manual_dir out."
          )
        raise FileNotFoundError(f"{fault}.")
      if embedded or self.data_path.exists():
        return []
      look = self._look(manual_dir)
      try:
        if self.config.codec == PUBLISHED:
          next(iter(self._published(look)), None)
        else:
          listed = self._shared_sources if self.session else self._split_sources
          there = listed(look)
          for part in split.split("+") if split else ():
            if part not in there:
              raise FileNotFoundError(
                f"{look.manual_dir}: no list of split {part}."
              )
      except folders.NotFetchedError as e:
        return [str(e), *known_files.lines(self.set_name())]
    return []

  def _look(self, manual_dir: str | os.PathLike | None) -> folders.Look:
    """Return a download manager that downloads and unpacks nothing."""
    downloads = f"{self._data_dir_root}/downloads"
    place = os.fspath(manual_dir or f"{downloads}/manual")  # as TFDS
    if paths.is_local(place):
      place = os.path.abspath(place)
    return folders.Look(place, downloads)

  def note_decoders(self, first: Any) -> None:
    """Note in the metadata what makes the pixels; `first` is one of the sources."""
    from_files = next(first.files(), None) is not None
    self.info.metadata[_MADE_WITH] = self._made_here(from_files)

  def clean_sources(
    self, manual_dir: str | os.PathLike | None
  ) -> Mapping[str, Sequence[Any]]:
    """Return the clean examples of each split; build and download nothing.

    Raises:
      MissingError: missing sources.
      UserError: broken sources.

    """
    place = os.path.abspath(manual_dir) if manual_dir else ""
    manager = folders.Present(place, f"{self._data_dir_root}/downloads")
    with self._lacking(manual_dir):
      return self._split_sources(manager)

  def _lacking(
    self, manual_dir: str | os.PathLike | None
  ) -> contextlib.AbstractContextManager[None]:
    """Raise the standard error saying that a source is not there."""
    name, layout = self.set_name(), self.MANUAL_DOWNLOAD_INSTRUCTIONS or ""
    if self.config.codec == PUBLISHED:
      name = known_files.published(name, self.config.condition)
    return known_files.lacking(name, manual_dir, layout)

  def _create_builder_config(
    self, builder_config: Any, *args: Any, **kwargs: Any
  ) -> Any:
    """Create a config like TFDS, without its warning about unlisted configs of
    ours.
    """
    name = getattr(builder_config, "name", None)
    if isinstance(builder_config, Config) and name not in self.builder_configs:
      return builder_config
    return super()._create_builder_config(builder_config, *args, **kwargs)

  def _log_download_bytes(self) -> None:
    """Log TFDS's line before it makes a set, or the session's line."""
    if self._shared().speaks:
      self._shared().begin(self.info.full_name, self.data_path)
    else:
      super()._log_download_bytes()

  def _log_download_done(self) -> None:
    """Log TFDS's line after it made a set."""
    if not self._shared().speaks:
      super()._log_download_done()

  @contextlib.contextmanager
  def _bars(self) -> Iterator[None]:
    """Show TFDS's progress bars, unless the session reports progress."""
    shown = getattr(tfds.core.utils.tqdm_utils, "_active", True)
    tfds.display_progress_bar(shown and not self._shared().speaks)
    try:
      yield
    finally:
      tfds.display_progress_bar(shown)

  def _check_made_of(self) -> None:
    """Refuse a set of another user with the same builder, or one of other
    files.
    """
    there, here = self.info.metadata or {}, self.made_of()
    differ = [f"{k} {there.get(k)}" for k in here if there.get(k) != here[k]]
    if differ:
      raise errors.UserError(
        f"{self.data_path}: made of another set ({', '.join(differ)} there;"
        f" {', '.join(f'{k} {v}' for k, v in here.items())} now). Name another"
        " data_dir (of a run: workdir), or remove this folder to build it anew."
      )

  @classmethod
  def class_names(cls, manual_dir: str = "") -> Sequence[Sequence[str]]:
    """Return the names of each class, in label order; empty if unknown.

    Args:
      manual_dir: the folder of the sources, for data sets whose classes are
        listed there.
    """
    del manual_dir
    return () if isinstance(cls.CLASSES, int) else [(n,) for n in cls.CLASSES]

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of all examples of `SPLIT` if known without any file; else
    none.

    They are those of the usual variant; with `NAMES_VARY`, in the official
    spelling.
    """
    return ()

  @classmethod
  def known_decoders(cls, codec: str) -> str | None:
    """Return what decodes the pixels; None if only the files tell."""
    return "" if cls.EMBEDDED and codec not in _ENCODERS else None

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Return the true class of an example if its id implies it; else None."""
    del example_id
    return None

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """Return an example's `group_id`; None if its id does not imply it.

    Args:
      example_id: the id as in `example_keys`.
      frame: its number in the group.
    """
    del frame
    return example_id

  def example_features(self) -> Mapping[str, Any]:
    """Return an example's features besides its keys; implemented by the kinds."""
    raise NotImplementedError

  def label_feature(self) -> tfds.features.ClassLabel:
    """Return the feature of the classes, by `CLASSES`."""
    if isinstance(self.CLASSES, int):
      return tfds.features.ClassLabel(num_classes=self.CLASSES)
    return tfds.features.ClassLabel(names=list(self.CLASSES))

  def _info(self) -> tfds.core.DatasetInfo:
    # A config that a user made has not been through `config_of`.
    if self.config.codec not in ("", *self.CODECS):
      raise errors.unknown_error("codec", self.config.codec, self.CODECS)
    self._check_own()
    return self.dataset_info_from_configs(
      features=tfds.features.FeaturesDict(
        {
          **self.example_features(),
          "example_id": tfds.features.Text(),
          "group_id": tfds.features.Text(),
          "frame": np.int32,
        }
      ),
      supervised_keys=self.SUPERVISED,
      metadata=tfds.core.MetadataDict(),
      homepage=self.HOMEPAGE or None,
    )

  def _sources(self, dl_manager: Any) -> Sequence[Any]:
    """Return the clean examples before decoding; implemented by each dataset."""
    raise NotImplementedError

  def _split_sources(self, dl_manager: Any) -> Mapping[str, Sequence[Any]]:
    """Return the clean examples of each split; datasets with `OTHER_SPLITS`
    override it.
    """
    return {self.SPLIT: self._sources(dl_manager)}

  def _published(self, dl_manager: Any) -> Iterable[Any]:
    """Return rows of the authors' files, if `published` is among the codecs."""
    raise NotImplementedError

  def _encoder(self) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a picklable function: sources -> rows; implemented by the kinds."""
    raise NotImplementedError

  def _to_example(self) -> Callable[[Any], tuple[str, dict[str, Any]]]:
    """Return a picklable function: row -> (key, example); implemented by the
    kinds.
    """
    raise NotImplementedError

  def _decodes(self) -> bool:
    """Return whether sources are decoded; several configs share decoded ones."""
    return True

  def _decoder(self) -> Callable[[], str] | None:
    """Return what names the decoder of the sources; None if files stay as they
    are.
    """
    return None if self.config.codec == PUBLISHED else decoders.picture_decoder

  def _made_here(self, from_files: bool = True) -> str:
    """Return the programs besides this project that make a config's pixels, in
    words.

    Args:
      from_files: whether its sources are files of other programs.
    """
    named = [self._decoder()] if from_files else []
    named.append(_ENCODERS.get(self.config.codec))
    return _AND.join(dict.fromkeys(name() for name in named if name))

  def _recipe(self) -> Recipe:
    edition = self.edition_of(self.config.geometry)
    own = own_corruptions.get(self.config.condition.name)
    return Recipe(
      self.set_name(),
      edition,
      self.config,
      self._frost_dir,
      (own.source, own.sha256) if own and self._own_corruption() else (),
    )

  def _check_own(self) -> None:
    """Refuse a user's own corruption that does not support the set's edition."""
    if self._own_corruption():
      from robust_tfds.corruptions import trial

      edition = self.edition_of(self.config.geometry)
      trial.check(self.config.condition.name, edition, self.name)

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    if self.config.codec == PUBLISHED:
      rows = iter(self._published(dl_manager))
      first = next(rows, None)
      if first is None:
        raise self._no_example(dl_manager)
      rows = itertools.chain([first], rows)
      return {self.SPLIT: map(self._to_example(), rows)}
    if self.config.condition.name == "frost":
      self._frost_dir = frost.find(dl_manager)
      if self._uses_beam():  # from where all workers can read
        self._frost_dir = frost.copied(self._frost_dir, self._parts())
    by_split = self._shared_sources(dl_manager)
    if not all(by_split.values()):
      raise self._no_example(dl_manager)
    self.note_decoders(next(iter(by_split.values()))[0])
    if self.MANUAL_DOWNLOAD_INSTRUCTIONS:  # else there is no manual dir
      manual_dir = folders.manual_dir(dl_manager)
      if manual_dir and manual_dir.is_absolute():
        self._note = self._shared().note(self.group())
    return {
      split: self._generate_examples((split, sources))
      for split, sources in by_split.items()
    }

  def group(self) -> Hashable:
    """Return a key that all configs of the dataset with the same sources share."""
    return self.config.geometry, self.config.variant

  def _shared(self) -> BuildSession:
    assert self.session is not None  # `download_and_prepare` saw to it
    return self.session

  def _shared_sources(self, dl_manager: Any) -> Mapping[str, Sequence[Any]]:
    """Return the sources of each split, listed once for all configs that share
    them.
    """
    return self._shared().sources(
      self.group(), functools.partial(self._split_sources, dl_manager)
    )

  def _download_and_prepare(
    self, dl_manager: Any, download_config: Any
  ) -> None:
    """Make the set's files in a folder that TFDS renames afterwards."""
    self.info.metadata.update({_MADE_WITH: "", **self.made_of()})
    if self._uses_beam():
      self._make_with_beam(dl_manager, download_config)
    else:
      super()._download_and_prepare(dl_manager, download_config)
    if self._note:
      source_notes.write(self.data_path, self._note)

  def _make_with_beam(self, dl_manager: Any, download_config: Any) -> None:
    splits = [
      pipelines.make(
        split,
        self.info.features,
        self._example_writer(),
        tfds.core.ShardedFileTemplate(
          split=name,
          dataset_name=self.name,
          data_dir=self.data_path,
          filetype_suffix=self.info.file_format.file_suffix,
        ),
        download_config,
      )
      for name, split in self._split_generators(dl_manager).items()
    ]
    self._parts().rmtree()
    self.info.set_splits(tfds.core.SplitDict(splits))

  def _parts(self) -> epath.Path:
    """Return the folder that a pipeline's workers share while the set is made."""
    return epath.Path(self.data_path) / pipelines.FOLDER

  def _uses_beam(self) -> bool:
    """Return whether a Beam pipeline makes the examples."""
    return self.beam and self.config.codec not in ("", PUBLISHED)

  def _compare_sources(self, manual_dir: str | os.PathLike) -> None:
    """Refuse an existing set if its sources are present and have changed."""
    if self.config.codec == PUBLISHED:
      return
    note = source_notes.read(self.data_path)
    if note is None:
      return
    manager = folders.Present(
      paths.parse(manual_dir).resolve(), f"{self._data_dir_root}/downloads"
    )
    try:
      sources = self._shared_sources(manager)
    except FileNotFoundError:
      return  # a set outlives its sources
    listed = list(itertools.chain.from_iterable(sources.values()))
    if listed:
      source_notes.compare(self.data_path, note, listed, manual_dir)

  def _no_example(self, dl_manager: Any) -> errors.UserError:
    folder = folders.manual_dir(dl_manager) or "The sources"
    return errors.UserError(
      f"{folder}: for {self.info.full_name} there is no example in the files and"
      f" lists. Expected:\n{self.MANUAL_DOWNLOAD_INSTRUCTIONS}"
    )

  def _generate_examples(self, part: Any) -> Any:
    split, sources = part[0], part[1][: self.limit]
    if self._uses_beam():
      return pipelines.Split(
        sources, self._encoder(), self._to_example(), self.CHUNK
      )
    session = self._shared()
    if self._decodes():
      sources = session.decoded(self.group(), split, sources, self.CHUNK)
    name = self.config.condition.name
    rows = session.rows(self._encoder(), sources, self.CHUNK, name)
    return map(self._to_example(), rows)

  def _example_writer(self) -> writer.OrderedWriter:
    return writer.OrderedWriter(file_format=self.info.file_format)

  @classmethod
  def _conditions(cls) -> list[conditions.Condition]:
    if cls.FAMILY is None:
      return [conditions.Condition()]
    return cls.FAMILY.conditions()

  @classmethod
  def _variants(cls) -> tuple[str, ...]:
    """Return the variants that are listed besides `source`."""
    return ("",)

  @classmethod
  def _stem(cls, condition: conditions.Condition, variant: str) -> str:
    """Return the stem of a config's name."""
    return SOURCE if variant == SOURCE else condition.config

  @classmethod
  def _ending(cls, variant: str) -> str:
    """Return what a variant adds to a config's name."""
    return ""

  @classmethod
  def _find_config(cls, name: str) -> Config:
    """Return the config of a full name, or of a condition as users may write
    it.
    """
    seeded = _SEEDED.fullmatch(name)
    if seeded:
      listed = cls._find_config(seeded["name"])
      return dataclasses.replace(listed, seed=int(seeded["seed"]))
    by_name: Mapping[str, Config] = cls.builder_configs
    if name in by_name:
      return by_name[name]
    if cls.FAMILY is None:
      raise errors.unknown_error("config", name, by_name)
    config = cls.FAMILY.parse(name).config
    if config not in by_name:  # a known name of other sets
      raise errors.unknown_error("config", name, by_name)
    return by_name[config]

  @classmethod
  def _no_config(
    cls, name: str, codec: str | None, geometry: str | None
  ) -> None:
    """Refuse options of a dataset without configs."""
    for kind, value in (
      ("config", "" if name == conditions.CLEAN else name),
      ("codec", codec),
      ("geometry", geometry),
    ):
      if value:
        raise errors.UserError(
          f"{cls.name} takes no {kind}, got {value!r}: it is always the same."
        )

  @classmethod
  def _check_geometry(
    cls, condition: conditions.Condition, geometry: str
  ) -> None:
    if geometry in (cls.GEOMETRY, *cls.OTHER_GEOMETRIES):
      return
    if geometry == "none":
      raise errors.UserError(
        f"{cls.set_name()}: geometry=none corrupts whole pictures of your own"
        " (folder:, tfds:) under ImageNet-C's corruptions, and no others. Leave"
        " geometry out."
      )
    if not cls.GEOMETRY:
      but = "".join(f" but {g!r}" for g in cls.OTHER_GEOMETRIES)
      raise errors.UserError(
        f"{cls.name} uses pictures as they are; it takes no geometry{but}, got"
        f" {geometry!r}."
      )
    shape = geometry_lib.shape(geometry)  # refuses unknown rules
    if not condition.clean and None in shape:
      raise errors.UserError(
        f"Geometry {geometry!r} leaves images of many sizes; corrupted configs"
        " need one, e.g. short256_crop224."
      )

  @classmethod
  def _is_published(cls, condition: conditions.Condition) -> bool:
    """Return whether the authors' files contain a condition."""
    if cls.FAMILY is None or condition.clean:
      return False
    return condition.name in cls.FAMILY.names()

  @classmethod
  def _check_published(
    cls, condition: conditions.Condition, geometry: str, seed: int
  ) -> None:
    others = ", ".join(c for c in cls.CODECS if c != PUBLISHED)
    if not cls._is_published(condition):
      raise errors.UserError(
        f"The published files of {cls.name} hold no {condition.config!r}: take"
        f" it of another codec ({others})."
      )
    if geometry not in (cls.GEOMETRY, *cls.OTHER_GEOMETRIES):
      raise errors.UserError(
        f"The published files of {cls.name} are cropped already, got geometry"
        f" {geometry!r}: leave it out, or take another codec ({others})."
      )
    if seed:
      raise errors.UserError(
        f"The published files of {cls.name} are as the authors made them and"
        f" have no seed, got seed {seed}: leave it out, or take another codec"
        f" ({others})."
      )


# Imported builders by the name that TFDS finds them by, ours and other packages'.
REGISTERED: dict[str, type[Builder]] = {}


def _manual_dir(options: Mapping[str, Any]) -> str | os.PathLike | None:
  """Return the manual dir in the options of `download_and_prepare`."""
  download = options.get("download_config")
  return download.manual_dir if download else None


def place(split: str, example_id: str) -> int:
  """Return the 128-bit hash by which TFDS sorts a split's examples.

  So the first n examples of a set follow from its ids (`ExampleWriter`).
  """
  return int(tfds.core.hashing.Hasher(split).hash_key(example_id))


def example_keys(
  example_id: str, group_id: str = "", frame: int = 0
) -> dict[str, Any]:
  """Return the keys that every example has.

  Args:
    example_id: unique and stable.
    group_id: the sequence; the example itself if empty.
  """
  return {
    "example_id": example_id,
    "group_id": group_id or example_id,
    "frame": frame,
  }

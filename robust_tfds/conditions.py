"""The conditions of the benchmarks: the only home of their names.

A condition is one state of a data set: clean, or one corruption (perturbation) at
one level. There are three families, one for each kind of data:

  PICTURES   19 corruptions at severities 1-5     `fog_3`
  SEQUENCES  14 perturbations; noise at
             difficulties 1-3, the others at 1    `tilt`, `shot_noise_2`
  VIDEOS     18 perturbations at severities 1-5   `jpeg_4`

A row says a name, its group and its set: `common` ones enter the published means,
`extra` ones are published apart (the validation set of ImageNet-C), `c_bar` ones are
of ImageNet-C-bar and CIFAR-10-C-bar, `own` ones are users': they enter no published
mean and are run by name. A plugin file in
`robust_tfds/corruptions/{image,sequence,video}/` without a row is of set `own`; its
`GROUP` says the group. A perturbation of videos that is a corruption of pictures in
every frame, or a codec, is a row alone. A corruption of pictures can also be a file
anywhere: `robust_tfds/own_corruptions.py`.

Sources: docs/evidence/specs/corruptions.md section 1, docs/evidence/specs/imagenet_p.md
sections 1 and 2, docs/evidence/specs/video.md section 1; the order is the papers'.

  >>> from robust_tfds import conditions
  >>> conditions.Condition("fog", 3).config
  'fog_3'
  >>> conditions.SEQUENCES.parse("shot_noise_2").level
  2
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import operator
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, cast

import numpy as np

from robust_tfds import errors

Kind = Literal["pictures", "sequences", "videos"]
SEVERITIES = (1, 2, 3, 4, 5)
DIFFICULTIES = (1, 2, 3)
CLEAN = "clean"
# What a user may write for a set of names: `all` is what was published. The detection
# benchmark's code calls the extra ones `validation`.
SETS: Mapping[str, tuple[str, ...]] = {
  "common": ("common",),
  "extra": ("extra",),
  "validation": ("extra",),
  "own": ("own",),
  "all": ("common", "extra"),
}
LARGEST_SEED = 2**63 - 1  # what numpy's and jax's generators both take
_TOLD_OF_ROWS: list[Callable[[], None]] = []  # when a family has one more
_BETWEEN = "\x1f"  # the fields of a key
# One spelling for each level: `fog_01` and `fog_1` would be two files of one cell.
_LEVELS_IN_NAMES = re.compile(r"(?P<name>.+?)_(?P<level>0|-?[1-9][0-9]*)")


@dataclasses.dataclass(frozen=True)
class OfImage:
  """A corruption of pictures in every frame of a video.

  Attributes:
    image: its name.
    edition: edition with the video benchmark's severities.
  """

  image: str
  edition: str = "imagenet"


@dataclasses.dataclass(frozen=True)
class OfCodec:
  """A whole video through one of FFmpeg's encoders and back, on the host.

  Attributes:
    codec: FFmpeg's name of the encoder.
    container: FFmpeg's name of the format.
    quantiser: what `-q:v` takes at severity 1; s times as much at severity s.
      Those above 31 change little.
  """

  codec: str
  container: str
  quantiser: int


@dataclasses.dataclass(frozen=True)
class Row:
  """A corruption or perturbation.

  Attributes:
    name: its published name.
    group: `noise`, `blur`, `weather`, `digital`, `temporal` or `camera`.
    set: `common`, `extra`, `c_bar` or `own`, see the header.
    plugin: plugin of a perturbation of videos, if that says everything; None:
      its file says it.
  """

  name: str
  group: str
  set: str = "common"
  plugin: OfImage | OfCodec | None = None

  @property
  def noise(self) -> bool:
    """Whether it is noise, drawn anew for every frame."""
    return self.group == "noise"


@dataclasses.dataclass(frozen=True)
class Condition:
  """Clean, or one corruption at one level.

  All clean conditions are equal, whatever the family.

  Attributes:
    name: name of the corruption or perturbation; empty for clean.
    level: severity, of sequences difficulty; 0 for clean.
    kind: the family's.
  """

  name: str = ""
  level: int = 0
  kind: Kind = dataclasses.field(default="pictures")

  def __post_init__(self) -> None:
    """Check the level, and make all clean conditions equal."""
    if not self.name:
      if self.level:
        raise errors.UserError(
          f"Level {self.level} of no corruption: clean data has level 0."
        )
      object.__setattr__(self, "kind", "pictures")
    else:
      object.__setattr__(self, "level", check_level(self.level))

  @functools.cached_property
  def clean(self) -> bool:
    """Whether nothing is corrupted."""
    return not self.name

  @functools.cached_property
  def config(self) -> str:
    """The TFDS config's name: `clean`, `fog_3`; of sequences `tilt`."""
    if self.clean:
      return CLEAN
    if self.kind == "sequences" and self.level == 1:
      return self.name
    return f"{self.name}_{self.level}"

  @classmethod
  def parse(cls, config: str, kind: Kind = "pictures") -> Condition:
    """Return the condition of a config's name: `family(kind).parse`."""
    return family(kind).parse(config)

  def key(self, seed: int, dataset: str, example_id: str) -> np.ndarray:
    """Return the raw key of an example: uint32 `[2]`."""
    return self.keys(seed, dataset, [example_id])[0]

  def keys(
    self, seed: int, dataset: str, example_ids: Sequence[str]
  ) -> np.ndarray:
    """Return the raw keys of examples: uint32 `[B, 2]`.

    The number of an example's frame is no part of its key: an id is unique.
    """
    return raw_keys(seed, dataset, self.name, self.level, example_ids)


@dataclasses.dataclass(frozen=True)
class Mix:
  """Conditions that a paper tests together.

  Attributes:
    parts: names by kind; a mean over the mix weighs kinds alike.
    levels: levels of all of them.
  """

  parts: tuple[tuple[str, ...], ...]
  levels: tuple[int, ...]

  @property
  def names(self) -> tuple[str, ...]:
    """The names of all parts."""
    return tuple(name for part in self.parts for name in part)


@dataclasses.dataclass(frozen=True)
class Family:
  """The conditions of one kind of data.

  Attributes:
    kind: `pictures`, `sequences` or `videos`.
    noun: what its rows are called.
    level_noun: what their levels are called.
    rows: in the papers' order.
    mixes: name -> what a paper tests together: names, and at which levels alone.
    lists: name -> a set whose members may be in other sets too, in its order.
  """

  kind: Kind
  noun: str
  level_noun: str
  rows: tuple[Row, ...]
  mixes: Mapping[str, Mix] = dataclasses.field(default_factory=dict)
  lists: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
  _parts: list[Family] = dataclasses.field(
    default_factory=list, init=False, repr=False, compare=False
  )

  def add(self, row: Row) -> None:
    """Add a row of set `own`: `robust_tfds/own_corruptions.py`."""
    for family in (self, *self._parts):
      object.__setattr__(family, "rows", (*family.rows, row))
      for cached in ("_row_of", "_conditions_of"):
        vars(family).pop(cached, None)
    for tell in _TOLD_OF_ROWS:
      tell()

  @functools.cached_property
  def _row_of(self) -> Mapping[str, Row]:
    return {row.name: row for row in self.rows}

  @property
  def known_names(self) -> tuple[str, ...]:
    """All names in the papers' order, then those of set `own`."""
    return tuple(self._row_of)

  def names(self, subset: str = "all") -> tuple[str, ...]:
    """Return the names of a set in the papers' order.

    Args:
      subset: `common`, `extra` (or `validation`, its other name), `all` (both),
        `own`, a user's, or one of `lists`.

    Raises:
      UserError: an unknown set, with a suggestion.
    """
    if isinstance(subset, str) and subset in self.lists:
      return self.lists[subset]
    if not isinstance(subset, str) or subset not in SETS:
      known = (*SETS, *self.lists)
      raise errors.unknown_error(f"set of {self.noun}s", subset, known)
    return tuple(r.name for r in self.rows if r.set in SETS[subset])

  def trained_names(self, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of this family that a model was trained on.

    A name of another family counts, too, and so does another name of the same
    operation.

    Args:
      names: what the model was trained on, of any family.

    >>> VIDEOS.trained_names(["jpeg_compression", "fog"])
    ('jpeg',)
    """
    trained = same_operations(names)
    return tuple(name for name in self.known_names if name in trained)

  def row(self, name: str) -> Row:
    """Return the row of a name.

    Raises:
      UserError: an unknown name, with a suggestion.
    """
    if not isinstance(name, str) or name not in self._row_of:
      raise errors.unknown_error(self.noun, name, self._row_of)
    return self._row_of[name]

  def is_noise(self, name: str) -> bool:
    """Return whether a name's row is noise."""
    return self.row(name).noise

  @property
  def groups(self) -> tuple[str, ...]:
    """All groups, in the order of the rows."""
    return tuple(dict.fromkeys(r.group for r in self.rows))

  def members(self, group: str, subset: str = "all") -> tuple[str, ...]:
    """Return the names of a group, in order.

    Raises:
      UserError: an unknown group, with a suggestion.
    """
    if not isinstance(group, str) or group not in self.groups:
      raise errors.unknown_error(f"group of {self.noun}s", group, self.groups)
    return tuple(n for n in self.names(subset) if self.row(n).group == group)

  def level_name(self, level: int) -> str:
    """Return the name of all conditions of a level, such as `severity_3`."""
    return f"{self.level_noun}_{level}"

  def levels(self, name: str) -> tuple[int, ...]:
    """Return the levels at which a name has data, ascending."""
    row = self.row(name)
    if self.kind != "sequences":
      return SEVERITIES
    return DIFFICULTIES if row.noise else (1,)

  def condition(self, name: str = "", level: int = 0) -> Condition:
    """Return a checked condition; clean if there is no name.

    Raises:
      UserError: an unknown name, or a level that it does not have.
    """
    if not name:
      return Condition(name, level, self.kind)
    if type(level) is int and (name, level) in self._conditions_of:
      return self._conditions_of[name, level]
    levels = self.levels(name)
    if check_level(level) not in levels:
      if self.kind == "sequences" and level in DIFFICULTIES:
        raise errors.UserError(
          f"{name!r} has no harder data ({self.level_noun} {level}): only noise"
          " has; the difficulty of the others is chosen in the metric (pairs of"
          " frames further apart)."
        )
      raise errors.UserError(
        f"{self.level_noun.capitalize()} must be {levels[0]}-{levels[-1]}, got"
        f" {level} of {name!r}."
      )
    return Condition(name, level, self.kind)

  @functools.cached_property
  def _conditions_of(self) -> Mapping[tuple[str, int], Condition]:
    """The conditions of every name at every level, in order."""
    return {
      (r.name, level): Condition(r.name, level, self.kind)
      for r in self.rows
      for level in self.levels(r.name)
    }

  def conditions(self) -> list[Condition]:
    """Return clean, then every name of sets `all` and `own` at every level."""
    names = {*self.names(), *self.names("own")}
    return [c for c in self.known_conditions if c.clean or c.name in names]

  @property
  def known_conditions(self) -> list[Condition]:
    """Clean, then every known name at every level."""
    return [Condition(), *self._conditions_of.values()]

  def published_part(self, name: str) -> Family:
    """Return the family of the sets whose published names are one of `lists`.

    They are its common ones, in the list's order; there are no extra ones.
    """
    rows = (self.row(member) for member in self.lists[name])
    common = [dataclasses.replace(row, set="common") for row in rows]
    own = [row for row in self.rows if row.set == "own"]
    part = dataclasses.replace(
      self, rows=(*common, *own), lists={name: self.lists[name]}
    )
    self._parts.append(part)
    return part

  def resolve(self, selection: str | Iterable[str]) -> tuple[str, ...]:
    """Return names in the papers' order, from what a user writes.

    Args:
      selection: a set (`common`, `extra`, `all`, ...), a group (`noise`, ...),
        a mix (`temporal_eval`, ...), `none`, a name, several of these separated
        by commas, or a sequence.

    Raises:
      UserError: an unknown name, with a suggestion.
    """
    chosen = {n for names, _ in self._words(selection) for n in names}
    return tuple(n for n in self.known_names if n in chosen)

  def _words(
    self, selection: str | Iterable[str]
  ) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Yield the names of each word, and the levels of a mix; () for other words."""
    if isinstance(selection, str):
      selection = [word.strip() for word in selection.split(",")]
    if not isinstance(selection, Iterable):
      raise errors.UserError(
        f"{self.noun.capitalize()}s are names, sets or groups, got {selection!r}."
      )
    for word in selection:
      if not isinstance(word, str):
        raise errors.unknown_error(self.noun, word, self._row_of)
      if word in ("", "none"):
        continue
      if word in SETS or word in self.lists:
        yield self.names(word), ()
      elif word in self.groups:
        yield self.members(word), ()
      elif word in self.mixes:
        yield self.mixes[word].names, self.mixes[word].levels
      elif word in self._row_of:
        yield (word,), ()
      else:
        sets = [*self.groups, *self.mixes, *SETS, *self.lists, "none"]
        known = [*self._row_of, *sets]
        raise errors.unknown_error(self.noun, word, known)

  def select(
    self,
    selection: str | Iterable[str],
    levels: int | Iterable[int],
  ) -> list[Condition]:
    """Return clean, then the selected names at those of `levels` that they have.

    Args:
      selection: as `resolve` takes it.
      levels: one, or several; of a mix those that it has of them.

    Raises:
      UserError: an unknown name, a level that no row of the family has, or none
        that a mix has.
    """
    listed = list(levels) if isinstance(levels, Iterable) else [levels]
    known = SEVERITIES if self.kind != "sequences" else DIFFICULTIES
    for level in listed:
      if check_level(level) not in known:
        raise errors.UserError(
          f"{self.level_noun.capitalize()} must be {known[0]}-{known[-1]}, got"
          f" {level!r}."
        )
    chosen: dict[str, set[int]] = {}
    for names, only in self._words(selection):
      levels_here = [v for v in listed if not only or v in only]
      if not levels_here:
        raise errors.UserError(
          f"{selection!r} is tested at {self.level_noun} {only[0]}-{only[-1]}, got"
          f" {listed}."
        )
      for name in names:
        chosen.setdefault(name, set()).update(map(int, levels_here))
    out = [Condition()]
    for name in (n for n in self.known_names if n in chosen):
      own = self.levels(name)
      # A row of one level is that level whatever is asked for.
      of_name = sorted(chosen[name]) if len(own) > 1 else own
      out += [self.condition(name, level) for level in of_name]
    return out

  def parse(self, config: str) -> Condition:
    """Return the condition of a config's name, e.g. `fog_3` or `fog/3`.

    Raises:
      UserError: no such condition; says whether the name or the level is at
        fault.
    """
    if not isinstance(config, str):
      raise errors.unknown_error("condition", config, self._row_of)
    text = config.replace("/", "_")
    if text == CLEAN:
      return Condition()
    if self.kind == "sequences" and text in self._row_of:
      return self.condition(text, 1)
    split = _LEVELS_IN_NAMES.fullmatch(text)
    if split and split["name"] in self._row_of:
      level = int(split["level"])
      if not level:
        raise errors.UserError(
          f"{self.level_noun.capitalize()} 0 in {config!r}: data that is not"
          f" corrupted is the config {CLEAN!r}."
        )
      return self.condition(split["name"], level)
    if split and split["level"] in map(str, SEVERITIES):
      raise errors.unknown_error(self.noun, split["name"], self._row_of)
    raise errors.unknown_error(
      "condition", config, [c.config for c in self.conditions()]
    )


def check_level(level: object) -> int:
  """Return a concrete level as int.

  Raises:
    UserError: not a whole number of at least 1.
  """
  if isinstance(level, (bool, np.bool_)) or not isinstance(
    level, (int, np.integer)
  ):
    raise errors.UserError(
      f"A severity or difficulty is a whole number from 1, got {level!r}."
    )
  if level < 1:
    raise errors.UserError(
      f"A severity or difficulty is a whole number from 1, got {level}; level 0"
      " is clean data, which has no corruption."
    )
  return int(level)


def whole_number(value: object) -> int | None:
  """Return a whole number of Python, numpy or jax as int; None for anything else.

  Floats, texts, booleans, vectors and traced values are no whole numbers here.

  >>> [whole_number(value) for value in (3, np.array(3), 3.0, True, "3")]
  [3, 3, None, None, None]
  """
  if isinstance(value, (bool, np.bool_)):
    return None
  try:
    return operator.index(value)  # type: ignore[arg-type]
  except TypeError:
    return None


def check_seed(seed: object) -> int:
  """Return a seed as int.

  Raises:
    UserError: not a whole number from 0 to `LARGEST_SEED`.
  """
  number = whole_number(seed)
  if number is None or not 0 <= number <= LARGEST_SEED:
    raise errors.UserError(
      f"A seed is a whole number from 0 to 2**63 - 1, got {seed!r}."
    )
  return number


def draws_in_words(dataset: str, seed: int) -> str:
  """Return in words what all draws over a set depend on besides its examples."""
  return f"{dataset}, seed {seed}"


def raw_keys(
  seed: int,
  dataset: str,
  name: str,
  level: float,
  example_ids: Sequence[str],
  frames: Sequence[int] | None = None,
) -> np.ndarray:
  """Return raw keys of examples: uint32 `[B, 2]`, functions of the arguments alone.

  The first eight bytes of the sha256 of the fields, joined by U+001F.

  Args:
    seed: the run's.
    dataset: name of the corrupted dataset, e.g. `imagenet_c`.
    name: name of the corruption.
    level: severity or difficulty; 0 of clean data; of CCC also a fraction: 2.0
      has the keys of 2.
    example_ids: B stable ids.
    frames: a number beside each id; 0 in all our datasets.

  Raises:
    UserError: a seed, level or frame that is no whole number from 0, or a name
      or id that is no text.
  """
  numbers = [0] * len(example_ids) if frames is None else frames
  texts = {"dataset": [dataset], "name": [name], "example_id": example_ids}
  for field, values in texts.items():
    _check_texts(field, values)
  fraction = isinstance(level, float)
  _check_from_0("severity", [] if fraction else [level])
  _check_from_0("frame", numbers)
  number = f"{level:g}" if fraction else str(int(level))
  head = _BETWEEN.join((str(check_seed(seed)), dataset, name, number))
  digests = b"".join(
    hashlib.sha256(f"{head}{_BETWEEN}{i}{_BETWEEN}{int(f)}".encode()).digest()[
      :8
    ]
    for i, f in zip(example_ids, numbers, strict=True)
  )
  words = np.frombuffer(digests, dtype=">u4").astype(np.uint32)
  return words.reshape(len(example_ids), 2)


def _check_texts(field: str, values: Sequence[object]) -> None:
  for value in values:
    if not isinstance(value, str) or _BETWEEN in value:
      raise errors.UserError(
        f"A key's {field} is a text without U+001F, got {value!r}"
        f" ({type(value).__name__}). Decode bytes, and write numbers as they are"
        " in the file's name."
      )


def _check_from_0(field: str, values: Sequence[object]) -> None:
  for value in values:
    number = whole_number(value)
    if number is None or number < 0:
      raise errors.UserError(
        f"A key's {field} is a whole number from 0, got {value!r}."
      )


def _rows(group: str, names: str, subset: str = "common") -> list[Row]:
  return [Row(name, group, subset) for name in names.split()]


def _add_own_rows(folder: str, published: Sequence[Row]) -> tuple[Row, ...]:
  """Return rows, then one of set `own` for each other plugin file of a folder."""
  known = {row.name for row in published}
  groups = list(dict.fromkeys(row.group for row in published))
  files = pathlib.Path(__file__).parent.joinpath("corruptions", folder)
  others = sorted(f for f in files.glob("[a-z]*.py") if f.stem not in known)
  own = [Row(file.stem, _group_of_file(file, groups), "own") for file in others]
  return (*published, *own)


def _group_of_file(file: pathlib.Path, groups: Sequence[str]) -> str:
  """Return the group that a plugin file names; read, not run."""
  lines = re.findall(
    r"""^GROUP = ["'](\w+)["']""", file.read_text("utf-8"), re.M
  )
  if len(lines) != 1 or lines[0] not in groups:
    raise errors.UserError(
      f"{file}: got GROUP {lines}, expected one line GROUP = one of"
      f" {', '.join(map(repr, groups))}."
    )
  return str(lines[0])


# Mintun et al. 2021: chosen to be unlike the 19; five names are in both lists.
_C_BAR = {
  "c_bar": (
    "blue_noise_sample plasma_noise checkerboard_cutout cocentric_sine_waves"
    " single_frequency_greyscale brownish_noise perlin_noise sparkles"
    " inverse_sparkles caustic_refraction"
  ),
  "c_bar_cifar": (
    "blue_noise_sample brownish_noise checkerboard_cutout circular_motion_blur"
    " inverse_sparkles lines pinch_and_twirl ripple sparkles"
    " transverse_chromatic_abberation"
  ),
}

PICTURES = Family(
  "pictures",
  "corruption",
  "severity",
  _add_own_rows(
    "image",
    (
      *_rows("noise", "gaussian_noise shot_noise impulse_noise"),
      *_rows("blur", "defocus_blur glass_blur motion_blur zoom_blur"),
      *_rows("weather", "snow frost fog brightness"),
      *_rows("digital", "contrast elastic_transform pixelate jpeg_compression"),
      Row("speckle_noise", "noise", "extra"),
      Row("gaussian_blur", "blur", "extra"),
      Row("spatter", "weather", "extra"),
      Row("saturate", "digital", "extra"),
      *_rows(
        "noise",
        "plasma_noise brownish_noise perlin_noise",
        "c_bar",
      ),
      *_rows("blur", "circular_motion_blur", "c_bar"),
      *_rows(
        "digital",
        "blue_noise_sample checkerboard_cutout cocentric_sine_waves"
        " single_frequency_greyscale sparkles inverse_sparkles"
        " caustic_refraction lines pinch_and_twirl ripple"
        " transverse_chromatic_abberation",
        "c_bar",
      ),
    ),
  ),
  lists={name: tuple(words.split()) for name, words in _C_BAR.items()},
)
C_BAR, C_BAR_CIFAR = map(PICTURES.published_part, _C_BAR)

SEQUENCES = Family(
  "sequences",
  "perturbation",
  "difficulty",
  _add_own_rows(
    "sequence",
    (
      *_rows("noise", "gaussian_noise shot_noise"),
      *_rows("blur", "motion_blur zoom_blur"),
      *_rows("weather", "snow brightness"),
      *_rows("digital", "translate rotate tilt scale"),
      Row("speckle_noise", "noise", "extra"),
      Row("gaussian_blur", "blur", "extra"),
      Row("spatter", "weather", "extra"),
      Row("shear", "digital", "extra"),
    ),
  ),
)

# What networks that were trained on perturbed videos are tested on: Schiappa et al.
# 2023, Appendix C.1 (`eval/papers/schiappa2023/training_mixes.tsv`). Of `mixed` a
# kind is drawn first, then one of its perturbations.
_TEMPORAL = (
  *("sampling", "reverse_sampling", "jumbling", "box_jumbling", "freezing"),
)
_SPATIAL = "shot_noise", "impulse_noise", "static_rotation", "translation"

VIDEOS = Family(
  "videos",
  "perturbation",
  "severity",
  _add_own_rows(
    "video",
    (
      # Noise is new in every frame and channel: sigma 0.08 to 0.38.
      Row("gaussian_noise", "noise", plugin=OfImage("gaussian_noise")),
      # 250 to 15 photons, Tiny-ImageNet-C's rates.
      Row("shot_noise", "noise", plugin=OfImage("shot_noise", "tiny_imagenet")),
      # Salt and pepper: 3 to 27 % of the values.
      Row("impulse_noise", "noise", plugin=OfImage("impulse_noise")),
      # Sigma 0.15 to 0.35, Tiny-ImageNet-C's.
      Row(
        "speckle_noise",
        "noise",
        plugin=OfImage("speckle_noise", "tiny_imagenet"),
      ),
      # The same in every frame: ImageNet-C's disks.
      Row("defocus_blur", "blur", plugin=OfImage("defocus_blur")),
      # Along an angle of U(-45, 45) degrees, new in every frame.
      Row("motion_blur", "blur", plugin=OfImage("motion_blur")),
      # The same in every frame: ImageNet-C's factors, any aspect.
      Row("zoom_blur", "blur", plugin=OfImage("zoom_blur")),
      # Every frame by itself: quality 25 18 15 10 7, 4:2:0.
      Row("jpeg", "digital", plugin=OfImage("jpeg_compression")),
      # The only released recipes ("codec1", "codec2") call them so, although the
      # encoders are MPEG-2 and MPEG-4 part 2.
      Row(
        "mpeg1", "digital", plugin=OfCodec("mpeg2video", "vob", quantiser=20)
      ),
      Row("mpeg2", "digital", plugin=OfCodec("mpeg4", "avi", quantiser=15)),
      *_rows(
        "temporal", "sampling reverse_sampling jumbling box_jumbling freezing"
      ),
      *_rows("camera", "static_rotation random_rotation translation"),
    ),
  ),
  {
    "temporal_eval": Mix((_TEMPORAL,), (4, 5)),
    "spatial_eval": Mix((_SPATIAL,), (4, 5)),
    "mixed_eval": Mix((_TEMPORAL, _SPATIAL), (4, 5)),
  },
)

# One operation that families call by several names; equal names are one anyway.
_ALIKE = (
  ("jpeg_compression", "jpeg"),
  ("rotate", "static_rotation", "random_rotation"),
  ("translate", "translation"),
)

FAMILIES: Mapping[Kind, Family] = {
  f.kind: f for f in (PICTURES, SEQUENCES, VIDEOS)
}


def when_added(tell: Callable[[], None]) -> None:
  """Call a function whenever a family gets another row."""
  _TOLD_OF_ROWS.append(tell)


def same_operations(names: Iterable[str]) -> frozenset[str]:
  """Return names together with the other names of their operations.

  >>> sorted(same_operations(["jpeg", "fog"]))
  ['fog', 'jpeg', 'jpeg_compression']
  """
  given = set(names)
  others = (group for group in _ALIKE if given.intersection(group))
  return frozenset(given.union(*others))


def every_name() -> tuple[str, ...]:
  """Return the names of the corruptions and perturbations of all kinds of data."""
  names = (name for f in FAMILIES.values() for name in f.known_names)
  return tuple(dict.fromkeys(names))


def family(kind: str) -> Family:
  """Return the family of a kind of data.

  Raises:
    UserError: an unknown kind, with a suggestion.
  """
  if kind not in FAMILIES:
    raise errors.unknown_error("kind of data", kind, FAMILIES)
  return FAMILIES[cast(Kind, kind)]


def parse(config: str, kind: str = "pictures") -> Condition:
  """Return the condition of a config's name: `family(kind).parse`."""
  return family(kind).parse(config)

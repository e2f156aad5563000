"""The contracts of plugin files, for each kind of data, and how they are loaded.

A file of `image/`, `sequence/` or `video/` is a corruption and ends in

  PLUGIN = plugins.Corruption(severities=SEVERITIES, tables=tables, apply=apply)

(`plugins.FrameByFrame` or `plugins.Successive` in `sequence/`,
`plugins.OfFrames` or `OfIndices` in `video/`). Its functions take one object, a
`Scene` (of videos `Frames` or a `Clip`), and use what they need of it. Optional
parts have defaults here; Python refuses misspelt ones. To add a corruption: one
such file, named as the corruption, with a line `GROUP = "digital"` (or another
group of its kind). A perturbation of videos that is a corruption of pictures in
every frame, or a codec, is a row of `robust_tfds/conditions.py` alone.
"""

import abc
import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from robust_tfds import conditions, errors, own_corruptions
from robust_tfds.corruptions import batching, given_draws, spec
from robust_tfds.corruptions.ops import layout

# Folders of the plugins of each kind of data.
FOLDERS: Mapping[conditions.Kind, str] = {
  "pictures": "image",
  "sequences": "sequence",
  "videos": "video",
}
Arrays = dict[str, np.ndarray]
Scene = batching.Scene
Table = batching.Table
Draw = Callable[[Scene], Any]
Apply = Callable[[Scene, Any], jax.Array]


def no_draws(scene: Scene) -> None:
  """Return no draws: the `draw` of a plugin without randomness."""


def no_assets(edition: spec.Edition) -> Arrays:
  """Return no assets: the `assets` of a plugin that needs none."""
  return {}


def no_version() -> int:
  """Return version 0: the `assets_version` of assets that never change."""
  return 0


def unprepared(
  table: Table, canvas: tuple[int, int], edition: spec.Edition
) -> Table:
  """Return the table: the `prepare` of a plugin that adds nothing to it."""
  return table


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Corruption:
  """A corruption of pictures.

  Attributes:
    severities: edition name -> five rows (one tuple of numbers per severity).
    tables: `(edition) -> {name: numpy array with a leading axis of 5}`, computed
      once on the host, in float64 where that matters: all that depends on the
      severity alone (kernels, lookup tables, coordinates). The frame picks the
      severity's row of each with a traced index, so that one compilation serves
      all five (of edition `ccc` 20); `table["severity"]` is that index (from 1,
      traced, the same for the whole batch, so `lax.switch` on it runs one branch).
    apply: `(scene, draws) -> levels`: uint8, or float32 or integers in levels
      0..255 which the frame clips and truncates; `[H, W, 3]` or the same memory
      as `[H, W * 3]`.
    draw: `(scene) -> draws`: all randomness, so that a test can inject the
      reference's draws into `apply`.
    prepare: `(table, canvas, edition) -> table`: computations that depend only
      on the severity and the canvas `(H, W)`, once per batch.
    assets: `(edition) -> {name: array}`: large data that does not depend on the
      severity (the frost pictures); `draw` and `apply` find it in `table`.
    assets_version: a number that changes with the assets.
    accept: `(given, row, side_px) -> draws`: draws that a caller gives by the
      names of the authors' code, checked, in the form of `draw`; `row` is the
      severity's of `severities`. None: none can be given.
  """

  severities: Mapping[str, tuple]
  tables: Callable[[spec.Edition], Arrays]
  apply: Apply
  draw: Draw = no_draws
  prepare: Callable[[Table, tuple[int, int], spec.Edition], Table] = unprepared
  assets: Callable[[spec.Edition], Arrays] = no_assets
  assets_version: Callable[[], int] = no_version
  accept: Callable[[given_draws.Draws, Any, int], Any] | None = None

  @property
  def random(self) -> bool:
    """Whether the corruption draws anything."""
    return self.draw is not no_draws


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Perturbation(abc.ABC):
  """A perturbation of ImageNet-P: a picture becomes a sequence of frames.

  The scene's picture is the source in the editions of `on_source`, else the
  edition's crop.

  Attributes:
    tables: `(edition, difficulty) -> {name: numpy array}`.
    rows: names of the tables with one row per frame; their length is the number
      of frames.
    draw: `(scene) -> draws`: all randomness.
    on_source: editions whose frames are made from the source image and cropped
      afterwards, rather than from the edition's crop.
  """

  tables: Callable[[spec.Edition, int], Arrays]
  rows: tuple[str, ...]
  draw: Draw = no_draws
  on_source: tuple[str, ...] = ()

  @abc.abstractmethod
  def frames(self, scene: Scene, draws: Any) -> jax.Array:
    """Return all frames, uint8 `[T, S, S * 3]`, S the edition's size."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FrameByFrame(Perturbation):
  """A perturbation whose frames do not depend on one another.

  Attributes:
    frame: `(scene, draws) -> levels`: one frame, uint8 or float32 levels
      (truncated), `[S, S, 3]` or flat `[S, S * 3]`. The scene's table has the
      frame's row of the tables in `rows`, and the others whole.
  """

  frame: Apply

  def frames(self, scene: Scene, draws: Any) -> jax.Array:
    """Return all frames, see the base class."""
    fixed = {k: v for k, v in scene.table.items() if k not in self.rows}

    def process(*values: jax.Array) -> jax.Array:
      row = {**fixed, **dict(zip(self.rows, values, strict=True))}
      levels = self.frame(dataclasses.replace(scene, table=row), draws)
      return layout.to_uint8(layout.flat(levels))

    return batching.over_batch(process, *(scene.table[k] for k in self.rows))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Successive(Perturbation):
  """A perturbation whose frames depend on the previous one.

  Attributes:
    all_frames: `(scene, draws)` -> uint8 `[T, S, S * 3]`.
  """

  all_frames: Apply

  def frames(self, scene: Scene, draws: Any) -> jax.Array:
    """Return all frames, see the base class."""
    return self.all_frames(scene, draws)


@dataclasses.dataclass(frozen=True)
class Frames:
  """The frames of any clips, under a perturbation that works frame by frame.

  Attributes:
    sizes: int `[N, 2]`, (height, width) of each frame.
    severity: 1-5.
    edition: `paper` or `code`.
    clip_keys: uint32 `[N, 2]`, keys of the frames' clips.
    keys: uint32 `[N, 2]`, keys of the frames.
  """

  sizes: np.ndarray
  severity: int
  edition: str
  clip_keys: np.ndarray
  keys: np.ndarray


@dataclasses.dataclass(frozen=True)
class Clip:
  """A clip under a temporal perturbation.

  Attributes:
    num_frames: at least 1.
    severity: 1-5.
    edition: `paper` or `code`.
    key: uint32 `[2]`.
  """

  num_frames: int
  severity: int
  edition: str
  key: np.ndarray


def same_size(edition: str, sizes: np.ndarray) -> np.ndarray:
  """Return the sizes unchanged: the `sizes` of a perturbation that keeps them."""
  return sizes


@dataclasses.dataclass(frozen=True, eq=False)
class OfFrames:
  """A perturbation that works frame by frame.

  Attributes:
    draws: `(frames) -> {name: array [N, ...]}`, on the host: everything that
      depends on a frame's key, its clip's key and its size.
    apply: `(frame, size, draws) -> uint8`: one frame of a canvas `[H, W, 3]` with
      its row of the draws; `[H', W' * 3]`, undefined outside its new size.
    sizes: `(edition, sizes) -> sizes`: sizes of the perturbed frames.
  """

  draws: Callable[[Frames], Arrays]
  apply: Callable[[jax.Array, layout.Size, Mapping[str, jax.Array]], jax.Array]
  sizes: Callable[[str, np.ndarray], np.ndarray] = same_size


@dataclasses.dataclass(frozen=True, eq=False)
class OfIndices:
  """A temporal perturbation, which only chooses frames.

  Attributes:
    indices: `(clip)` -> indices of the frames, in order.
  """

  indices: Callable[[Clip], np.ndarray]


VideoPlugin = conditions.OfImage | conditions.OfCodec | OfFrames | OfIndices


def picture(name: str) -> Corruption:
  """Return the plugin of a corruption of pictures; UserError with a suggestion."""
  conditions.PICTURES.row(name)
  own = own_corruptions.get(name)
  if own is None:
    return _load("pictures", name, Corruption)
  if not isinstance(own.module.PLUGIN, Corruption):
    raise errors.UserError(
      f"{own.source}: it must end in PLUGIN = plugins.Corruption(...), got"
      f" {own.module.PLUGIN!r}."
    )
  return own.module.PLUGIN


def is_code_alone(name: str) -> bool:
  """Return whether only this package's code decides what a corruption does."""
  own = own_corruptions.sha256(name)
  return not own and picture(name).assets_version is no_version


def check_edition(name: str, edition: str, needs: str) -> None:
  """Refuse a corruption without severities for an edition.

  Args:
    name: name of a corruption of pictures; those of `all` have all editions.
    edition: the needed edition.
    needs: what needs it, for the message.

  Raises:
    UserError: the severities are missing; the message names the corruption, its
      editions and the needed one.
  """
  if not own_corruptions.sha256(name) and (
    conditions.PICTURES.row(name).set in conditions.SETS["all"]
  ):
    return
  known, variant = picture(name).severities, spec.edition(edition)
  for unknown in set(known) - set(spec.EDITIONS):
    raise errors.unknown_error(
      f"edition in SEVERITIES of {name}", unknown, spec.EDITIONS
    )
  if not set(known) & {variant.name, *variant.parents}:
    listed = ", ".join(map(repr, known))
    alone = " alone" * (len(known) == 1)
    raise errors.UserError(
      f"{name} has severities for edition {listed}{alone}; {needs} needs"
      f" {edition!r}: add a row {edition!r} to its SEVERITIES."
    )
  if len(variant.row(known)) != variant.levels:
    raise errors.UserError(
      f"{name}: SEVERITIES of {edition!r}: {len(variant.row(known))} rows,"
      f" expected {variant.levels}, one a severity."
    )


def serves_any_size(name: str) -> bool:
  """Return whether a corruption has severities for pictures of any size."""
  anywhere = spec.edition("any")
  names = {anywhere.name, *anywhere.parents}
  return bool(names & set(picture(name).severities))


def check_size(
  name: str, edition: str, shape: tuple[int, ...], sizes: object
) -> None:
  """Refuse pictures of another size than a corruption is defined for.

  Args:
    name: name of a corruption of pictures.
    edition: name of the edition.
    shape: `(height, width, ...)` of the pictures.
    sizes: sizes of pictures in canvases; None if they fill them.

  Raises:
    UserError: none of its editions serves any size, and this is not theirs.
  """
  side = spec.edition(edition).size_px
  if not serves_any_size(name) and (
    sizes is not None or tuple(shape[:2]) != (side, side)
  ):
    raise errors.UserError(
      f"{name} is defined for pictures of {side} x {side} px alone, got"
      f" {shape[0]} x {shape[1]}{' in canvases' if sizes is not None else ''}."
      " Resize them, or leave this corruption out."
    )


def sequence(name: str) -> Perturbation:
  """Return the plugin of a perturbation of sequences; UserError with a suggestion."""
  return _load("sequences", name, Perturbation)


def video(name: str) -> VideoPlugin:
  """Return the plugin of a perturbation of videos; UserError with a suggestion."""
  shared = conditions.VIDEOS.row(name).plugin
  return shared or _load("videos", name, OfFrames | OfIndices)


def _load(kind: conditions.Kind, name: str, contract: Any) -> Any:
  """Load the file's PLUGIN, which must be of the class (or one of the classes)
  `contract`.
  """
  conditions.family(kind).row(name)
  path = f"robust_tfds.corruptions.{FOLDERS[kind]}.{name}"
  plugin = vars(importlib.import_module(path)).get("PLUGIN")
  if not isinstance(plugin, contract):
    raise TypeError(
      f"{path} must end in PLUGIN = plugins.<class>(...) of its kind, got"
      f" {plugin!r}; see robust_tfds/corruptions/plugins.py."
    )
  return plugin

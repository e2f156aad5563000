"""Stylized pictures: shapes in the colours and strokes of other pictures.

Michaelis et al. 2019, sections 2.2 and 3.3; Geirhos et al. 2019
(docs/evidence/specs/training.md section 1). `standard` shows the pictures, `stylized`
one stylized copy of each, and `combined` both, like two concatenated folders:
twice the steps per epoch. As with a folder that is made once, a picture's style
is the same in every epoch.

DEVIATION: pictures are stylized after the crop; the copies of a folder were
  stylized
whole.

Paintings and AdaIN's weights are the user's. Without weights the stylizer is
`texture`, a seeded random encoder: it is not AdaIN and is always named so.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.convert import sources
from models.training.data import user_pictures
from models.training.recipes import base
from models.training.transforms import (
  adain,
  checks,
  stylize,
  texture,
)
from robust_tfds import errors, settings
from robust_tfds.storage import paths

MODES = STANDARD, STYLIZED, COMBINED = "standard", "stylized", "combined"
_TEXTURE = "texture"
_DIGITS = 12  # shown digits of a sha256
_Share: Any = settings.between(0, 1)
_Side: Any = settings.between(8, checks.LARGEST_PX, int)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Styling:
  """The settings of stylization: which pictures are stylized, and how.

  Attributes:
    mode: `standard`, `stylized` or `combined`.
    styles: a folder of paintings; empty: procedural textures, `textures` many.
    stylizer: AdaIN's encoder and decoder, two files with a comma between, see
      `training.load_stylizer`; or `texture`.
    alpha: strength of the style, 0 to 1.
    style_px: side of a style, the middle square of a painting whose shorter side
      is resized to it; the papers' short side is 512 px.
    textures: number of procedural textures if there is no folder.
    style_again: whether to draw another style in every epoch.
  """

  mode: str = STYLIZED
  styles: str = ""
  stylizer: str = _TEXTURE
  alpha: _Share = 1.0
  style_px: _Side = 32
  textures: base.Count = 64
  style_again: settings.Flag = False

  def __post_init__(self) -> None:
    """Refuse unknown modes and stylizers."""
    if self.mode not in MODES:
      raise errors.unknown_error("config.recipe.mode", self.mode, MODES)
    if self.stylizer != _TEXTURE and len(self._files()) != 2:
      raise errors.UserError(
        f"config.recipe.stylizer: got {self.stylizer!r}, expected AdaIN's encoder"
        " and decoder, ENCODER,DECODER, or texture, which needs no weights."
      )

  @property
  def copies(self) -> int:
    """How often an epoch shows an example: 2 if both versions are shown."""
    return 2 if self.mode == COMBINED else 1

  @property
  def folders(self) -> Mapping[str, str]:
    """The folder of styles, if there is one."""
    return {"config.recipe.styles": self.styles} if self.styles else {}

  @property
  def extras(self) -> tuple[str, ...]:
    """The names of what `extra_arrays` adds: a style, and whether it is used."""
    return () if self.mode == STANDARD else ("style", "styled")

  def extra_arrays(
    self, item: Mapping[str, Any], key: np.ndarray, own: np.ndarray, copy: int
  ) -> Mapping[str, Any]:
    """Return the example's style, and whether it is used."""
    if self.mode == STANDARD:
      return {}
    drawn = key if self.style_again else own
    style = (
      user_pictures.folder_pictures(self.styles, self.style_px).drawn(
        drawn, self.style_px, centred=True
      )
      if self.styles
      else user_pictures.made(
        texture.textures, self.textures, self.style_px, drawn
      )
    )
    return {"style": style, "styled": np.bool_(copy or self.mode == STYLIZED)}

  def restyled(
    self,
    images: jax.Array,
    keys: jax.Array,
    style: jax.Array | None,
    styled: jax.Array | None,
    sizes: jax.Array | None = None,
  ) -> jax.Array:
    """Return the pictures, stylized where `styled` says so.

    Args:
      images: uint8 `[B, H, W, 3]`.
      keys: uint32 `[B, 2]`.
      style: uint8 `[B, H', W', 3]`; None for `standard`.
      styled: bool `[B]`.
      sizes: int32 `[B, 2]`, sizes of pictures in canvases.
    """
    if style is None or styled is None:
      return images
    changed = stylize.stylize(
      images,
      keys=keys,
      styles=style,
      stylizer=self._loaded(),
      alpha=self.alpha,
      paired=True,
      sizes=sizes,
    )
    return jnp.where(styled[:, None, None, None], changed, images)

  def styled_by(self) -> str:
    """Return the styles in words: `64 procedural textures by texture, ...`."""
    if self.mode == STANDARD:
      return ""
    words = f"{self.textures} procedural textures of seed 0"
    if self.styles:
      words = user_pictures.folder_pictures(self.styles, self.style_px).words
    if self.stylizer == _TEXTURE:
      return f"{words} by texture, which is not AdaIN"
    files = (sources.locate(file).path for file in self._files())
    sums = " and ".join(paths.sha256(file)[:_DIGITS] for file in files)
    return f"{words} by AdaIN (sha256 {sums})"

  def _files(self) -> list[str]:
    return [file.strip() for file in self.stylizer.split(",") if file.strip()]

  def _loaded(self) -> adain.Stylizer | None:
    return None if self.stylizer == _TEXTURE else _stylizer(*self._files())


@functools.lru_cache(1)
def _stylizer(encoder: str, decoder: str) -> adain.Stylizer:
  with jax.ensure_compile_time_eval():
    return adain.load_stylizer(encoder, decoder)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stylized(Styling, base.Recipe):
  """The recipe of this file."""

  def transform(
    self,
    images: jax.Array,
    keys: jax.Array,
    style: jax.Array | None = None,
    styled: jax.Array | None = None,
  ) -> jax.Array:
    """Return the pictures stylized, then cropped and mirrored."""
    return self.moved(self.restyled(images, keys, style, styled), keys)

  def disclosure(self) -> dict[str, Any]:
    """Return what the recipe discloses: how pictures are stylized."""
    return {**super().disclosure(), "pictures": self.styled_by()}

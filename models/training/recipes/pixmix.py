"""PixMix: pictures mixed with others, and cross-entropy on the mixtures.

Hendrycks et al. 2022, arXiv:2112.05135 (docs/evidence/specs/training.md section 5). The
authors' pictures, fractals and feature visualisations, must be provided by the
user. From a folder each example, and each frame of a clip, gets one, drawn by
its key, resized and cropped as the authors do. Without a folder they are
`training.fractals`, which are generated from a seed and are not the paper's.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from models.training.data import user_pictures
from models.training.recipes import base
from models.training.transforms import checks, operations, pixmix
from models.training.transforms import fractals as fractals_lib
from robust_tfds import errors, settings
from robust_tfds.corruptions import seeding

_Rounds: Any = settings.between(0, 16, int)
_Side: Any = settings.between(1, checks.LARGEST_PX, int)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pixmix(base.Recipe):
  """The recipe of this file.

  Fields without a description are `training.pixmix`'s.

  Attributes:
    pictures: a folder; empty: fractals.
    short_px: shorter side to which a folder's pictures are resized before the
      crop: 36 for 32 px pictures, 256 for 224.
    fractals: number of fractals to mix with if there is no folder.
  """

  pictures: str = ""
  short_px: _Side = 36
  fractals: base.Count = 64
  k: _Rounds = 4
  beta: base.Shape = 3.0
  severity: base.Strength = 3
  overlap: settings.Flag = False

  def check(self, kind: str, side: int) -> None:
    """Refuse mixing pictures that are smaller than the examples."""
    super().check(kind, side)
    if self.pictures and self.short_px < side:
      raise errors.UserError(
        f"config.recipe.short_px: got {self.short_px}, expected at least {side},"
        " the side of the examples that pictures are mixed with."
      )

  @property
  def folders(self) -> Mapping[str, str]:
    """The folder of mixing pictures, if there is one."""
    return {"config.recipe.pictures": self.pictures} if self.pictures else {}

  @property
  def extras(self) -> tuple[str, ...]:
    """The names of what `extra_arrays` adds: `picture`."""
    return ("picture",)

  def extra_arrays(
    self, item: Mapping[str, Any], key: np.ndarray, own: np.ndarray, copy: int
  ) -> Mapping[str, Any]:
    """Return a picture for the example, or one for each frame."""
    shape = item["video" if "video" in item else "image"].shape
    *frames, height, width, _ = shape
    if height != width or self.pictures and self.short_px < height:
      raise errors.UserError(
        f"config.recipe.short_px: got {self.short_px} for examples of {height} x"
        f" {width} px, expected squares of at most that."
      )
    keys = seeding.frame_keys(key, np.arange(*frames)) if frames else [key]
    drawn = [self._drawn(one, height) for one in keys]
    return {"picture": np.stack(drawn) if frames else drawn[0]}

  def transform(
    self,
    images: jax.Array,
    keys: jax.Array,
    picture: jax.Array | None = None,
  ) -> jax.Array:
    """Mix each picture, or each frame of a clip, with its own mixing picture."""
    assert picture is not None  # from `extra_arrays`
    return pixmix.pixmix(
      self.moved(images, keys),
      keys=base.stream(keys, 0),
      pictures=picture,
      k=self.k,
      beta=self.beta,
      severity=self.severity,
      overlap=self.overlap,
      paired=True,
    )

  def disclosure(self) -> dict[str, Any]:
    """Return what the recipe discloses: the mixing pictures and the operations."""
    words = f"{self.fractals} fractals of seed 0 (training.fractals)"
    if self.pictures:
      words = user_pictures.folder_pictures(self.pictures, self.short_px).words
    shown = operations.OVERLAPPED if self.overlap else ()
    words += f" and {operations.words(self.overlap)}"
    more = {"conditions": [*shown], "pictures": words}
    return {**super().disclosure(), **more}

  def _drawn(self, key: np.ndarray, side: int) -> np.ndarray:
    if not self.pictures:
      return user_pictures.made(fractals_lib.fractals, self.fractals, side, key)
    return user_pictures.folder_pictures(self.pictures, self.short_px).drawn(
      key, side
    )

"""Draws what training does to a picture: every operation, every transform.

  python -m tools.training_gallery [PICTURE]     # writes training_gallery.jpg here

Operations at strengths 0.5, 1, 2, 3, 6 and 10 (of those with a sign both); of each
transform six keys. Then what networks see in the first batch of trainings on embedded
data: pictures, canvases of detectors, frames of a clip.
"""

import functools
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models import training
from models.training import config as config_lib
from models.training import run, sheet
from models.training.transforms import operations
from robust_tfds import conditions
from robust_tfds.corruptions.ops import packed
from tools import gallery, training_runs

_OUT = pathlib.Path("training_gallery.jpg")
_STRENGTHS = (0.5, 1, 2, 3, 6, 10)
_TRAININGS: dict[str, tuple[str, Mapping[str, Any]]] = {
  "crop and flip": (
    "train_standard",
    {"recipe.crop_px": 4, "recipe.flip": True},
  ),
  "clahe": ("train_standard", {"recipe.name": "clahe"}),
  "stability": ("train_stability", {}),
  "detector": ("train_detector", {}),
  "detector, texture": ("train_detector", {"recipe.mode": "stylized"}),
} | {
  f"{mix} mix": (f"train_corruption_mix:{mix}", {})
  for mix in ("temporal", "spatial", "mixed", "pixmix")
}


def rows(image: np.ndarray) -> Iterator[tuple[str, list[np.ndarray]]]:
  """Name and pictures of each row, the picture itself first."""

  @jax.jit
  def operated(operation: int, u: int, negative: bool) -> jax.Array:
    drawn = operations.Drawn(operation, u, negative)
    words = operations.apply(packed.pack(image), drawn, overlap=True)
    return packed.bytes_of(words).reshape(image.shape)

  for i, name in enumerate(operations.NAMES):
    units = [round(u * operations.UNIT) - 1 for u in _STRENGTHS]
    signs = [n % 2 == 1 for n in range(len(units))]
    yield name, [image, *map(np.asarray, map(operated, [i] * 6, units, signs))]
  side = image.shape[0]
  fractals, textures = (
    f(6, side) for f in (training.fractals, training.textures)
  )
  yield "fractals", list(fractals)
  yield "textures", list(textures)
  batch = jnp.tile(image, (6, 1, 1, 1))
  ids = [str(i) for i in range(6)]
  keys = conditions.raw_keys(0, "gallery", "training", 1, ids)
  styled = functools.partial(training.stylize, styles=textures)
  calls = {
    "augmix": training.augmix,
    "augmix severity 1": functools.partial(training.augmix, severity=1),
    "augmix overlap": functools.partial(training.augmix, overlap=True),
    "pixmix": functools.partial(training.pixmix, pictures=fractals),
    "texture": styled,
    "texture alpha .5": functools.partial(styled, alpha=0.5),
  } | {
    f"mix of {group}": functools.partial(training.corruption_mix, names=group)
    for group in ("noise", "digital")
  }
  for name, call in calls.items():
    yield name, [image, *np.asarray(call(batch, keys=keys))]


def seen() -> Iterator[tuple[str, list[np.ndarray]]]:
  """Name and first pictures of each training's lines; of clips the first's frames."""
  for name, (config, changes) in _TRAININGS.items():
    made = config_lib.parse(training_runs.changed(config, changes))
    for line, images in sheet.seen_pictures(run.prepare(made)).items():
      yield (
        f"{name}: {line}",
        [*(images if images.ndim == 4 else images[0])][:7],
      )


def main() -> None:
  """Writes the picture."""
  gallery.draw({**dict(rows(gallery.shown())), **dict(seen())}, _OUT)
  print(_OUT.resolve())


if __name__ == "__main__":
  main()

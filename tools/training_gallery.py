"""Draws what training does to a picture: every operation, every transform.

  python -m tools.training_gallery [PICTURE]     # writes training_gallery.jpg here

Operations at strengths 0.5, 1, 2, 3, 6 and 10 (of those with a sign both); of each
transform six keys.
"""

import functools
import pathlib
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions
from robust_tfds.corruptions.ops import packed
from robust_tfds.models import training
from robust_tfds.models.training.transforms import operations
from tools import gallery

_OUT = pathlib.Path("training_gallery.jpg")
_STRENGTHS = (0.5, 1, 2, 3, 6, 10)


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


def main() -> None:
  """Writes the picture."""
  gallery.draw(dict(rows(gallery.shown())), _OUT)
  print(_OUT.resolve())


if __name__ == "__main__":
  main()

"""Trials of a user's corruption on a synthetic picture, before data is prepared."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions, errors, own_corruptions
from robust_tfds.corruptions import batching, image, plugins, spec
from robust_tfds.corruptions.ops import layout

_SIDE_PX = 64  # side for an edition for pictures of any size


def check(name: str, edition: str, needs: str) -> None:
  """Refuse a user's corruption that does not work for an edition.

  Args:
    name: name of a corruption of pictures; published ones work for all
      editions.
    edition: the edition to try, at every severity.
    needs: what needs the edition, for the message.

  Raises:
    UserError: it has no severities, or returns no picture; the message names
      the corruption and its file.
  """
  if not own_corruptions.sha256(name):
    return
  plugins.check_edition(name, edition, needs)
  try:
    _run(name, edition)
  except Exception as e:  # from the user's code
    own = own_corruptions.get(name)
    raise errors.UserError(
      f"{own.source if own else name}: {name} fails on a picture that was made to"
      f" try it (edition {edition!r}): {errors.user_fault(e)}. Mend the file."
    ) from e


@functools.cache
def _run(name: str, edition: str) -> None:
  """Run all severities on noise next to black, and raise what is wrong."""
  plugin, variant = plugins.picture(name), spec.edition(edition)
  side = variant.size_px or _SIDE_PX
  picture = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
  picture[: side // 2] = 0
  rows, fixed = image.tables(name, edition)

  def applied(severity: jax.Array, pixels: jax.Array, key: jax.Array) -> Any:
    row = {**image.select(rows, severity), **fixed}
    table = plugin.prepare(row, (side, side), variant)
    size = layout.valid_size(pixels.shape, None)
    scene = batching.Scene(pixels, size, table, variant, key)
    return plugin.apply(scene, plugin.draw(scene))

  program, key = jax.jit(applied), np.array([1, 2], np.uint32)
  for severity in conditions.SEVERITIES:
    _check_levels(program(severity, picture, key), side)


def _check_levels(levels: Any, side: int) -> None:
  """Raise TypeError for levels that are no picture."""
  shapes = (side, side, 3), (side, 3 * side)
  got = type(levels).__name__
  if isinstance(levels, jax.Array):
    got = f"{levels.dtype}{list(levels.shape)}"
    number = jnp.issubdtype(levels.dtype, np.integer) or levels.dtype in (
      np.float32,
      np.float64,
    )
    if number and levels.shape in shapes:
      if not jnp.isnan(levels).any():
        return
      got += " with values that are NaN"
  raise TypeError(
    f"apply gave {got}, expected levels 0 to 255, integers or float32,"
    f" {list(shapes[0])} or {list(shapes[1])}"
  )

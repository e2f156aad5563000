"""Gaussian blur sequences: sigma grows from frame to frame; none is clean.

docs/evidence/specs/imagenet_p.md sections 2 and 4. Sigmas as small as 0.25 leave values
within 1e-13 of a whole level, so this is scipy's own float64 sum: centre tap
first, then the symmetric pairs from the outermost in, rows before columns.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import double, gaussian, layout

_SIGMAS = {  # first sigma in px, step, truncate
  "imagenet": (0.25, 0.035, 6.0),
  "inception": (0.35, 0.035, 6.0),
  "imagenet64": (0.35, 0.014, 7.0),
  "tiny_imagenet": (0.35, 0.014, 7.0),
  "cifar10": (0.3, 0.015, 7.0),
}


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `kernel`: right half with the centre, float64 bits, int32 `[31, R +
  1, 2]`.
  """
  first, step, truncate = _SIGMAS[edition.name]
  rows = [gaussian.kernel(first + step * i, truncate) for i in range(31)]
  halves = [r[len(r) // 2 :] for r in rows]
  longest = max(map(len, halves))
  padded = [np.pad(h, (0, longest - len(h))) for h in halves]
  return {"kernel": double.bits(np.stack(padded))}


def frame(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute one frame, uint8 `[S, S * 3]`."""
  row = scene.table
  with jax.enable_x64(True):
    # 255 as a run-time value: XLA would multiply by the reciprocal of a
    # constant.
    white = 255.0 + double.run_time_zero(row["kernel"])
    levels = layout.planes(scene.image).astype(jnp.float64) / white
    levels = _along(levels, row["kernel"], 1)
    levels = _along(levels, row["kernel"], 2)
    whole = (levels * 255.0).astype(jnp.int32)
  return layout.interleave(whole)


def _along(levels: jax.Array, kernel: jax.Array, axis: int) -> jax.Array:
  weights, zero = double.value(kernel), double.run_time_zero(kernel)
  radius, n = kernel.shape[0] - 1, levels.shape[axis]
  pad = [(0, 0)] * 3
  pad[axis] = (radius, radius)
  padded = jnp.pad(levels, pad, mode="edge")

  def shifted(step: int | jax.Array) -> jax.Array:
    return jax.lax.dynamic_slice_in_dim(padded, radius + step, n, axis)

  def add(k: jax.Array, total: jax.Array) -> jax.Array:
    tap = radius - k
    pair = shifted(-tap) + shifted(tap)
    return total + double.rounded(pair * weights[tap], zero)

  centre = double.rounded(levels * weights[0], zero)
  return jax.lax.fori_loop(0, radius, add, centre)


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("kernel",),
  frame=frame,
)

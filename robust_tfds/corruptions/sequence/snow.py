"""Snow sequences: one layer of flakes, blown in a turning direction.

docs/evidence/specs/imagenet_p.md sections 2 and 4; layer, blur and cover are those of
`image/snow.py`. No frame is clean.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.image import snow
from robust_tfds.corruptions.ops import clipped_zoom, motion

_MEAN, _THRESHOLD, _PALE = 0.05, 0.5, 0.15
_LAYERS = {  # deviation, zoom, radius and sigma of the blur in px
  "imagenet": (0.3, 3, 14, 4),
  "inception": (0.3, 3, 14, 4),
  "imagenet64": (0.28, 2, 10, 2.5),
  "tiny_imagenet": (0.28, 2, 10, 2.5),
  "cifar10": (0.3, 2, 10, 2),
}


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `direction` of each frame, int32 `[31, 2, taps]`; the blur's kernel;
  `deviation`.
  """
  deviation, _, radius, sigma = _LAYERS[edition.name]
  kernel = motion.kernels([radius], [sigma], snow.BITS)
  degrees = 4 * np.arange(31) - 150
  taps = kernel["weights"].shape[-1]
  return {
    "direction": motion.exact_offsets(degrees, taps),
    "deviation": np.array(deviation, np.float32),
    **{k: v[0] for k, v in kernel.items()},
  }


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw the 8-bit layer before the blur, int32 `[S, S]`, 0..255."""
  side, zoom = scene.edition.side_px, _LAYERS[scene.edition.name][1]
  source, target = clipped_zoom.longest(side, [zoom])
  normals = seeding.normal(scene.key, (source, source))
  axis = clipped_zoom.positions(
    clipped_zoom.Lengths(jnp.int32(source), jnp.int32(target), jnp.int32(0)),
    side,
    trim=(target - side) // 2,
  )
  layer = _MEAN + scene.table["deviation"] * normals
  return snow.byte_layer(
    clipped_zoom.resample(layer, axis, axis), jnp.float32(_THRESHOLD)
  )


def frame(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute one frame, uint8 `[S, S * 3]`; `draws` is the 8-bit layer."""
  layer = draws.astype(jnp.int32)
  flakes = snow.blow(layer, scene.table["direction"], scene.size, scene.table)
  return snow.cover(scene.image, flakes, scene.size, jnp.float32(_PALE))


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("direction",),
  draw=draw,
  frame=frame,
)

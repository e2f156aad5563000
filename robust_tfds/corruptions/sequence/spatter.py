"""Spatter sequences: drops of water that run down the picture.

docs/evidence/specs/imagenet_p.md sections 2 and 4; the water is that of
`image/spatter.py`. Frame 0 has the drops as they fell; before each later frame
every column of the layer is convolved with a kernel that moves them down. No
frame is clean.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.image import spatter
from robust_tfds.corruptions.ops import gaussian

_FRAMES = 31
_INTENSITY = 0.6
_LONG, _SHORT = (0.05, 0.1, 0.15, 0.7), (0.2, 0.8)
_LAYERS = {  # mean, deviation, blur sigma in px, threshold, kernel
  "imagenet": (0.65, 0.27, 3.7, 0.69, _LONG),
  "inception": (0.65, 0.3, 4, 0.69, _LONG),
  "imagenet64": (0.6, 0.25, 1.75, 0.7, _SHORT),
  "tiny_imagenet": (0.6, 0.25, 1.75, 0.7, _SHORT),
  "cifar10": (0.6, 0.265, 1.75, 0.7, _SHORT),
}


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `index` of each frame, and the layer's numbers."""
  mean, deviation, sigma, threshold, kernel = _LAYERS[edition.name]
  return {
    "index": np.arange(_FRAMES),
    "mean": np.array(mean, np.float32),
    "deviation": np.array(deviation, np.float32),
    "threshold": np.array(threshold, np.float32),
    "blur": gaussian.kernel(sigma).astype(np.float32),
    "kernel": np.array(kernel, np.float32),
  }


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw the layer as it fell, float32 `[S, S]`: blurred, and 0 below the threshold."""
  table = scene.table
  normals = seeding.normal(scene.key, scene.image.shape[:2])
  layer = table["mean"] + table["deviation"] * normals
  layer = gaussian.blur(layer, table["blur"], scene.size, "nearest")
  return jnp.where(layer < table["threshold"], 0.0, layer)


def frames(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute all frames, uint8 `[31, S, S * 3]`; `draws` is the layer as it fell."""
  image, size, table = scene.image, scene.size, scene.table

  def step(layer: jax.Array, _: jax.Array) -> tuple[jax.Array, jax.Array]:
    frame = spatter.water(image, layer, size, jnp.float32(_INTENSITY))
    return _run_down(layer, table["kernel"]), frame

  return jax.lax.scan(step, draws.astype(jnp.float32), table["index"])[1]


def _run_down(layer: jax.Array, kernel: jax.Array) -> jax.Array:
  """Convolve every column like numpy's 'same', with zeros beyond the ends."""
  taps = kernel.shape[0]
  above = taps // 2  # 'same' keeps the middle of the full convolution
  padded = jnp.pad(layer, ((above, taps - 1 - above), (0, 0)))
  rows = layer.shape[0]
  # new[n] = sum_k kernel[k] old[n + (taps - 1) // 2 - k]
  parts = (
    kernel[k] * padded[taps - 1 - k : taps - 1 - k + rows] for k in range(taps)
  )
  return sum(parts, start=jnp.float32(0))


PLUGIN = plugins.Successive(
  tables=tables,
  rows=("index",),
  draw=draw,
  all_frames=frames,
)

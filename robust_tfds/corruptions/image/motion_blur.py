"""Motion blur along a random direction within 45 degrees of the horizontal.

docs/evidence/specs/corruptions.md sections 1 and 3. Hendrycks' code calls ImageMagick,
whose 16-bit result becomes 8 bits by floor(sum + 1/514); imagecorruptions
truncates floats and drops taps beyond one image side.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import border, layout, motion

SEVERITIES = {  # (radius, sigma) in px
  "imagenet": ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
  "inception": ((12, 4), (17, 6), (17, 9), (17, 13), (22, 16)),
  "tiny_imagenet": ((10, 1), (10, 1.5), (10, 2), (10, 2.5), (12, 3)),
  "cifar10": ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
}
SEVERITIES["ccc"] = spec.quarters((0, 0), SEVERITIES["imagenet"])
BITS = 22  # 255 << 22 fits int32
_BIAS = (1 << BITS) // 514  # q // 257 with q = floor(257 * sum + 1/2)


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `weights` int32 `[5, T]` and `turns` int32 `[5]`, see `motion.kernels`."""
  radii, sigmas = zip(*edition.row(SEVERITIES))
  return motion.kernels(radii, sigmas, BITS)


def assets(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `directions` int32 `[STEPS, 2]` for U(-45, 45) degrees."""
  return {"directions": motion.directions(-45, 45)}


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw a direction: sine and cosine, int32 `[2]` in units of 1 / `motion.ONE`."""
  return scene.table["directions"][
    seeding.integers(scene.key, (), motion.STEPS)
  ]


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, int32 `[H, W * 3]`; `draws` is a direction."""
  table = scene.table
  weights, bias = table["weights"], _BIAS
  if scene.edition.michaelis:
    weights, bias = motion.within(weights, draws, scene.size), 0
  edge = motion.margin(weights)
  flat = layout.flat(scene.image)
  padded = border.pad(flat, scene.size, (edge, edge), 3, table["turns"])
  total = motion.blur(padded, weights, table["turns"], draws, channels=3)
  return (total + jnp.int32(bias)) >> BITS


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  assets=assets,
  draw=draw,
  apply=apply,
)

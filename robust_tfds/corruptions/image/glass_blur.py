"""Glass blur: Gaussian blur, a local shuffle of pixels, the same blur again.

docs/evidence/specs/corruptions.md section 3. The shuffle copies sequentially and is no
permutation, see `ops/sequential_copy.py`; displacements are -d..d - 1.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import (
  border,
  gaussian,
  keep,
  layout,
  packed,
  sequential_copy,
  taps,
)

SEVERITIES: dict[
  str, tuple
] = {  # (sigma in px, largest displacement in px, passes)
  "imagenet": ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
  "inception": (
    (0.8, 1, 3),
    (1, 3, 1),
    (1.1, 2, 4),
    (1.2, 4, 2),
    (1.6, 5, 2),
  ),
  "tiny_imagenet": (
    (0.1, 1, 1),
    (0.5, 1, 1),
    (0.6, 1, 2),
    (0.7, 2, 1),
    (0.9, 2, 2),
  ),
  "cifar10": (
    (0.05, 1, 1),
    (0.25, 1, 1),
    (0.4, 1, 1),
    (0.25, 1, 2),
    (0.4, 1, 2),
  ),
}
# CCC rounds the loops, and moves by a pixel at least.
SEVERITIES["ccc"] = tuple(
  (sigma, max(1, round(delta)), round(passes))
  for sigma, delta, passes in spec.quarters((0, 0, 0), SEVERITIES["imagenet"])
)
_WEYL = 0x9E3779B9  # odd: a different key for every pass


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `delta`, `passes` int32 `[5]`; `dip` int32 `[5, 256]`; `half`,
  `turns` of `taps`.
  """
  sigmas, deltas, passes = zip(*edition.row(SEVERITIES), strict=True)
  return {
    "delta": np.array(deltas, np.int32),
    "passes": np.array(passes, np.int32),
    "dip": np.stack([_dips(s) for s in sigmas]),
    **taps.half_kernels(sigmas),
  }


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw displacements of every pass, int32 `[passes, H, W]`.

  Each is down * 65536 + right, both -d..d - 1; passes beyond the severity's are
  not drawn.
  """
  key = scene.key
  delta = scene.table["delta"]
  span = (2 * delta).astype(jnp.uint32)
  shape = scene.image.shape[:2]

  def add(i: jax.Array, draws: jax.Array) -> jax.Array:
    fold = i.astype(jnp.uint32) * np.uint32(_WEYL)
    words = seeding.bits(key.at[1].set(key[1] ^ fold), shape)
    down = (((words >> 16) * span) >> 16).astype(jnp.int32) - delta
    right = (((words & 0xFFFF) * span) >> 16).astype(jnp.int32) - delta
    return draws.at[i].set((down << 16) + right)

  most = max(row[2] for row in scene.edition.row(SEVERITIES))
  draws = jnp.zeros((most, *shape), jnp.int32)
  return jax.lax.fori_loop(0, scene.table["passes"], add, draws)


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, int32 `[H, W * 3]`; `draws` as from `draw`."""
  size, table = scene.size, scene.table
  height, width = scene.image.shape[:2]
  blurred = _blur(layout.flat(scene.image), size, table).astype(jnp.uint8)
  words = packed.pack(blurred.reshape(height, width, 3)).reshape(-1)

  def shuffle(i: jax.Array, words: jax.Array) -> jax.Array:
    right = (draws[i] << 16) >> 16
    down = (draws[i] - right) >> 16
    source = sequential_copy.sources(down, right, table["delta"], size)
    return words.at[source].get(mode="promise_in_bounds")

  words = jax.lax.fori_loop(0, table["passes"], shuffle, words)
  shuffled = packed.bytes_of(words.reshape(height, width), table["delta"])
  return _blur(shuffled, size, table)


def _blur(
  levels: jax.Array, size: layout.Size, table: plugins.Table
) -> jax.Array:
  """Blur uint8 `[H, W * 3]` by a Gaussian, truncated: int32, 0..255.

  A white pixel diagonal to a darker one loses as little as 1e-7 levels and is
  truncated to 254 for it. So the changes, not the levels, are summed in
  float32.
  """
  half, turns = table["half"], table["turns"]
  edge = taps.margin(half)
  natural = table["delta"]
  padded = border.pad(levels, size, (edge, edge), 3, natural)
  padded = keep.keep(padded, natural)
  rows = taps.inner(padded, half, 0)
  down = taps.change(padded, half, turns, 0)
  change = (
    taps.inner(down, half, 1, stride=3)
    + taps.change(rows, half, turns, 1, stride=3)
    + taps.change(down, half, turns, 1, stride=3)
  )
  before = taps.inner(rows, half, 1, stride=3).astype(jnp.int32)
  dip = table["dip"].at[before].get(mode="promise_in_bounds")
  after = before + jnp.floor(change).astype(jnp.int32)
  return jnp.where(change == 0, before - dip, jnp.clip(after, 0, 255))


def _dips(sigma: float) -> np.ndarray:
  """Return 1 for each level whose flat areas the reference's blur darkens by one.

  Its weights sum to 1 - 1e-16 or so, and the result is truncated: a white
  background becomes 254, a grey one may keep its level. This repeats scipy's
  order of additions in float64.
  """
  kernel = gaussian.kernel(sigma)
  value = np.arange(256) / 255.0
  for _ in range(2):
    total = value * kernel[len(kernel) // 2]
    for weight in kernel[: len(kernel) // 2]:
      total = total + (value + value) * weight
    value = total
  return np.arange(256, dtype=np.int32) - (value * 255).astype(np.int32)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
)

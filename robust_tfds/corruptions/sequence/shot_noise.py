"""Shot noise sequences: independent noise around the clean frame 0.

docs/specs/imagenet_p.md sections 2 and 4; the noise itself is
`image/shot_noise.py`.
"""

import jax

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import shot_noise
from robust_tfds.corruptions.ops import fresh_noise, layout

_RATE = {  # expected photons of a white value, by difficulty
  "imagenet": (300, 120, 60),
  "inception": (250, 100, 50),
  "imagenet64": (500, 250, 125),
  "tiny_imagenet": (500, 250, 125),
  "cifar10": (700, 400, 200),
}


def tables(edition: spec.Edition, difficulty: int) -> plugins.Arrays:
  """`index` `[31]` and the alias table of the rate."""
  rate = _RATE[edition.name][difficulty - 1]
  return {**fresh_noise.index_table(), **shot_noise.alias_tables([rate])}


def frame(
  image: jax.Array,
  draws: jax.Array,
  size: layout.Size,
  row: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  """Frame 0 is clean; frame i is the clean one with noise of its own."""
  index = row["index"]
  table = {k: v[0] for k, v in row.items() if k != "index"}
  counts = shot_noise.draw(draws, image, size, table, edition, stream=index)
  noisy = shot_noise.apply(image, counts, size, table, edition)
  return fresh_noise.unless_first(image, noisy, index)


PLUGIN = plugins.FrameByFrame(
  tables=tables, rows=fresh_noise.ROWS, draw=fresh_noise.draw, frame=frame
)

"""Shot noise sequences: independent noise around the clean frame 0.

docs/evidence/specs/imagenet_p.md sections 2 and 4; the noise itself is
`image/shot_noise.py`.
"""

import dataclasses

import jax

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import shot_noise
from robust_tfds.corruptions.ops import fresh_noise

_RATE = {  # expected photons of a white value, by difficulty
  "imagenet": (300, 120, 60),
  "inception": (250, 100, 50),
  "imagenet64": (500, 250, 125),
  "tiny_imagenet": (500, 250, 125),
  "cifar10": (700, 400, 200),
}


def tables(edition: spec.Edition, difficulty: int) -> plugins.Arrays:
  """Return `index` `[31]` and the alias table of the rate."""
  rate = _RATE[edition.name][difficulty - 1]
  return {**fresh_noise.index_table(), **shot_noise.alias_tables([rate])}


def frame(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute a frame: frame 0 is clean, frame i has its own noise."""
  index = scene.table["index"]
  table = {k: v[0] for k, v in scene.table.items() if k != "index"}
  scene = dataclasses.replace(scene, table=table)
  noisy = shot_noise.apply(scene, shot_noise.draw(scene, stream=index))
  return fresh_noise.unless_first(scene.image, noisy, index)


PLUGIN = plugins.FrameByFrame(tables=tables, rows=fresh_noise.ROWS, frame=frame)

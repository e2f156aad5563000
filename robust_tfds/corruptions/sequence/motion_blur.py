"""Motion blur sequences: the direction turns from frame to frame; none is clean.

docs/evidence/specs/imagenet_p.md sections 2 and 4; the blur itself is
`image/motion_blur.py`. The 64 px editions blur the image at its own resolution
and resize afterwards. DEVIATION: their script keeps the aspect of non-square
images in these frames alone; ours are square, as all other frames are.
"""

import jax
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import motion_blur
from robust_tfds.corruptions.ops import edition_crop, layout, motion

_BLURS = {  # frames, degrees a frame, radius and sigma in px
  "imagenet": (31, 4, 10, 3),
  "inception": (31, 4, 13, 3),
  "imagenet64": (31, 5, 14, 3),
  "tiny_imagenet": (31, 5, 14, 3),
  "cifar10": (21, 9, 6, 1.8),
}


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `direction` int32 `[T, 2, taps]`; `weights` and `turns`, see
  `motion.kernels`.
  """
  frames, step, radius, sigma = _BLURS[edition.name]
  kernels = motion.kernels([radius], [sigma], motion_blur.BITS)
  degrees = step * (np.arange(frames) - (frames - 1))
  taps = kernels["weights"].shape[-1]
  return {
    "direction": motion.exact_offsets(degrees, taps),
    **{k: v[0] for k, v in kernels.items()},
  }


def frame(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute one frame, `[S, S * 3]`."""
  image, edition = scene.image, scene.edition
  blurred = motion_blur.apply(scene, scene.table["direction"])
  if image.shape[0] == image.shape[1] == edition.side_px:
    return blurred
  whole = layout.to_uint8(blurred).reshape(image.shape)
  return edition_crop.crop(whole, scene.size, edition)


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("direction",),
  frame=frame,
  on_source=(
    "imagenet64",
    "tiny_imagenet",
  ),  # The 64 px editions blur before they resize.
)

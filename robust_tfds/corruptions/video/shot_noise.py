"""Shot noise, new in every frame: 250 to 15 photons, Tiny-ImageNet-C's rates.

specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import spec

INFO = spec.Info(group="noise", benchmark="common", position=1)
IMAGE = "shot_noise"  # the image corruption
IMAGE_EDITION = "tiny_imagenet"  # whose severities are the video benchmark's

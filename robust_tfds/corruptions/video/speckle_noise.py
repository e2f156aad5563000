"""Speckle noise, new in every frame: sigma 0.15 to 0.35, Tiny-ImageNet-C's.

specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import spec

INFO = spec.Info(group="noise", benchmark="common", position=3)
IMAGE = "speckle_noise"  # the image corruption
IMAGE_EDITION = "tiny_imagenet"  # whose severities are the video benchmark's

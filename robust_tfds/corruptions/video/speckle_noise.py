"""Speckle noise, new in every frame: sigma 0.15 to 0.35, Tiny-ImageNet-C's.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "speckle_noise"  # the image corruption
IMAGE_EDITION = "tiny_imagenet"  # whose severities are the video benchmark's

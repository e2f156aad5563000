"""Shot noise, new in every frame: 250 to 15 photons, Tiny-ImageNet-C's rates.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "shot_noise"  # the image corruption
IMAGE_EDITION = "tiny_imagenet"  # whose severities are the video benchmark's

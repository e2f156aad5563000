"""Defocus blur, the same in every frame: ImageNet-C's disks.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "defocus_blur"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

"""Zoom blur, the same in every frame: ImageNet-C's factors, any aspect.

specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import spec

INFO = spec.Info(group="blur", benchmark="common", position=6)
IMAGE = "zoom_blur"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

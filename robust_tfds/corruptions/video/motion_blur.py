"""Motion blur along an angle of U(-45, 45) degrees, new in every frame.

specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import spec

INFO = spec.Info(group="blur", benchmark="common", position=5)
IMAGE = "motion_blur"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

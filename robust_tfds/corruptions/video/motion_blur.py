"""Motion blur along an angle of U(-45, 45) degrees, new in every frame.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "motion_blur"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

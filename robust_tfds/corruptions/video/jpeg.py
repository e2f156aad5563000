"""JPEG of every frame by itself: quality 25 18 15 10 7, 4:2:0.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "jpeg_compression"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

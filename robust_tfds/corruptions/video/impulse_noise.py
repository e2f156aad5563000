"""Salt and pepper, new in every frame and channel: 3 to 27 % of the values.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "impulse_noise"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

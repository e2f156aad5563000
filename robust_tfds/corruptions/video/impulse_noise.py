"""Salt and pepper, new in every frame and channel: 3 to 27 % of the values.

specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import spec

INFO = spec.Info(group="noise", benchmark="common", position=2)
IMAGE = "impulse_noise"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

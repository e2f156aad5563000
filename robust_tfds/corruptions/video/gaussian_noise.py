"""Gaussian noise, new in every frame and channel: sigma 0.08 to 0.38.

docs/specs/video.md section 1. The operation is the image library's.
"""

IMAGE = "gaussian_noise"  # the image corruption
IMAGE_EDITION = "imagenet"  # whose severities are the video benchmark's

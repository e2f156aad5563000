"""Gaussian noise, new in every frame and channel: sigma 0.08 to 0.38.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("gaussian_noise", edition="imagenet")

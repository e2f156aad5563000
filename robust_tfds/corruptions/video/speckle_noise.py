"""Speckle noise, new in every frame: sigma 0.15 to 0.35, Tiny-ImageNet-C's.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("speckle_noise", edition="tiny_imagenet")

"""Shot noise, new in every frame: 250 to 15 photons, Tiny-ImageNet-C's rates.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("shot_noise", edition="tiny_imagenet")

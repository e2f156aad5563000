"""Zoom blur, the same in every frame: ImageNet-C's factors, any aspect.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("zoom_blur", edition="imagenet")

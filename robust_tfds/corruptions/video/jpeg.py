"""JPEG of every frame by itself: quality 25 18 15 10 7, 4:2:0.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("jpeg_compression", edition="imagenet")

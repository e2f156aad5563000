"""Defocus blur, the same in every frame: ImageNet-C's disks.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("defocus_blur", edition="imagenet")

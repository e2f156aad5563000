"""Motion blur along an angle of U(-45, 45) degrees, new in every frame.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("motion_blur", edition="imagenet")

"""Salt and pepper, new in every frame and channel: 3 to 27 % of the values.

docs/specs/video.md section 1. The operation is the image library's.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfImage("impulse_noise", edition="imagenet")

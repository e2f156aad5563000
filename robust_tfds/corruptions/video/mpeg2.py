"""The benchmark's "MPEG2": FFmpeg's mpeg4 at -q:v 15 s.

docs/specs/video.md section 1: the only released recipe ("codec2") calls it so
although the encoder is MPEG-4 part 2. Quantisers above 31 change little. A
codec: on the host.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfCodec("mpeg4", "avi", quantiser=15)

"""The benchmark's "MPEG1": FFmpeg's mpeg2video at -q:v 20 s.

docs/specs/video.md section 1: the only released recipe ("codec1") calls it so
although the encoder is MPEG-2. Quantisers above 31 change little. A codec: on
the host.
"""

from robust_tfds.corruptions import plugins

PLUGIN = plugins.OfCodec("mpeg2video", "vob", quantiser=20)

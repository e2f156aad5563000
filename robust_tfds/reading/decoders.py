"""Names and versions of the picture and video decoders.

They are recorded because decoded pixels depend on them: another version of a decoder
may give other levels. Measurements are in docs/evidence/ROBUST_INPUT.md.
"""

from robust_tfds.reading import videos


def picture_decoder() -> str:
  """Return the versions of Pillow and its JPEG: `Pillow 13.0.0, libjpeg-turbo 3.2.0`."""
  from PIL import features

  turbo, jpeg = features.version("libjpeg_turbo"), features.version("jpg")
  jpeg = f"libjpeg-turbo {turbo}" if turbo else f"libjpeg {jpeg}"
  return f"Pillow {features.version('pil')}, {jpeg}"


def tensorflow_decoder() -> str:
  """Return what decodes JPEG sets in tf.data: `TensorFlow 2.21.0`."""
  import tensorflow as tf

  return f"TensorFlow {tf.__version__}"


def video_decoder() -> str:
  """Return the versions of the video decoder: `PyAV 18.1.0, FFmpeg 8.1.2`.

  Raises:
    UserError: PyAV is not installed.
  """
  av = videos.pyav()
  return f"PyAV {av.__version__}, FFmpeg {av.ffmpeg_version_info}"

"""The coding of a video's frames, read by PyAV: frame types and rate.

Shankar et al. 2019, Appendices H and I: accuracy by the type of the anchor (I:
stored whole, P: predicted, B: predicted from both sides) and by frame rate.
"""

import os

from robust_tfds.reading import videos as video_files


def facts(video: bytes | str | os.PathLike) -> tuple[str, float]:
  """Return (types, fps): one letter for each frame in the order of display.

  Returns:
    A string of `I`, `P`, `B` (`?` for rarer types), and frames per second (0 if
    the container does not say). The paper truncates rates: 29 is 29.97.

  Raises:
    UserError: PyAV is not installed.
    video_files.BrokenVideoError: not a video, or truncated.
    FileNotFoundError: no such file.
  """
  av = video_files.pyav()
  with video_files.opened(video) as container:
    stream = container.streams.video[0]
    rate = stream.average_rate
    kinds = [
      av.video.frame.PictureType(f.pict_type).name
      for f in container.decode(stream)
    ]
  letters = "".join(k if k in ("I", "P", "B") else "?" for k in kinds)
  return letters, float(rate) if rate else 0.0

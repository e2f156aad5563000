"""How a video's codec stored its frames: types and rate, through PyAV.

Shankar et al. 2019, Appendices H and I: accuracy by the type of the anchor (I:
stored whole, P: predicted, B: predicted from both sides) and by frame rate.
"""

from __future__ import annotations

import io
import os

from robust_tfds import movies


def facts(video: bytes | str | os.PathLike) -> tuple[str, float]:
  """(types, fps): one letter for each frame in the order of display.

  Args:
    video: a file, or its bytes.

  Returns:
    A string of `I`, `P`, `B` (`?` for rarer types), and frames per second (0 if
    the container does not say). The paper truncates rates: 29 is 29.97.

  Raises:
    ImportError: PyAV is not installed.
    movies.BrokenVideoError: not a video, or cut off.
    FileNotFoundError: no such file.
  """
  try:
    import av
  except ImportError as e:
    raise ImportError("pip install 'robust_tfds[video]' brings PyAV.") from e
  if not isinstance(video, bytes) and not os.path.exists(video):
    raise FileNotFoundError(f"No video at {os.fspath(video)}.")
  shown = "The video" if isinstance(video, bytes) else os.fspath(video)
  source = io.BytesIO(video) if isinstance(video, bytes) else os.fspath(video)
  try:
    with av.open(source, "r") as opened:
      if not opened.streams.video:
        raise movies.BrokenVideoError(f"{shown} has no picture. Replace it.")
      pictures = opened.streams.video[0]
      rate = pictures.average_rate
      kinds = [
        av.video.frame.PictureType(f.pict_type).name
        for f in opened.decode(pictures)
      ]
  except av.error.FFmpegError as e:
    raise movies.BrokenVideoError(
      f"{shown} cannot be read as a video ({e}). Replace the file."
    ) from e
  letters = "".join(k if k in ("I", "P", "B") else "?" for k in kinds)
  return letters, float(rate) if rate else 0.0

"""Draw docs/video_gallery.jpg: a clip under all 18 video perturbations.

  python tools/video_gallery.py [CLIP.npz [PICTURE]]

A row is one perturbation at severity 3: four moments, evenly spaced over its
result. Without an argument the camera pans over the scene of `tools/gallery.py`
and a clock in the corner shows the number of the frame, so that the order can be
read; with one, the `clip` of an .npz file is shown. PICTURE: where to write
instead.
"""

import pathlib
import sys

import gallery  # the neighbour in this folder
import numpy as np
from PIL import Image, ImageDraw

from robust_tfds import corruptions

_OUT = pathlib.Path(__file__).resolve().parents[1] / "docs/video_gallery.jpg"
_SEVERITY, _MOMENTS, _FRAMES = 3, 4, 64
_WIDE_PX, _HIGH_PX, _LABEL_PX, _GAP_PX = 92, 69, 150, 3


def clip() -> np.ndarray:
  """Return 64 frames of 240x320 px: a pan over the scene, each with its number."""
  picture = gallery.scene(1792).resize((448, 448), Image.Resampling.LANCZOS)
  frames = []
  for i in range(_FRAMES):
    left, top = 2 * i, 60 + i
    frame = picture.crop((left, top, left + 320, top + 240))
    draw = ImageDraw.Draw(frame)
    draw.rectangle((4, 4, 84, 54), "black")
    draw.text((8, 2), f"{i:02}", "white", font_size=48)
    frames.append(np.asarray(frame))
  return np.stack(frames)


def main() -> None:
  """Write the picture."""
  video = np.load(sys.argv[1])["clip"] if sys.argv[1:] else clip()
  names = ("clean", *corruptions.video_names())
  row_px = _HIGH_PX + _GAP_PX
  width = _LABEL_PX + _MOMENTS * (_WIDE_PX + _GAP_PX)
  sheet = Image.new("RGB", (width, len(names) * row_px), "white")
  draw = ImageDraw.Draw(sheet)
  for row, name in enumerate(names):
    frames = video
    if row:
      key = corruptions.example_key(0, "gallery", name, _SEVERITY, "clip")
      frames = np.asarray(
        corruptions.perturb_video(video, name, _SEVERITY, key=key)
      )
    label = f"{name}\n{len(frames)} frames, {frames.shape[2]}x{frames.shape[1]}"
    draw.text((4, row * row_px + _HIGH_PX // 3), label, fill="black")
    moments = np.linspace(0, len(frames) - 1, _MOMENTS).round().astype(int)
    for column, moment in enumerate(moments):
      tile = Image.fromarray(frames[moment])
      tile.thumbnail((_WIDE_PX, _HIGH_PX))
      left = _LABEL_PX + column * (_WIDE_PX + _GAP_PX)
      sheet.paste(tile, (left, row * row_px))
  sheet.save(sys.argv[2] if sys.argv[2:] else _OUT, quality=42)


if __name__ == "__main__":
  main()

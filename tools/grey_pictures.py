"""Counts the grey pictures of a folder: "2-3 %" of VOC's and COCO's are, says
Michaelis et al. 2019 of theirs.

  python -m tools.grey_pictures /data/manual/VOCdevkit/VOC2007/JPEGImages
  python -m tools.grey_pictures /data/manual/val2017

Grey are pictures of one channel, and those of three whose pixels all have R = G = B;
folders in the folder are looked into, other files are left out.
"""

import sys

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import pictures
from robust_tfds.storage import paths

_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp")


def count(folder: str) -> dict[str, int]:
  """Count `pictures`, those of `one channel`, and those of three with `R = G = B`.

  Raises:
    UserError: no pictures, or one that cannot be read.
  """
  out = {"pictures": 0, "one channel": 0, "R = G = B": 0}
  for name, path in paths.files_below(paths.parse(folder, "FOLDER")):
    if not name.lower().endswith(_ENDINGS):
      continue
    with pictures.opened(path) as image:
      channels, pixels = (
        len(image.getbands()),
        np.asarray(pictures.rgb(image, name)),
      )
    out["pictures"] += 1
    if (pixels == pixels[..., :1]).all():
      out["one channel" if channels == 1 else "R = G = B"] += 1
  if not out["pictures"]:
    raise errors.UserError(f"{folder}: there are no pictures.")
  return out


def words(counts: dict[str, int]) -> str:
  """Return a folder's counts in a line.

  >>> words({"pictures": 200, "one channel": 3, "R = G = B": 1})
  '4 of 200 pictures are grey, 2.0 %: 3 of one channel, 1 of three that are equal'
  """
  one, equal, n = counts["one channel"], counts["R = G = B"], counts["pictures"]
  return (
    f"{one + equal:,} of {n:,} pictures are grey, {100 * (one + equal) / n:.1f} %:"
    f" {one:,} of one channel, {equal:,} of three that are equal"
  )


def main() -> None:
  """Print the line of each folder."""
  if len(sys.argv) < 2:
    sys.exit("Error: name a folder of pictures.")
  for folder in sys.argv[1:]:
    try:
      print(f"{folder}: {words(count(folder))}")
    except errors.UserError as e:
      sys.exit(f"Error: {e}")


if __name__ == "__main__":
  main()

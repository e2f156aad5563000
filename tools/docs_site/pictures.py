"""Pictures of the data sets, drawn when the site is built.

Embedded sets show their own examples; the others, whose pictures may not be
shipped, a photograph that scikit-learn brings, at the set's size and with its
severities. Sets that look alike share a file.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib import figure
from PIL import Image

from robust_tfds import corruptions, datasets
from robust_tfds.building import base
from robust_tfds.corruptions import spec
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_detection import scenes
from robust_tfds.datasets.digits_vid_robust import (
  digits_vid_robust_dataset_builder as moving,
)
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as videos,
)
from robust_tfds.datasets.signs import signs_dataset_builder as signs
from tools import front

# Name of a set -> (place below the site's sources, what the picture shows).
Drawn = Mapping[str, tuple[str, str]]
_Grid = Sequence[Sequence[np.ndarray]]
_Sheet = tuple[_Grid, Sequence[str], Sequence[str]]  # pictures, across, down
_QUALITY = 85
_ANY_PX = (320, 213)  # of a photograph under the edition of any size
_GALLERY = pathlib.Path(__file__).parents[2] / "docs" / "video_gallery.jpg"
_PHOTOGRAPH = (
  "a photograph of scikit-learn's (by danielbuechele, CC BY 2.0) in the place of"
  " the set's own"
)
_SEQUENCES = ("gaussian_noise", "motion_blur", "snow", "rotate", "tilt")
_VIDEOS = ("gaussian_noise", "jpeg", "sampling", "freezing", "random_rotation")
_OFFSETS = (-10, -5, 0, 5, 10)


def draw(folder: pathlib.Path, sources: pathlib.Path) -> Drawn:
  """Draw the pictures of all sets.

  Args:
    folder: where to; what is there is not drawn again.
    sources: of the site, from which places are given.
  """
  folder.mkdir(parents=True, exist_ok=True)
  out = {}
  for name in datasets.names():
    sheet_of = set_picture(datasets.builder_class(name))
    if sheet_of is None:
      continue
    stem, words, sheet = sheet_of
    file = _GALLERY
    if sheet is not None:
      file = folder / f"{stem}.jpg"
      if not file.exists():
        _save(file, sheet())
    place = os.path.relpath(file, sources)
    out[name] = f"/{place}", words.replace("_", " ")
  return out


def _save(file: pathlib.Path, sheet: _Sheet) -> None:
  cells, across, down = sheet
  high, wide = cells[0][0].shape[:2]
  size = 7.5, 7.5 * high / wide * len(cells) / len(cells[0]) + 0.3
  whole = figure.Figure(figsize=size)
  front.grid(whole, cells, across, down)
  whole.savefig(
    file, dpi=120, facecolor="white", pil_kwargs={"quality": _QUALITY}
  )


def set_picture(
  cls: type[base.Builder],
) -> tuple[str, str, Callable[[], _Sheet] | None] | None:
  """Return a set's file name, words and drawing function; None if not allowed."""
  embedded = _embedded(cls)
  if cls.KIND == "frames":
    whose = "" if embedded else ", of the embedded digits_vid_robust"
    offsets = ", ".join(map(str, _OFFSETS))
    return "frames", f"frames {offsets} around an anchor{whose}", _frames
  if cls.FAMILY is None:
    return _clean(cls) if embedded else None
  whose = "an example of the set" if embedded else _PHOTOGRAPH
  stem = f"{cls.KIND}_{cls.EDITION}_{'embedded' if embedded else 'photograph'}"
  if cls.KIND == "videos":
    if not embedded:
      return stem, "every perturbation at severity 3 on a drawn clip", None
    names = ", ".join(_VIDEOS)
    words = f"four moments of {whose} under {names} at severity 3"
    return stem, words, _videos
  if cls.KIND == "sequences":
    words = f"four frames of {', '.join(_SEQUENCES)}: {whose}"
    return stem, words, lambda: _sequences(cls)
  names = ", ".join(front.NAMES)
  words = f"{names} at severities 1, 3 and 5: {whose}"
  return stem, words, lambda: _corrupted(cls)


def _embedded(cls: type[base.Builder]) -> bool:
  return cls.HOMEPAGE in (digits.HOMEPAGE, signs.HOMEPAGE)


def _signs(count: int) -> list[np.ndarray]:
  return [s.picture.read() for s in signs.sources("test")[:count]]


def _clean(cls: type[base.Builder]) -> tuple[str, str, Callable[[], _Sheet]]:
  """Draw one or two rows of an embedded set without corruptions."""
  shown: dict[str, Callable[[], list[np.ndarray]]] = {
    "pictures": lambda: [digits.read(row) for row in range(10)],
    "objects": lambda: [
      np.asarray(Image.fromarray(s.picture.read()).resize((128, 128)))
      for s in scenes.sources("test")[:5]
    ],
    "videos": lambda: [videos.draw("test", i)[-1] for i in range(8)],
  }
  shown |= {"subtypes": shown["pictures"], "masks": shown["objects"]}
  pictures, words = shown[cls.KIND], "examples of the set"
  if cls.HOMEPAGE == signs.HOMEPAGE:
    return "signs_clean", words, lambda: ([_signs(12)], (), ())
  return f"{cls.KIND}_clean", words, lambda: ([pictures()], (), ())


def _example(cls: type[base.Builder]) -> np.ndarray:
  """Return the example of a set of pictures or sequences, uint8 `[h, w, 3]`."""
  if cls.HOMEPAGE == signs.HOMEPAGE:
    return _signs(1)[0]
  if cls.HOMEPAGE == digits.HOMEPAGE:
    if cls.KIND in ("objects", "masks"):
      return scenes.sources("test")[0].picture.read()
    return digits.read(4)
  from sklearn import datasets as of_sklearn

  photograph = Image.fromarray(of_sklearn.load_sample_image("china.jpg"))
  side = spec.edition(cls.EDITION).size_px
  if side is None:
    return np.asarray(photograph.resize(_ANY_PX))
  square = photograph.crop((106, 0, 533, 427)).resize((side, side))
  return np.asarray(square)


def _corrupted(cls: type[base.Builder]) -> _Sheet:
  return front.strip(_example(cls), edition=cls.EDITION)


def _sequences(cls: type[base.Builder]) -> _Sheet:
  image, columns = _example(cls), []
  for name in _SEQUENCES:
    key = corruptions.example_key(0, cls.name, name, 1, "shown")
    frames = corruptions.sequence(image, name, edition=cls.EDITION, key=key)
    columns.append(_moments(np.asarray(frames)))
  return list(zip(*columns)), _SEQUENCES, ("first", "", "", "last")


def _videos() -> _Sheet:
  clip, rows = videos.draw("test", 0), []
  for name in _VIDEOS:
    key = corruptions.example_key(0, "digits_video_p", name, 3, "shown")
    video = corruptions.perturb_video(clip, name, 3, key=key, fps=videos.FPS)
    rows.append(_moments(np.asarray(video)))
  return list(zip(*rows)), _VIDEOS, ()


def _frames() -> _Sheet:
  rows = [
    [moving.picture(row, offset) for offset in _OFFSETS] for row in (4, 64, 94)
  ]
  return rows, [f"{offset:+d}" for offset in _OFFSETS], ()


def _moments(frames: np.ndarray) -> list[np.ndarray]:
  """Return four frames, evenly spaced, including the first and the last."""
  places = np.linspace(0, len(frames) - 1, 4).round().astype(int)
  return [frames[place] for place in places]

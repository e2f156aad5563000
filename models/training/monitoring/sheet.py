"""A sheet of the first examples of a training, as the network saw them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from models.training.recipes import base
from robust_tfds.html_pages import pictures

if TYPE_CHECKING:
  from models.training.run import Prepared

_MAX_PICTURES = 8  # examples, or frames of a clip
_CLIPS = 3
_SEEN = "as seen"
_EM = 0.05  # size of the letters of boxes, of the longer side


def lines(prepared: Prepared) -> list[pictures.Line]:
  """Return lines of pictures: as read, then one per view or clip."""
  classes = prepared.source.classes
  rows, ids, listed, boxed = _first(prepared)
  if boxed:
    return [pictures.Line("", "", [*_boxed(boxed, ids, classes)])]
  words = ids  # class maps
  if "label" in rows:
    words = [str(classes[i]) for i in rows["label"]]
  return [
    line
    for name, items in listed.items()
    for line in _lines(name, items, words)
  ]


def seen_pictures(prepared: Prepared) -> dict[str, np.ndarray]:
  """Return the same pictures by name, uint8 `[N, H, W, 3]`.

  Clips are `[N, T, H, W, 3]`.
  """
  *_, listed, _ = _first(prepared)
  return {name: _levels(images) for name, images in listed.items()}


def _first(prepared: Prepared) -> tuple[Any, list[str], dict[str, Any], Any]:
  """Return the first examples, their ids, their pictures by name, and a
  detector's batch.

  Pixels depend on the example and the epoch alone, so a few examples have the
  same pixels here as in their batch.
  """
  config = prepared.config
  batch = next(
    prepared.source.batches(
      batch_size=config.batch_size, seed=config.seed, epoch=0, start=0
    )
  )
  most = _CLIPS if "video" in batch else _MAX_PICTURES
  ids = [str(i) for i in batch["id"]][:most]
  rows: Any = {k: np.asarray(x)[:most] for k, x in batch.items() if k != "id"}
  views = jax.device_get(jax.jit(prepared.recipe.views)(rows))
  if isinstance(views, Mapping) or "boxes" in rows:
    shown = views if isinstance(views, Mapping) else {**rows, "image": views}
    return rows, ids, {_SEEN: np.asarray(shown["image"])}, shown
  views = views.reshape(-1, len(ids), *views.shape[1:])
  listed = {"as read": np.asarray(base.pictures(rows))}
  for i, view in enumerate(views, 1):
    listed[f"view {i} of {len(views)}" if len(views) > 1 else _SEEN] = view
  return rows, ids, listed, None


def _lines(
  name: str, images: np.ndarray, words: Sequence[str]
) -> Iterator[pictures.Line]:
  """Yield a line of pictures.

  Clips have one line each, with some of their frames.
  """
  if images.ndim == 4:
    shown = [_picture(x, w, f"{w}, {name}") for x, w in zip(images, words)]
    yield pictures.Line(name, "", shown)
    return
  for clip, word in zip(images, words):
    places = np.linspace(0, len(clip) - 1, min(_MAX_PICTURES, len(clip)))
    chosen = places.round().astype(int)
    frames = [
      _picture(clip[i], "", f"{word}, {name}, frame {i}") for i in chosen
    ]
    yield pictures.Line(word, name, frames)


def _picture(image: np.ndarray, word: str, alt: str) -> pictures.Shown:
  height, width = image.shape[:2]
  small = max(height, width) <= pictures.SMALL
  uri = pictures.uri(_levels(image))
  return pictures.Shown(uri, (width, height), (word, ""), alt, small)


def _levels(image: np.ndarray) -> np.ndarray:
  """Return pixels as uint8; other dtypes are rounded and clipped to 0..255."""
  return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def _boxed(
  batch: Mapping[str, np.ndarray], ids: Sequence[str], classes: Sequence[str]
) -> Iterator[pictures.Shown]:
  """Yield the pictures of a detector's batch, each with its boxes."""
  for i, name in enumerate(ids):
    height, width = map(int, batch["size"][i])
    em = round(_EM * max(height, width), 2)
    boxes: list[Any] = []
    labels: list[Any] = []
    for box, label in zip(batch["boxes"][i].tolist(), batch["labels"][i]):
      if label < 0:  # padding
        continue
      x1, y1, x2, y2 = (round(x, 1) for x in box)
      boxes.append(("hit", x1, y1, round(x2 - x1, 1), round(y2 - y1, 1)))
      middle = round((x1 + x2) / 2, 1), round(y1 + em, 1)
      labels.append(("hit", str(classes[label]), *middle))
    yield pictures.Shown(
      pictures.uri(_levels(batch["image"][i][:height, :width])),
      (width, height),
      (name, ""),
      f"{name}: {', '.join(text for _, text, *_ in labels) or 'no objects'}",
      False,
      view=f"0 0 {width} {height}",
      em=em,
      boxes=boxes,
      labels=labels,
    )

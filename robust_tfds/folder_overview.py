"""`overview.png` of a folder that was corrupted: a few pictures x conditions.

A row of each picture, its clean pixels first; where there are many conditions, each
corruption at the middle one of its severities. Pictures of which nothing was made
are not shown; a result that is not there is a grey tile that says so.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions, errors, folder_work, resizing
from robust_tfds.reading import pictures
from robust_tfds.storage import paths

NAME = "overview.png"
_PICTURES, _COLUMNS = 3, 8
_WIDE_PX, _HIGH_PX, _LABEL_PX, _GAP_PX = 160, 120, 16, 4
_GREY = 208  # a tile without a result

_Cell = tuple[str, int]  # (corruption, severity)


def write(
  batch: folder_work.Batch, files: Iterable[epath.Path]
) -> epath.Path | None:
  """Draw a few pictures of a batch, of several classes if there are several.

  A sheet that is there is replaced.

  Returns:
    The file; None where there are no results.

  Raises:
    UserError: it cannot be written.
  """
  place = batch.out / NAME
  columns = [(conditions.CLEAN, 0), *_chosen(batch.cells)]
  few = _few(batch, files, columns)
  place.unlink(missing_ok=True)
  if not few:
    return None
  count = -(-len(columns) // -(-len(columns) // _COLUMNS))  # as full as can be
  bands = [
    _band(batch, few, columns[i : i + count], count)
    for i in range(0, len(columns), count)
  ]
  batch.writer.write(place, _png(np.concatenate(bands)))
  return place


def _few(
  batch: folder_work.Batch, files: Iterable[epath.Path], cells: Sequence[_Cell]
) -> list[epath.Path]:
  """Return the first picture with results of each folder, then further ones."""
  first: dict[tuple[str, ...], epath.Path] = {}
  more: list[epath.Path] = []
  for file in files:
    folder = file.relative_to(batch.root).parts[:-1][:1]
    if len(first) == _PICTURES:
      break
    full = folder in first and len(more) == _PICTURES
    if not full and _has_results(batch, file, cells):
      first.setdefault(folder, file)
      more += [file] * (first[folder] != file)
  return [*first.values(), *more][:_PICTURES]


def _chosen(cells: Sequence[_Cell]) -> list[_Cell]:
  """Choose the conditions to show: all if they are few, else one of each corruption."""
  corrupted = [cell for cell in cells if cell[0] != conditions.CLEAN]
  if len(corrupted) < _COLUMNS:
    return corrupted
  severities = sorted({severity for _, severity in corrupted})
  middle = severities[len(severities) // 2]
  return [cell for cell in corrupted if cell[1] == middle]


def _has_results(
  batch: folder_work.Batch, file: epath.Path, cells: Sequence[_Cell]
) -> bool:
  places = [batch.place(file, *cell) for cell in cells]
  return any(paths.exist(places))


def _band(
  batch: folder_work.Batch,
  files: Sequence[epath.Path],
  cells: Sequence[_Cell],
  columns: int,
) -> np.ndarray:
  """Draw a line of labels and a row for each picture, uint8 `[H, W, 3]`."""
  wide, high = _WIDE_PX + _GAP_PX, _HIGH_PX + _GAP_PX
  shape = (_LABEL_PX + high * len(files), wide * columns, 3)
  sheet = np.full(shape, 255, np.uint8)
  for column, cell in enumerate(cells):
    left = column * wide
    text = f"{cell[0]} {cell[1]}" if cell[1] else cell[0]
    sheet[:_LABEL_PX, left : left + _WIDE_PX] = _label(text, 255)
    for row, file in enumerate(files):
      tile = _tile(batch, file, cell)
      top = _LABEL_PX + row * high
      sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
  return sheet


def _label(text: str, level: int, high: int = _LABEL_PX) -> np.ndarray:
  """Draw words on an even grey, uint8 `[high, W, 3]`."""
  from PIL import Image, ImageDraw

  label = Image.new("RGB", (_WIDE_PX, high), (level,) * 3)
  ImageDraw.Draw(label).text((2, 2), text, "black")
  return np.asarray(label)


def _tile(
  batch: folder_work.Batch, file: epath.Path, cell: _Cell
) -> np.ndarray:
  """Draw a small copy of a result (clean: of the picture), or say that none is there."""
  try:
    if cell[0] == conditions.CLEAN:
      return _small(
        folder_work.read(
          file, drop_alpha=True, ignore_orientation=batch.ignore_orientation
        ).pixels
      )
    return _small(pictures.picture(batch.place(file, *cell)))
  except errors.UserError:  # it was left out, which is said
    return _label("no result", _GREY, _HIGH_PX)


def _small(pixels: np.ndarray) -> np.ndarray:
  height, width = pixels.shape[:2]
  scale = max(height / _HIGH_PX, width / _WIDE_PX)
  high, wide = (max(int(n / scale), 1) for n in (height, width))
  return resizing.resized(
    pixels, resizing.taps(height, high), resizing.taps(width, wide)
  )


def _png(pixels: np.ndarray) -> bytes:
  from PIL import Image

  out = io.BytesIO()
  Image.fromarray(pixels).save(out, "PNG")
  return out.getvalue()

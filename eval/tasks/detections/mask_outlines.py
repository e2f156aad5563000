"""Outlines of soft masks in a picture: the rows where each column enters and leaves.

A mask is a grid of `[M, M]` values, whose centres are spread over its box. Between
them a pixel's value is bilinear, beyond the outermost it falls to 0 within one
cell, outside the box's pixels it is 0; a pixel is inside from 0.5 up. Down a
column of pixels the value is linear from grid row to grid row, so the column
changes sides at most once between two of them: the place is computed, and only
the pixel beside it is looked at. No picture is painted.

Where rounding could decide (a grid row's value lies within 1e-5 of 0.5), every
pixel of the column is computed. So the places are those of the pixels' values in
float64, each `(a * (1 - across) + b * across) * (1 - down) + (...) * down`.
"""

import dataclasses

import numpy as np

# Values in float32 that are as near to 0.5 as that are computed pixel by pixel.
_NEAR = np.float32(1e-5)
# Beyond these the bound above does not hold: of values, and of boxes' sides in px.
_LARGEST_VALUE, _LONGEST_PX = 2.0, 1e6
_INSIDE = 0.5
_COLUMNS_AT_ONCE = 1024  # their values at the grid rows stay in the cache


def changes(
  masks: np.ndarray, boxes: np.ndarray, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
  """Return where masks change, reading the picture column by column.

  Args:
    masks: float `[D, M, M]`, finite.
    boxes: `[D, 4]`, x1, y1, x2, y2 in px; they may lie outside the picture.
    size: (height, width) of the picture.

  Returns:
    The mask of each change, and x * height + y of the first pixel that is on
    another side than the pixel before it; both int64 `[N]`, unordered. A place
    that occurs twice is no change. height * width, behind the last pixel, may
    be among them.
  """
  laid = _laid(masks, boxes, size)
  crossings, unsure = _crossed_cells(laid)
  scanned = _scanned(laid, np.flatnonzero(unsure))
  computed = _computed(laid, *(x[~unsure[crossings[0]]] for x in crossings))
  columns, rows = (np.concatenate(x) for x in zip(scanned, computed))
  owner = laid.across.owner[columns]
  first = laid.across.pixel[columns] * size[0] + laid.down.low[owner]
  return owner, first + rows


@dataclasses.dataclass(frozen=True)
class _Axis:
  """The pixels of all boxes along one axis, one box after the other.

  Attributes:
    low: int64 `[D]`, first pixel of each box that is in the picture.
    count: int64 `[D]`, number of these pixels.
    cell_px: float64 `[D]`, pixels per cell.
    start_px: float64 `[D]`, where the box begins, counted from `low`.
    owner: int64 `[P]`, the mask of each pixel.
    pixel: int64 `[P]`, its place in the picture.
    cell: int64 `[P]`, the last grid line at or before it, 0 to M; the grid has a
      line of zeros before the first one and one behind the last.
    share: float64 `[P]`, weight of the next grid line, 0 to 1.
  """

  low: np.ndarray
  count: np.ndarray
  cell_px: np.ndarray
  start_px: np.ndarray
  owner: np.ndarray
  pixel: np.ndarray
  cell: np.ndarray
  share: np.ndarray

  @property
  def firsts(self) -> np.ndarray:
    """The index of each box's first pixel: int64 `[D]`."""
    return np.cumsum(self.count) - self.count


def _axis(
  start: np.ndarray, end: np.ndarray, low: np.ndarray, count: np.ndarray, m: int
) -> _Axis:
  owner, pixel = _ragged(count)
  pixel += low[owner]
  length = np.maximum(end - start, 1e-6)
  at = (pixel + 0.5 - start[owner]) / length[owner]
  at = np.clip(at * m + 0.5, 0, m + 1)
  cell = np.minimum(at.astype(np.int64), m)
  return _Axis(
    low, count, length / m, start - low, owner, pixel, cell, at - cell
  )


@dataclasses.dataclass(frozen=True)
class _Laid:
  """Masks over a picture: columns and rows of their pixels, and their values.

  Attributes:
    grids: float32 `[D, M + 2, M + 2]` by x, then y, with zeros around.
    across: the columns.
    down: the rows.
    wild: bool `[D]`, masks whose values or boxes are too large for `_NEAR`.
  """

  grids: np.ndarray
  across: _Axis
  down: _Axis
  wild: np.ndarray

  @property
  def lines(self) -> int:
    """The number of grid lines of an axis, M + 2, with a line of zeros on
    either side.
    """
    return self.grids.shape[1]

  def _grid_column(self) -> np.ndarray:
    """Return the grid column left of each column, among all grids: int64
    `[columns]`.
    """
    return self.across.owner * self.lines + self.across.cell

  def near_values(self, columns: slice) -> np.ndarray:
    """Return approximate values at every grid row: float32 `[columns, M + 2]`."""
    grids = self.grids.reshape(-1, self.lines)
    left = self._grid_column()[columns]
    low, out = grids.take(left, axis=0), grids.take(left + 1, axis=0)
    out -= low
    out *= self.across.share[columns, None].astype(np.float32)
    out += low
    return out

  def ends(
    self, column: np.ndarray, cell: np.ndarray
  ) -> tuple[np.ndarray, np.ndarray]:
    """Return the values at the grid rows above and below cells: float64 `[N]` each."""
    grids = self.grids.reshape(-1)
    share = self.across.share[column]
    rest = 1 - share
    place = self._grid_column()[column] * self.lines + cell

    def value(left: np.ndarray) -> np.ndarray:
      return grids.take(left) * rest + grids.take(left + self.lines) * share

    return value(place), value(place + 1)

  def row_cells(self) -> np.ndarray:
    """Return the first row at or behind each grid row: int64 `[D, M + 2]`."""
    d, cells = len(self.grids), self.lines - 1
    number = self.down.owner * cells + self.down.cell
    rows = np.bincount(number, minlength=d * cells).reshape(d, cells)
    return np.pad(np.cumsum(rows, axis=1), ((0, 0), (1, 0)))


def _laid(masks: np.ndarray, boxes: np.ndarray, size: tuple[int, int]) -> _Laid:
  masks = np.asarray(masks, np.float32)
  x1, y1, x2, y2 = np.asarray(boxes, np.float64).T
  left, width = _cut(x1, x2, size[1])
  top, height = _cut(y1, y2, size[0])
  there = (width > 0) & (height > 0)
  side = masks.shape[1]
  large = np.abs(masks).max(axis=(1, 2), initial=0) > _LARGEST_VALUE
  return _Laid(
    np.pad(masks.transpose(0, 2, 1), ((0, 0), (1, 1), (1, 1))),
    _axis(x1, x2, left, width * there, side),
    _axis(y1, y2, top, height * there, side),
    large | (y2 - y1 > _LONGEST_PX),
  )


def _cut(
  start: np.ndarray, end: np.ndarray, length: int
) -> tuple[np.ndarray, np.ndarray]:
  """Return the first pixel and the length of the part of each box in the picture."""
  low = np.clip(np.floor(start), 0, length).astype(np.int64)
  high = np.clip(np.ceil(end), 0, length).astype(np.int64)
  return low, np.maximum(high - low, 0)


def _crossed_cells(
  laid: _Laid,
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
  """Return where columns change sides between two grid rows.

  Returns:
    Column and upper grid row of each change, int64 `[N]`; and bool `[columns]`,
    true for columns where rounding could decide.
  """
  unsure = laid.wild[laid.across.owner]
  columns, cells = [], []
  for start in range(0, len(unsure), _COLUMNS_AT_ONCE):
    values = laid.near_values(slice(start, start + _COLUMNS_AT_ONCE))
    values -= np.float32(_INSIDE)
    high = values >= 0
    column, cell = np.divmod(
      np.flatnonzero(high[:, 1:] != high[:, :-1]), laid.lines - 1
    )
    columns.append(column + start)
    cells.append(cell)
    near = np.flatnonzero(np.abs(values, out=values) < _NEAR)
    unsure[start + near // laid.lines] = True
  nothing = np.zeros(0, np.int64)
  return (
    np.concatenate([nothing, *columns]),
    np.concatenate([nothing, *cells]),
  ), unsure


def _computed(
  laid: _Laid, column: np.ndarray, cell: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Return the column, and the row in its window, of every change of sides.

  Args:
    column: the column of each change, int64 `[N]`; no unsure ones.
    cell: the grid row above it.
  """
  owner = laid.across.owner[column]
  above, below = laid.ends(column, cell)
  # Grid row 0 lies half a cell before the box, a pixel's centre half behind it.
  at = (_INSIDE - above) / (below - above) + cell - 0.5
  guess = at * laid.down.cell_px[owner] + laid.down.start_px[owner] - 0.5
  rows = laid.row_cells().reshape(-1)
  first = rows[owner * laid.lines + cell]
  end = rows[owner * laid.lines + cell + 1]
  # The guess is right to far less than half a row: all rows before that beside
  # it are on the upper side, all behind it on the lower.
  row = np.clip(np.rint(guess), first, np.maximum(end - 1, first))
  row = row.astype(np.int64)
  pixel = np.minimum(laid.down.firsts[owner] + row, len(laid.down.share) - 1)
  inside = _inside(above, below, laid.down.share[pixel])
  still_above = (inside != (below >= _INSIDE)) & (first < end)
  return column, row + still_above


def _scanned(laid: _Laid, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Return the same as `_computed` for some columns, from all of their pixels."""
  count = laid.down.count[laid.across.owner[columns]]
  which, row = _ragged(count)
  column = columns[which]
  pixel = laid.down.firsts[laid.across.owner[column]] + row
  above, below = laid.ends(column, laid.down.cell[pixel])
  inside = _inside(above, below, laid.down.share[pixel])
  before = np.roll(inside, 1) & (row > 0)
  begin = np.flatnonzero(inside != before)
  close = np.flatnonzero(inside & (row == count[which] - 1))
  return (
    np.concatenate([column[begin], column[close]]),
    np.concatenate([row[begin], row[close] + 1]),
  )


def _inside(
  above: np.ndarray, below: np.ndarray, share: np.ndarray
) -> np.ndarray:
  return above * (1 - share) + below * share >= _INSIDE


def _ragged(count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Return, for concatenated lists, the list of each item and its place in it."""
  owner = np.repeat(np.arange(len(count)), count)
  firsts = np.cumsum(count) - count
  return owner, np.arange(len(owner)) - firsts[owner]

"""Draw docs/front.jpg: corruptions beside a board, for the README's head.

  python -m tools.front

The picture is `tools.gallery.scene`; the board is the paper's, as it is printed.
"""

import pathlib
from collections.abc import Sequence

import numpy as np
from matplotlib import figure

from eval import papers
from robust_tfds import corruptions
from tools import gallery

FILE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "front.jpg"
NAMES = ("gaussian_noise", "motion_blur", "snow", "fog", "jpeg_compression")
SEVERITIES = (1, 3, 5)
_DPI, _QUALITY = 150, 82


def main() -> None:
  """Write the picture."""
  drawn().savefig(
    FILE, dpi=_DPI, facecolor="white", pil_kwargs={"quality": _QUALITY}
  )


def drawn() -> figure.Figure:
  """Draw the strip on the left and the board on the right."""
  whole = figure.Figure(figsize=(10, 3.3))
  left, right = whole.subfigures(1, 2, width_ratios=(5.4, 4.2))
  grid(left, *strip(np.asarray(gallery.scene().convert("RGB"))))
  _board(right)
  return whole


def board() -> list[tuple[str, float]]:
  """Return (network, mCE in percent) of Table 1, best first."""
  rows = papers.rows("hendrycks2019")
  listed = [r for r in rows if r.table == "table1" and r.metric == "mce"]
  return sorted(
    ((r.network, 100 * r.value) for r in listed), key=lambda r: r[1]
  )


def strip(
  image: np.ndarray, edition: str = "imagenet"
) -> tuple[list[list[np.ndarray]], Sequence[str], list[str]]:
  """Return a picture under the corruptions: rows of pictures, titles, labels.

  Args:
    image: uint8 `[h, w, 3]`.
    edition: of the severities.
  """
  rows = [
    [_corrupted(image, name, severity, edition) for name in NAMES]
    for severity in SEVERITIES
  ]
  return rows, NAMES, [f"severity {severity}" for severity in SEVERITIES]


def _corrupted(
  image: np.ndarray, name: str, severity: int, edition: str
) -> np.ndarray:
  key = corruptions.example_key(0, "front", name, severity, "scene")
  return corruptions.corrupt(image, name, severity, edition=edition, key=key)


def grid(
  part: figure.FigureBase,
  cells: Sequence[Sequence[np.ndarray]],
  across: Sequence[str] = (),
  down: Sequence[str] = (),
) -> None:
  """Draw rows of pictures, close together.

  Args:
    part: what to draw on.
    cells: as many in every row.
    across: titles of the columns; none: no titles.
    down: labels of the rows; the same.
  """
  places = part.subplots(len(cells), len(cells[0]), squeeze=False)
  left, top = 0.07 if down else 0.005, 0.91 if across else 0.99
  part.subplots_adjust(left, 0.02, 0.995, top, 0.03, 0.03)
  for place, image in zip(places.flat, (i for row in cells for i in row)):
    place.imshow(image)
    place.set(xticks=[], yticks=[])
    place.spines[:].set_visible(False)
  for place, name in zip(places[0], across):
    place.set_title(name.replace("_", " "), fontsize=8)
  for place, label in zip(places[:, 0], down):
    place.set_ylabel(label, fontsize=8)


def _board(part: figure.SubFigure) -> None:
  place = part.subplots()
  part.subplots_adjust(0.24, 0.04, 0.93, 0.91)
  names, values = zip(*reversed(board()))
  bars = place.barh(names, values, color="#3b6ea5", height=0.7)
  place.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
  place.set_title("ImageNet-C: mCE, lower is better (as printed)", fontsize=8)
  place.tick_params(length=0, labelsize=8)
  place.set(xticks=[], xlim=(0, 112))
  place.spines[:].set_visible(False)


if __name__ == "__main__":
  main()

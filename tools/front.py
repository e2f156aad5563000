"""Draws docs/front.jpg: corruptions beside a board, for the README's head.

  python -m tools.front

The picture is `tools.gallery.scene`; the board is the paper's, as it is printed.
"""

import pathlib

import numpy as np
from matplotlib import figure

from robust_tfds import corruptions
from robust_tfds.eval import papers
from tools import gallery

FILE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "front.jpg"
NAMES = ("gaussian_noise", "motion_blur", "snow", "fog", "jpeg_compression")
SEVERITIES = (1, 3, 5)
_DPI, _QUALITY = 150, 82


def main() -> None:
  """Writes the picture."""
  drawn().savefig(
    FILE, dpi=_DPI, facecolor="white", pil_kwargs={"quality": _QUALITY}
  )


def drawn() -> figure.Figure:
  """The strip on the left, the board on the right."""
  whole = figure.Figure(figsize=(10, 3.3))
  left, right = whole.subfigures(1, 2, width_ratios=(5.4, 4.2))
  _strip(left, np.asarray(gallery.scene().convert("RGB")))
  _board(right)
  return whole


def board() -> list[tuple[str, float]]:
  """(network, mCE in percent) of Table 1, best first."""
  rows = papers.rows("hendrycks2019")
  listed = [r for r in rows if r.table == "table1" and r.metric == "mce"]
  return sorted(
    ((r.network, 100 * r.value) for r in listed), key=lambda r: r[1]
  )


def _strip(part: figure.SubFigure, image: np.ndarray) -> None:
  grid = part.subplots(len(SEVERITIES), len(NAMES))
  part.subplots_adjust(0.07, 0.02, 0.995, 0.91, 0.03, 0.03)
  for axes, severity in zip(grid, SEVERITIES):
    for place, name in zip(axes, NAMES):
      key = corruptions.example_key(0, "front", name, severity, "scene")
      place.imshow(corruptions.corrupt(image, name, severity, key=key))
      place.set(xticks=[], yticks=[])
      place.spines[:].set_visible(False)
      if severity == SEVERITIES[0]:
        place.set_title(name.replace("_", " "), fontsize=8)
    axes[0].set_ylabel(f"severity {severity}", fontsize=8)


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

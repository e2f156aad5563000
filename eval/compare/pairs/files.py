"""Writes comparisons: comparison.csv, comparison.md and the figures."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.cells import disk
from robust_tfds.eval.compare.pairs import figure, tables
from robust_tfds.eval.compare.pairs.lines import Comparison


def write(comparisons: Sequence[Comparison], folder: epath.Path) -> str:
  """Writes all of them; gives the Markdown.

  One comparison has the figure `comparison`, several `comparison_1` and so on.

  Args:
    comparisons: at least one.
    folder: made where it is not there.

  Raises:
    DiskError: something could not be written.
  """
  text = tables.text(comparisons)
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comparison.csv").write_text(tables.csv(comparisons), "utf-8")
    (folder / "comparison.md").write_text(text, "utf-8")
    for i, comparison in enumerate(comparisons, 1):
      stem = f"comparison_{i}" if len(comparisons) > 1 else "comparison"
      figure.write(comparison, folder, stem)
  return text

"""Figure 13: how many clips of UCF101-DS show each kind of shift."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import printed, sheet

_COLUMNS = ("category", "clips", "shifts", "source")


class Figure13(base.PaperFigure):
  """A bar a category, its clips and shifts beside it."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    rows = printed.table("schiappa2023", "table8")
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
      counts.setdefault(row.name, {})[row.metric] = round(row.value)
    order = sorted(counts, key=lambda name: counts[name]["clips"])
    fig = style.figure(6.5, 4.2)
    ax = style.axes(fig, 1, 1)[0, 0]
    clips = [counts[name]["clips"] for name in order]
    ax.barh(range(len(order)), clips, color=style.COLOURS[0])
    for y, name in enumerate(order):
      shifts = counts[name]["shifts"]
      words = f"{clips[y]} clips, {shifts} shift{'s' * (shifts > 1)}"
      ax.text(clips[y] + 8, y, words, va="center", fontsize=7)
    ax.set_yticks(range(len(order)), order, fontsize=8)
    ax.set_xlim(0, 1.25 * max(clips))
    ax.grid(False, axis="y")
    ax.set_xlabel("clips")
    source = printed.source_of(rows)
    lines: list[list[sheet.Cell]] = [
      [name, counts[name]["clips"], counts[name]["shifts"], source]
      for name in order
    ]
    return [
      *style.save(fig, folder, self.name, [source]),
      sheet.Sheet(_COLUMNS, lines).write_csv(folder, self.name),
    ]

"""Figure 13: how many clips of UCF101-DS show each kind of shift."""

from eval.charts import bars
from eval.report.figures import base
from eval.report.figures.parts import printed, sheet
from robust_tfds.charts import style
from robust_tfds.charts.frame import Frame

_COLUMNS = ("category", "clips", "shifts", "source")


class Figure13(base.PaperFigure):
  """A bar per category with its numbers of clips and shifts."""

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = printed.table("schiappa2023", "table8")
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
      counts.setdefault(row.name, {})[row.metric] = round(row.value)
    order = sorted(counts, key=lambda name: counts[name]["clips"])
    names = [f"{n}\n{_shifts(counts[n]['shifts'])}" for n in order]
    clips = [style.Value(counts[n]["clips"]) for n in order]
    fig = bars.draw(
      [bars.Panel([bars.Series("clips", clips)])],
      bars.Groups(names, slant=True, numbers=True),
      Frame(6.5, 4.2, y="clips"),
    )
    source = printed.source_of(rows)
    lines: list[list[sheet.Cell]] = [
      [name, counts[name]["clips"], counts[name]["shifts"], source]
      for name in order
    ]
    return base.Drawn(fig, [source], sheet.Sheet(_COLUMNS, lines))


def _shifts(count: int) -> str:
  return f"{count} shift{'s' * (count > 1)}"

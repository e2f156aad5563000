"""Figure 3: pm-10 against pm-0 of the testbed, the printed models and ours."""

from __future__ import annotations

from robust_tfds.eval import papers
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import (
  own,
  pm_k_scatter,
  printed,
  redrawn,
  sheet,
)
from robust_tfds.eval.report.reports.frames import scatter

_DATASET = "imagenet_vid_robust"
_COLUMNS = (*("model", sheet.Column("pm-0"), sheet.Column("pm-10"), "source"),)


class Figure3(base.PaperFigure):
  """Points, and the lines of the testbed, of Table 5 and of ours."""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    from robust_tfds import conditions
    from robust_tfds.eval.tasks import frames

    models = own.of(self.boards(request))
    ours = pm_k_scatter.own_points(models)
    told = Context(
      facts=frames.Frames.facts,
      family=conditions.PICTURES,
      dataset=_DATASET,
      rows=[
        *(row for model in models for row in redrawn.rows(model)),
        *pm_k_scatter.line_rows(_DATASET, ours),
      ],
      corruptions=(),
      networks=pm_k_scatter.networks(_DATASET),
      provenance=[
        papers.source(_DATASET),
        printed.source_of(printed.table("shankar2021", "testbed_vid")[:1]),
        own.remark(models, _DATASET),
      ],
    )
    fig = scatter.Scatter().draw(told)
    lines: list[list[sheet.Cell]] = [
      [n, x, y, "printed"] for n, (x, y, *_) in told.networks.items()
    ]
    lines += [[m.label, *ours[m.label], m.source] for m in models]
    return base.Drawn(fig, told.provenance, sheet.Sheet(_COLUMNS, lines))

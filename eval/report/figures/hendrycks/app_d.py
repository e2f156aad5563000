"""Appendix D: AlexNet's mean error under every corruption."""

from eval.report.figures import base
from eval.report.figures.parts import networks, own, printed, sheet

_DATASET = "imagenet_c"
_COLUMNS: tuple[str | sheet.Column, ...] = (
  *("network", "corruption", sheet.Column("mean error")),
  *(sheet.Column("lo"), sheet.Column("hi"), "source"),
)


class AppendixD(base.PaperFigure):
  """The table of errors that normalise CE, and of the mean errors of runs."""

  printed_sets = (_DATASET,)

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = printed.table("hendrycks2019", "appendix_d")
    models = own.from_boards(self.boards(request))
    listed = networks.printed(rows, "printed")
    ours = networks.from_runs(models, listed[0].numbers)
    listed = [*request.if_printed(listed), *ours]
    words = printed.words_of_source(request.if_printed(rows))
    caption = " ".join(
      filter(None, ["In %.", words, own.comparability(models, _DATASET)])
    )
    cells = [[x, *rest] for n in listed for x, _, *rest in n.lines()]
    table = sheet.Sheet(_COLUMNS, cells, caption)
    return base.Drawn(None, (), table, table)

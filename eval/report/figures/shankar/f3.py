"""Figure 3: pm-10 against pm-0 of the testbed, the printed models and ours."""

from collections.abc import Mapping, Sequence

from eval import papers
from eval.cells import table
from eval.metrics import trend
from eval.papers import doubt, testbed_kinds
from eval.report.figures import base
from eval.report.figures.parts import own, printed, redrawn, sheet
from eval.report.reports.frames import scatter
from eval.tables.context import Context

_DATASET = "imagenet_vid_robust"
_METRICS = ("acc_orig", "acc_pmk")
_COLUMNS = (*("model", sheet.Column("pm-0"), sheet.Column("pm-10"), "source"),)


class Figure3(base.PaperFigure):
  """Models, with lines of the testbed's standard models, Table 5 and ours."""

  printed_sets = (_DATASET,)

  def drawn(self, request: base.Request) -> base.Drawn:
    from eval.tasks import frames
    from robust_tfds import conditions

    models = own.from_boards(self.boards(request))
    ours = own_points(models)
    context = Context(
      facts=frames.Frames.facts,
      family=conditions.PICTURES,
      dataset=_DATASET if request.printed else models[0].board.dataset,
      rows=[
        *(row for model in models for row in redrawn.rows(model)),
        *line_rows(_DATASET, ours, request.printed),
      ],
      corruptions=(),
      networks=_networks() if request.printed else {},
      provenance=[
        *request.if_printed(_sources()),
        own.comparability(models, _DATASET),
      ],
    )
    fig = scatter.Scatter().draw(context)
    lines: list[list[sheet.Cell]] = [
      [n, x, y, "printed"] for n, (x, y, *_) in context.networks.items()
    ]
    shown = [m for m in models if m.label in ours]  # some lack a number
    lines += [[m.label, *ours[m.label], m.source] for m in shown]
    return base.Drawn(fig, context.provenance, sheet.Sheet(_COLUMNS, lines))


def _networks() -> Mapping[str, Sequence[float]]:
  """Return the testbed, then the printed models with their intervals."""
  from eval.tasks import base as task_base
  from eval.tasks import frames

  return frames.Frames(task_base.Setting(_DATASET)).published_networks()


def _sources() -> list[str]:
  """Return the sources of the printed networks, and sentences on doubts."""
  testbed = printed.table("shankar2021", "testbed_vid")
  rows = [
    row
    for network in papers.printed_networks(_DATASET)
    for row in network.numbers.values()
    if row.metric in _METRICS
  ]
  sources = [papers.source(_DATASET), printed.source_of(testbed[:1])]
  return [*sources, doubt.sentences(rows)]


def own_points(models: Sequence[own.Own]) -> dict[str, tuple[float, float]]:
  """Return label -> (pm-0, pm-10)."""
  out = {}
  for model in models:
    x, y = (model.value(metric) for metric in _METRICS)
    if x is not None and y is not None:
      out[model.label] = x, y
  return out


def line_rows(
  dataset: str,
  ours: Mapping[str, tuple[float, float]],
  with_printed: bool = True,
) -> list[table.Row]:
  """Return slopes and intercepts of the testbed's, the table's and our line.

  Args:
    ours: label -> (pm-0, pm-10).
    with_printed: whether the testbed's and the table's are included.
  """
  standard = papers.testbed(dataset, testbed_kinds.STANDARD)
  printed = papers.networks(dataset, *_METRICS)
  points: dict[str, list[tuple[float, ...]]] = {
    "published_trend": list(standard.values()),
    "paper_trend": list(printed.values()),
  }
  points = {**(points if with_printed else {}), "trend": list(ours.values())}
  rows = []
  for name, pairs in points.items():
    if len(pairs) > 2 and len({x for x, _ in pairs}) > 1:
      line = trend.fit(*zip(*pairs))
      rows.append(_row(dataset, f"{name}_slope", line.slope, line))
      rows.append(_row(dataset, f"{name}_intercept", line.intercept, line))
  return rows


def _row(
  dataset: str, metric: str, value: float, line: trend.Trend
) -> table.Row:
  slope = metric.endswith("_slope")
  ends = line.slope_interval if slope else line.intercept_interval
  return table.Row("", dataset, "", "", None, metric, value, *ends, line.n)

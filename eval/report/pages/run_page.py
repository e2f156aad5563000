"""One run on one self-contained page, by the parts of the site's pages.

The verdict, a picture and the models with their intervals come first; then charts,
heat maps of all conditions, and for every model what its page on a site has.
`write_all` writes it after the reports, whose charts it shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from etils import epath

from eval.cells import missing_cells, table
from eval.charts import pictures
from eval.compare.boards import board as board_lib
from eval.compare.boards.board import Board, Entry
from eval.metrics import definitions
from eval.report.pages import board_page, gallery, model_page, template
from eval.report.pages import view as view_lib
from eval.tables import pivot, verdict
from eval.tables.context import Context
from robust_tfds.conditions import Condition

if TYPE_CHECKING:
  from eval.report.reports.base import PageChart, Report

_FIRST = 6  # pictures at the head
# Files that the page links if they exist.
_FILES = {
  "citations.bib": "what to cite",
  "leaderboard.md": "the numbers as Markdown",
  "leaderboard.tex": "the numbers as LaTeX",
  "summary.txt": "the numbers as on the screen",
}


@dataclasses.dataclass(frozen=True)
class Figure:
  """A chart on the page.

  Attributes:
    chart: its texts.
    lines: pictures; empty: the figure is shown.
    folded: more pictures, folded away.
    svg: the figure.
  """

  chart: PageChart
  lines: Sequence[gallery.Line]
  folded: Sequence[gallery.Line]
  svg: str = ""


def write(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> list[epath.Path]:
  """Write a run's page, report.html.

  Args:
    context: what the page is about.
    reports: already written into the folder; the page shows their charts.
    folder: the page's folder.
  """
  view = view_lib.View(_board(context))
  figures = list(_figures(context, reports, folder))
  maps = [*board_page.corruption_maps(view), *board_page.condition_maps(view)]
  entries = view.board.entries
  text = template.page(
    "run.html",
    "",
    sheets=("board.css", "pictures.css", "run.css"),
    title=f"{context.dataset}: robustness",
    verdict=context.verdict,
    first=_first(context, figures),
    view=view,
    table=board_page.Table(view),
    meaning=pivot.meaning(context),
    notes=pivot.notes(context),
    figures=figures,
    maps=maps,
    shown=[(e, model_page.tables(view, e)) for e in entries],
    defined=board_page.defined(view),
    provenance=context.provenance,
    files=[(f, w) for f, w in _FILES.items() if (folder / f).exists()],
  )
  path = folder / "report.html"
  path.write_text(text, "utf-8")
  return [path]


def _board(context: Context) -> Board:
  """Return the run's models as a board on which nothing is ranked."""
  entries = [
    _entry(context, model, i) for i, model in enumerate(context.models)
  ]
  facts = context.facts
  ranked = (m for m in facts.ranked if any(e.number(m) for e in entries))
  return Board(
    key="run",
    title=context.dataset,
    facts=facts,
    family=context.family,
    dataset=context.dataset,
    data={},
    differs={},
    baseline=context.baseline if facts.normalised else "",
    ranked_by=next(ranked, ""),
    conditions=context.family.known_conditions,
    entries=entries,
  )


def _entry(context: Context, model: str, place: int) -> Entry:
  kind = context.family.kind
  rows = [row for row in context.rows if row.model == model]
  return Entry(
    key=f"m{place}",
    label=model,
    model=model,
    numbers=board_lib.numbers(rows, kind),
    cells=board_lib.cells(rows, kind),
  )


def _figures(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> Iterator[Figure]:
  """Yield the charts of the reports, those of pictures first."""
  charts = filter(None, (report.page_chart(context) for report in reports))
  for chart in sorted(charts, key=lambda chart: not chart.lines):
    file = folder / f"{chart.stem}.svg"
    if file.exists():
      lines, folded = map(gallery.embed, (chart.lines, chart.folded))
      svg = "" if lines else file.read_text("utf-8")
      yield Figure(chart, lines, folded, svg)


def _first(context: Context, figures: Sequence[Figure]) -> gallery.Line:
  """Return an example, clean and under the first model's worst conditions.

  Without samples of two conditions these are the first pictures of the figures.
  """
  model = "".join(context.models[:1])
  rows = [row for row in context.rows if row.model == model]
  cells = verdict.main_rows(context.family, rows)
  samples = {
    condition: sample
    for condition in (Condition(), *verdict.worst(context.facts, cells))
    if (sample := _sample(context, condition))
  }
  worst = {c.name: c for c in reversed(samples)}  # the worst of each name
  shown = [c for c in samples if worst[c.name] == c][:_FIRST]
  if len(shown) < 2:
    lines = (line for figure in figures for line in figure.lines)
    line = next(lines, gallery.Line("", "", []))
    return dataclasses.replace(line, pictures=line.pictures[:_FIRST])
  named = [_name(samples[c], context, model, c, cells) for c in shown]
  name = f"What {model} saw, clean and where it did worst"
  return gallery.embed([pictures.Line(named, name)])[0]


def _sample(context: Context, condition: Condition) -> pictures.Picture | None:
  """Return an example, with its boxes if any; the middle frame of a sequence."""
  if overlays := context.overlays.get(condition.config):
    (image, boxes), *_ = overlays
    height, width = image.shape[:2]
    return pictures.Picture(image, boxes=boxes, view=(0, 0, width, height))
  pixels = context.samples.get((condition.name, condition.level))
  if pixels is None:
    return None
  return pictures.Picture(
    pixels if pixels.ndim < 4 else pixels[len(pixels) // 2]
  )


def _name(
  picture: pictures.Picture,
  context: Context,
  model: str,
  condition: Condition,
  cells: Mapping[Condition, table.Row],
) -> pictures.Picture:
  """Return a picture with its condition, the model's number and its answer."""
  title = definitions.words(missing_cells.words(condition))
  row = cells.get(condition)
  number, alt = "", f"The example, {title}"
  if row:
    metric = context.facts.metric(row.metric)
    number = f"{metric.heading} {verdict.number(context.facts, row)}"
    alt += f"; {model}: {number}"
  answers = context.predicted.get((model, condition.name, condition.level))
  if answers is not None and answers.ndim == 1:
    answer = f"taken for {context.class_name(answers[0])}"
    number, alt = f"{number}; {answer}", f"{alt}, {answer}"
  return dataclasses.replace(picture, title=title, caption=number, alt=alt)

"""One run on one self-contained page, by the parts of the site's pages.

The verdict, a picture and the models with their intervals come first; then what the
models saw, maps of all conditions, and of every model what its page of a site has.
No report: `write_all` writes it last, about the reports before it.
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
  from eval.report.reports.base import OnPage, Report

_FIRST = 6  # pictures at the head
# Files that the page links, where they are beside it.
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
    of: what is shown of it.
    lines: of pictures.
    folded: more of them.
    svg: its figure, where there are no lines.
  """

  of: OnPage
  lines: Sequence[gallery.Line]
  folded: Sequence[gallery.Line]
  svg: str = ""


def write(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> list[epath.Path]:
  """Writes report.html.

  Args:
    context: what the page is about.
    reports: whose charts it shows; written already.
    folder: of their files and the page.
  """
  view = view_lib.View(_board(context))
  figures = list(_figures(context, reports, folder))
  maps = [*board_page.by_corruption(view), *board_page.by_condition(view)]
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
    shown=[(e, model_page.shown(view, e)) for e in entries],
    defined=board_page.defined(view),
    provenance=context.provenance,
    files=[(f, w) for f, w in _FILES.items() if (folder / f).exists()],
  )
  path = folder / "report.html"
  path.write_text(text, "utf-8")
  return [path]


def _board(context: Context) -> Board:
  """The run's models as a board, on which nothing is ranked."""
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
    conditions=context.family.conditions(),
    entries=entries,
  )


def _entry(context: Context, model: str, place: int) -> Entry:
  """A model with the numbers that it has; the page's note names the others."""
  kind = context.family.kind
  rows = [row for row in context.rows if row.model == model]
  return Entry(
    key=f"m{place}",
    label=model,
    model=model,
    numbers=board_lib.numbers(rows, kind),
    cells=board_lib.cells(rows, kind),
    reliability={
      Condition(name, level, kind): bins
      for (of, name, level), bins in context.reliability.items()
      if of == model
    },
  )


def _figures(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> Iterator[Figure]:
  """What the charts show that the page does not show in its own way.

  Pictures come before drawings.
  """
  on_page = filter(None, (report.on_page(context) for report in reports))
  for of in sorted(on_page, key=lambda of: not of.lines):
    file = folder / f"{of.stem}.svg"
    if file.exists():
      lines, folded = map(gallery.lines, (of.lines, of.folded))
      svg = "" if lines else file.read_text("utf-8")
      yield Figure(of, lines, folded, svg)


def _first(context: Context, figures: Sequence[Figure]) -> gallery.Line:
  """Clean and where the first model is worst; else what a figure shows first."""
  model = "".join(context.models[:1])
  rows = [row for row in context.rows if row.model == model]
  cells = verdict.of_cells(context.family, rows)
  samples = {
    condition: sample
    for condition in (Condition(), *verdict.worst(context.facts, cells))
    if (sample := _sample(context, condition))
  }
  worst = {c.name: c for c in reversed(samples)}  # of each name the first
  shown = [c for c in samples if worst[c.name] == c][:_FIRST]
  if len(shown) < 2:
    lines = (line for figure in figures for line in figure.lines)
    line = next(lines, gallery.Line("", "", []))
    return dataclasses.replace(line, pictures=line.pictures[:_FIRST])
  said = [_named(samples[c], context, model, c, cells) for c in shown]
  name = f"What {model} saw, clean and where it did worst"
  return gallery.lines([pictures.Line(said, name)])[0]


def _sample(context: Context, condition: Condition) -> pictures.Picture | None:
  """An example under a condition: with boxes, or of a sequence its middle frame."""
  drawn = context.overlays.get(condition.config)
  if drawn:
    (image, boxes), *_ = drawn
    height, width = image.shape[:2]
    return pictures.Picture(image, boxes=boxes, view=(0, 0, width, height))
  pixels = context.samples.get((condition.name, condition.level))
  if pixels is None:
    return None
  return pictures.Picture(
    pixels if pixels.ndim < 4 else pixels[len(pixels) // 2]
  )


def _named(
  picture: pictures.Picture,
  context: Context,
  model: str,
  condition: Condition,
  cells: Mapping[Condition, table.Row],
) -> pictures.Picture:
  """A picture with its condition, the model's number there, its answer."""
  title = definitions.words(missing_cells.words(condition))
  row = cells.get(condition)
  number, alt = "", f"The example, {title}"
  if row:
    metric = context.facts.metric(row.metric)
    number = f"{metric.heading} {verdict.number(context.facts, row)}"
    alt += f"; {model}: {number}"
  answers = context.predicted.get((model, condition.name, condition.level))
  if answers is not None and answers.ndim == 1:
    taken = f"taken for {context.class_name(answers[0])}"
    number, alt = f"{number}; {taken}", f"{alt}, {taken}"
  return dataclasses.replace(picture, title=title, caption=number, alt=alt)

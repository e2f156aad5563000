"""One run on one self-contained page: tables, pictures and provenance.

No report: `write_all` writes it last, about the reports before it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from etils import epath

from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.pages import template
from robust_tfds.eval.report.tables import pivot

if TYPE_CHECKING:
  from robust_tfds.eval.report.reports.base import Report


def write(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> list[epath.Path]:
  """Writes report.html.

  Args:
    context: what the page is about.
    reports: whose pictures and tables it shows; written already.
    folder: of the pictures and the page.
  """
  columns = pivot.headline_columns(context)
  text = template.render(
    "run.html",
    style=template.style("run.css"),
    dataset=context.dataset,
    note=pivot.note(context),
    headlines=pivot.Table("", "Model", context.models, columns, bold=True),
    parts=list(_parts(context, reports, folder)),
    provenance=context.provenance,
  )
  path = folder / "report.html"
  path.write_text(text, "utf-8")
  return [path]


def _parts(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> Iterator[tuple[str, pivot.Table | None, str]]:
  """(title, table, picture): corruptions, the reports' pictures, their tables."""
  for heading, names in pivot.sections(context):
    title = heading[:1].upper() + heading[1:]
    yield title, _corruptions(context, title, names), ""
  for report in reports:
    for file, title in report.pictures:
      if (folder / file).exists():
        data = base64.b64encode((folder / file).read_bytes())
        yield title, None, data.decode("ascii")
  for report in reports:
    for table in report.tables(context):
      yield table.title, table, ""


def _corruptions(
  context: Context, title: str, names: Sequence[str]
) -> pivot.Table:
  """Corruptions as lines: plain and normalised numbers of every model."""
  return pivot.Table(
    title,
    context.facts.noun.capitalize(),
    [definitions.words(name) for name in names],
    pivot.detail_columns(context, names),
  )

"""The citations of a run."""

from eval.report.reports import base
from eval.tables.context import Context


class Citations(base.TextReport):
  """BibTeX of the package, the benchmark and the models."""

  file = "citations.bib"

  def text(self, context: Context) -> str:
    return context.citations

"""What to cite of the run."""

from eval.report.context import Context
from eval.report.reports import base


class Citations(base.TextReport):
  """BibTeX of the package, the benchmark, the models."""

  file = "citations.bib"

  def text(self, context: Context) -> str:
    """Empty where the context has none."""
    return context.citations

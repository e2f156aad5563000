"""Appendix F: what was tried besides."""

from robust_tfds.eval.report.figures.parts import printed_table


class AppendixF(printed_table.PrintedTable):
  """Stability training, denoising, networks of fewer channels."""

  title = "Appendix F: what was tried besides"
  of = ("hendrycks2019", "appendix_f")
  tasks = ("classification", "sequences")

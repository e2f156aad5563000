"""The board of the authors' README, ImageNet-P."""

from robust_tfds.eval.report.figures.parts import printed_table


class ReadmeP(printed_table.PrintedTable):
  """The smallest mFR first."""

  title = "README: the authors' board of ImageNet-P"
  of = ("hendrycks2019", "readme_imagenet_p")
  tasks = ("sequences",)
  lowest_first = "mfr"

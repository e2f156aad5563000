"""The board of the authors' README, ImageNet-C."""

from robust_tfds.eval.report.figures.parts import printed_table


class ReadmeC(printed_table.PrintedTable):
  """Networks trained on ImageNet alone, the smallest mCE first."""

  title = "README: the authors' board of ImageNet-C"
  of = ("hendrycks2019", "readme_imagenet_c")
  tasks = ("classification",)
  lowest_first = "mce"

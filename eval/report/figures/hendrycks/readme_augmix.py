"""The README of AugMix, ImageNet-C."""

from robust_tfds.eval.report.figures.parts import printed_table


class ReadmeAugmix(printed_table.PrintedTable):
  """Mean corruption error of its ResNet-50."""

  title = "README of AugMix: its ResNet-50 on ImageNet-C"
  of = ("hendrycks2019", "readme_augmix")
  tasks = ("classification",)

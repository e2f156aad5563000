"""Figure 10: accuracy under natural shifts, by category."""

from robust_tfds.eval.report.figures.parts import redrawn
from robust_tfds.eval.report.reports.video import shifts


class Figure10(redrawn.Redrawn):
  """A bar a category and model."""

  title = "Figure 10: accuracy under the natural shifts of UCF101-DS"
  source = "runs over UCF101-DS; the paper prints no numbers of it"
  tasks = ("video",)
  report = shifts.Shifts
  shows = ("accuracy/category/", "accuracy/shift/")
  needs = "a run over the data set UCF101-DS (`ucf101_ds`)"

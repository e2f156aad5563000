"""Figure 7: pm-0 and pm-10 of each class."""

from robust_tfds.eval.report.figures.parts import redrawn
from robust_tfds.eval.report.reports.frames import classes


class Figure7(redrawn.Redrawn):
  """A panel a model, a line a class."""

  title = "Figure 7: accuracy on anchors and worst frames by class"
  source = "runs; the paper prints no numbers of it"
  tasks = ("frames",)
  report = classes.Classes
  shows = ("acc_orig/class=", "acc_pmk/class=")

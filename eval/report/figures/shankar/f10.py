"""Figure 10: how far similar frames are from their anchors in pixels."""

from robust_tfds.eval.report.figures.parts import redrawn
from robust_tfds.eval.report.reports.frames import distances


class Figure10(redrawn.Redrawn):
  """Distribution of all pairs, and of those that each model gets wrong."""

  title = "Figure 10: l-infinity distances of similar frames (Appendix F)"
  source = "runs; the paper prints no numbers of it"
  tasks = ("frames",)
  report = distances.Distances
  shows = ("linf_cdf/",)

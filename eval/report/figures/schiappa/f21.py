"""Figure 21: what is taken for what: clean, and one condition."""

from robust_tfds.eval.report.figures.parts import confusions


class Figure21(confusions.Confusions):
  """Matrices of true and predicted classes; `--condition` chooses another."""

  title = "Figure 21: what is taken for what, clean, and one condition"
  one = True

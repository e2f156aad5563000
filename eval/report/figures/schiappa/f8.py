"""Figure 8: what is taken for what: clean, and where each group hurts most."""

from robust_tfds.eval.report.figures.parts import confusions


class Figure8(confusions.Confusions):
  """Matrices of true and predicted classes; `--condition` chooses another."""

  title = (
    "Figure 8: what is taken for what, clean, and where each group hurts most"
  )

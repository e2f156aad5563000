"""Figure 26: one video under perturbations."""

from robust_tfds.eval.report.figures.parts import stored_pictures


class Figure26(stored_pictures.StoredPicture):
  """A line a perturbation, frames of one video."""

  title = "Figure 26: frames of one video under every perturbation"
  source = "pictures that the reports of a run have drawn"
  tasks = ("video",)
  file = "action_strips.png"

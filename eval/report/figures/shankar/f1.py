"""Figure 1: anchors that a model gets right, over frames that it does not."""

from robust_tfds.eval.report.figures.parts import stored_pictures


class Figure1(stored_pictures.StoredPicture):
  """Sets of frames with a failing one."""

  title = "Figure 1: similar frames that a model gets wrong"
  source = "pictures that the reports of a run have drawn"
  tasks = ("frames",)
  file = "natural_gallery.png"

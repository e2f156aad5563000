"""IoU of each class, clean and under corruption, a panel per model."""

from eval.report.reports.frames import classes


class Classes(classes.Classes):
  """A line per class, from its mean IoU under corruption to its clean IoU."""

  metrics = ("clean_iou", "mean_iou")
  stem = "segmentation_classes"
  caption = "IoU by class"
  reading = (
    "A line a class, from its clean IoU to its mean under corruption: the longer,"
    " the more corruption costs. Behind a name: the pictures of the set."
  )
  shows = "IoU of every class, clean and under corruption, joined"
  x = "IoU (%)"

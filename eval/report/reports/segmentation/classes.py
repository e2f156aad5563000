"""IoU of each class, clean and under corruption, a panel per model."""

from eval.report.reports.frames import classes
from eval.tables import breakdowns, markdown, numbers
from eval.tables.context import Context


class Classes(classes.Classes):
  """A line per class, from its mean IoU under corruption to its clean IoU."""

  metrics = ("clean_iou", "mean_iou")
  counted = False  # every class's number is of all pictures
  stem = "segmentation_classes"
  caption = "IoU by class"
  reading = (
    "A line a class, from its clean IoU to its mean under corruption: the longer,"
    " the more corruption costs."
  )
  shows = "IoU of every class, clean and under corruption, joined"
  x = "IoU (%)"

  def text(self, context: Context) -> str:
    """Return a table of the classes by name, in the order of their ids."""
    numbers_of = [
      (model, metric, dict(breakdowns.series(context, model, metric, "class")))
      for model in context.models
      for metric in self.metrics
    ]
    names = dict.fromkeys(n for *_, rows in numbers_of for n in rows)
    heads = [
      f"{markdown.escape(model)}, {context.facts.metric(metric).heading}"
      for model, metric, _ in numbers_of
    ]
    lines = [
      [
        markdown.escape(breakdowns.class_name(context, name)),
        *(numbers.row_text(rows.get(name)) for *_, rows in numbers_of),
      ]
      for name in sorted(names, key=int)
    ]
    return "\n".join(
      [
        f"# IoU of every class, {markdown.escape(context.dataset)}, in %\n",
        markdown.table(["Class", *heads], lines, "lr"),
        markdown.foot(context.provenance),
      ]
    )

"""Accuracy on seen and unseen subtypes of each type, a panel per model."""

from eval.report.reports.frames import classes


class Types(classes.Classes):
  """A line per type, from its unseen subtypes to its seen ones."""

  metrics = ("seen_subtype_accuracy", "unseen_subtype_accuracy")
  stem = "subtype_types"
  caption = "Accuracy by type"
  reading = (
    "A line a type, from the accuracy on its unseen subtypes to that on those that"
    " training showed: the longer, the more unseen ones cost. Behind a name: its"
    " pictures of seen subtypes."
  )
  shows = "Accuracy of every type on seen and on unseen subtypes, joined"

"""A custom metric over pictures: any task whose numbers are per-example means.

Each model answers with arrays of any shape, or dicts and tuples of them; a function
of the user's gives a number for the output and the target of each example
(`parts/own_metrics`). Cell metrics: the mean over the examples, with an interval over
groups. Over the cells: the clean mean, means under corruption (of each corruption,
group and severity, and over the common ones), and the share that is retained
(`headlines/own_headlines`). Only means over examples: mean IoU and average precision
are computed over data sets, and are none.
"""

from eval.cells import facts as facts_lib
from eval.tasks import classification
from eval.tasks.parts import own_values


class Own(own_values.OwnValues, classification.Classification):
  """The task of custom metrics over pictures."""

  facts = facts_lib.TaskFacts.for_task("own")
  own_keys = ()
  moving = (
    *("elastic_transform", "glass_blur", "zoom_blur", "caustic_refraction"),
  )

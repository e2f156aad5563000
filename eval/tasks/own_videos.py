"""A custom metric over videos: see `own`. One clip of each video is shown."""

from eval.cells import facts as facts_lib
from eval.tasks import video
from eval.tasks.parts import own_values


class OwnVideos(own_values.OwnValues, video.Video):
  """The task of custom metrics over videos."""

  facts = facts_lib.TaskFacts.for_task("own_videos")
  own_keys = ("sampling", "groups")
  has_pairs = False
  moving = (
    *("zoom_blur", "static_rotation", "random_rotation", "translation"),
    *("sampling", "reverse_sampling", "jumbling", "box_jumbling", "freezing"),
  )

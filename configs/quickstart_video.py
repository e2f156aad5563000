"""Action recognition under perturbation on embedded data: digits in motion.

  robust-tfds run --config=quickstart_video --workdir=/tmp/v
  robust-tfds run --config=quickstart_video --plan

A small 3-D network learns eight motions from 960 videos in about a minute on two
cores, then sees 240 others clean and under 18 perturbations x 5 severities, made
on the fly from the video files. Needs PyAV (extra `video`).
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """The run; override fields with --config.field=value."""
  config = ml_collections.ConfigDict()
  config.task = "video"
  config.batch_size = 40

  config.data = ml_collections.ConfigDict()
  config.data.name = "digits_video_p"
  config.data.split = "test"
  config.data.perturbations = "all"  # none, groups or names
  config.data.severities = (1, 2, 3, 4, 5)
  config.data.views = 1  # clips of a video, evenly placed

  config.model = ml_collections.ConfigDict()
  config.model.name = "tiny_r3d"
  config.model.num_classes = 8
  config.model.train = ml_collections.ConfigDict(
    {
      "dataset": "digits_video",
      "split": "train",
      "steps": 400,
      "batch_size": 32,
      "learning_rate": 3e-3,
      "seed": 0,
    }
  )
  return config.lock()

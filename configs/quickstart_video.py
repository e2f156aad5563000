"""Action recognition under perturbation on embedded data: digits in motion.

  robust-tfds run --config=quickstart_video --workdir=/tmp/v
  robust-tfds run --config=quickstart_video --plan

A small 3-D network learns eight motions from 960 videos in about a minute on two
cores, then sees 240 others clean and under 18 perturbations x 5 severities, made
on the fly from the video files. Needs PyAV (extra `video`).
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """Return the run; override fields with --config.field=value."""
  return ml_collections.ConfigDict(
    {
      "task": "video",
      "batch_size": 40,
      "data": {
        "name": "digits_video_p",
        "split": "test",
        "views": 1,  # clips of a video, evenly placed
      },
      "model": {
        "name": "tiny_r3d",
        "num_classes": 8,
        "train": {
          "dataset": "digits_video",
          "steps": 400,
          "batch_size": 32,
          "learning_rate": 3e-3,
        },
      },
    }
  ).lock()

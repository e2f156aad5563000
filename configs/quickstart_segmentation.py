"""Segmentation under corruption on embedded data: scenes of digits, 11 classes.

  robust-tfds run --config=quickstart_segmentation --workdir=/tmp/s
  robust-tfds run --config=quickstart_segmentation --plan

A tiny FCN is trained on a thousand scenes (about a minute of CPU), then
shown 200 others clean and under 19 corruptions x 5 severities, corrupted on the
fly. Nothing is downloaded. Results: clean and mean mIoU, retention, the worst
corruption, IoU by class, and pictures with masks, answers and errors.
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """Return the run; override fields with --config.field=value."""
  return ml_collections.ConfigDict(
    {
      "task": "segmentation",
      "batch_size": 40,
      "data": {
        "name": "digits_segmentation_c",
        "split": "test",
        "codec": "raw",
        "left_out": "absent",  # frost, where its pictures are missing
      },
      "model": {
        "name": "tiny_fcn",
        "train": {
          "dataset": "digits_segmentation",
          "steps": 2000,
          "batch_size": 4,
          "learning_rate": 3e-3,
          "balance": 0.35,  # background is nine pixels in ten
        },
      },
    }
  ).lock()

"""Detection under corruption on embedded data: scenes of digits, one detector.

  robust-tfds run --config=quickstart_detection --workdir=/tmp/d
  robust-tfds run --config=quickstart_detection --plan

A small RetinaNet is trained on a thousand scenes in about a minute on two cores,
then shown 200 others clean and under 19 corruptions x 5 severities, corrupted on
the fly. Nothing is downloaded. Results: P, mPC, rPC, tables, bars, and pictures
with hits, misses and false alarms.
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """Return the run; override fields with --config.field=value."""
  return ml_collections.ConfigDict(
    {
      "task": "detection",
      "batch_size": 40,
      "data": {
        "name": "digits_detection_c",
        "split": "test",
        "codec": "raw",
        "left_out": "absent",  # frost, where its pictures are missing
      },
      "model": {
        "name": "tiny_retinanet",
        "train": {
          "dataset": "digits_detection",
          "steps": 800,
          "batch_size": 16,
          "learning_rate": 5e-3,
        },
      },
    }
  ).lock()

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
  """The run; override fields with --config.field=value."""
  config = ml_collections.ConfigDict()
  config.task = "detection"
  config.batch_size = 40

  config.data = ml_collections.ConfigDict()
  config.data.name = "digits_detection_c"
  config.data.split = "test"
  config.data.codec = "raw"
  config.data.corruptions = "all"  # common, extra, all, none or names
  config.data.left_out = "absent"  # frost, where its pictures lack
  config.data.severities = (1, 2, 3, 4, 5)

  config.model = ml_collections.ConfigDict()
  config.model.name = "tiny_retinanet"
  config.model.train = ml_collections.ConfigDict(
    {
      "dataset": "digits_detection",
      "split": "train",
      "steps": 800,
      "batch_size": 16,
      "learning_rate": 5e-3,
      "seed": 0,
    }
  )
  return config.lock()
